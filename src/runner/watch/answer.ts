/** What the page's server answers under which address. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Page } from '../../lib/net/built-page.ts';
import type { Broadcast, WatchedBatch } from './broadcast.ts';
import { sendBytes, sendPicture } from './send-picture.ts';
import { earlierThumbnail } from '../core/picture.ts';

export interface Served {
  batch: WatchedBatch;
  broadcast: Broadcast;
  page: Page;
}

/** Answers one request; rejects only where something is wrong with the machine or with us. */
export async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  served: Served,
): Promise<void> {
  for (const [name, value] of Object.entries(served.page.headers)) response.setHeader(name, value);
  const refusal = refusalOf(request);
  if (refusal !== undefined) return refuse(response, refusal);
  const [, path = '', query = ''] = /^\/?([^?]*)\??(.*)$/.exec(request.url ?? '') ?? [];
  const asked = new URLSearchParams(query);
  if (path === '') return send(response, 'text/html; charset=utf-8', served.page.html);
  if (path === 'data.json') return answerNews(response, asked, served.broadcast);
  const [, piece] = /^rows\/\w{1,12}\/([1-9]\d{0,6})\.json$/.exec(path) ?? [];
  const rows = piece === undefined ? undefined : served.batch.rows(Number(piece) - 1);
  if (rows !== undefined) return sendJson(response, rows);
  if (await answerPicture(request, response, served.batch, path, asked)) return;
  refuse(response, { status: 404, text: 'Not found.' });
}

/** All that is known of the batch; with `since`, what is newer than that, as soon as there is anything. */
async function answerNews(
  response: ServerResponse,
  asked: URLSearchParams,
  broadcast: Broadcast,
): Promise<void> {
  const text = asked.get('since') ?? '';
  const revision = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  const news = await broadcast.newsSince(revision, (gone) => response.once('close', gone));
  if (!response.destroyed) sendJson(response, news);
}

/** Resolves to whether there was one. `of` names the picture that is sent where its thumbnail is missing. */
async function answerPicture(
  request: IncomingMessage,
  response: ServerResponse,
  { imagesDir, thumbnailsDir, readBucket }: WatchedBatch,
  asked: string,
  query: URLSearchParams,
): Promise<boolean> {
  const [, folder, path = ''] = /^(images|thumbnails)\/(.+)$/.exec(decoded(asked)) ?? [];
  if (folder === undefined) return false;
  const fromBucket = async (key: string): Promise<boolean> => {
    const bytes = await readBucket?.(key);
    return bytes !== undefined && sendBytes(request, response, bytes);
  };
  if (folder === 'images' && (await fromBucket(`images/${path}`))) return true;
  if (folder === 'images')
    return sendPicture(request, response, { dir: imagesDir, path, isPinned: query.has('v') });
  for (const name of [path, earlierThumbnail(path)])
    if (await sendPicture(request, response, { dir: thumbnailsDir, path: name, isPinned: true })) return true;
  const whole = query.get('of') ?? '';
  if ((await fromBucket(`report/thumbnails/${path}`)) || (await fromBucket(`images/${whole}`))) return true;
  return sendPicture(request, response, { dir: imagesDir, path: whole, isPinned: false });
}

/** Empty where it cannot be. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

function sendJson(response: ServerResponse, value: object): void {
  send(response, 'application/json', JSON.stringify(value));
}

function refuse(response: ServerResponse, { status, text, headers = {} }: Refusal): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, 'text/plain; charset=utf-8', `${text}\n`);
}

function send(response: ServerResponse, type: string, text: string): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.setHeader('Cache-Control', 'no-store');
  response.end(text);
}

interface Refusal {
  status: number;
  /** For people. */
  text: string;
  headers?: Record<string, string>;
}

/** Undefined where the request may be answered. */
function refusalOf(request: IncomingMessage): Refusal | undefined {
  if (!isLoopbackName(request.headers.host ?? '')) {
    return {
      status: 421,
      text: 'This page is served as 127.0.0.1 and localhost only. Behind a reverse proxy, have it send "Host: 127.0.0.1".',
    };
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return {
      status: 405,
      text: 'This page is read-only.',
      headers: { Allow: 'GET, HEAD' },
    };
  }
  return undefined;
}

/** A page of another site whose name is made to lead here (DNS rebinding) sends that name. Any port: a tunnel has its own. */
function isLoopbackName(host: string): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host);
}
