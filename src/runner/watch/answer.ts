/** What the page's server answers under which address. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Page } from '../../lib/net/page-shell.ts';
import type { Broadcast } from './broadcast.ts';
import { streamEvents } from './event-stream.ts';
import { refusalOf, type Refusal } from './guard.ts';
import { sendPicture } from './send-picture.ts';
import type { WatchedBatch } from './watched-batch.ts';

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
  if (path === 'data.json') return answerData(response, asked, served);
  if (path === 'events') return answerEvents(request, response, served.broadcast);
  if (await answerPicture(request, response, served.batch, path, asked)) return;
  refuse(response, { status: 404, text: 'There is nothing here, or not any more.' });
}

/** The batch; with `before`, the pictures before that one; with `picture`, what else there is to know of it. */
async function answerData(
  response: ServerResponse,
  asked: URLSearchParams,
  { batch, broadcast }: Served,
): Promise<void> {
  const name = ['before', 'picture'].find((each) => asked.has(each));
  if (name === undefined) return sendJson(response, { now: Date.now(), ...(await broadcast.latest()) });
  const text = asked.get(name) ?? '';
  const id = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  const found = name === 'before' ? { pictures: batch.picturesBefore(id) } : batch.story(id);
  if (found !== undefined) return sendJson(response, found);
  refuse(response, { status: 404, text: 'There is no such picture, or not any more.' });
}

async function answerEvents(
  request: IncomingMessage,
  response: ServerResponse,
  broadcast: Broadcast,
): Promise<void> {
  // Proxies that collect what they pass on would hold the events back.
  response.setHeader('X-Accel-Buffering', 'no');
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  if (request.method === 'HEAD') response.end();
  else await streamEvents(response, broadcast);
}

/** Resolves to whether there was one. `of` names the picture that is sent where its thumbnail is missing. */
async function answerPicture(
  request: IncomingMessage,
  response: ServerResponse,
  { imagesDir, thumbnailsDir }: WatchedBatch,
  asked: string,
  query: URLSearchParams,
): Promise<boolean> {
  const [, folder, path = ''] = /^(images|thumbnails)\/(.+)$/.exec(decoded(asked)) ?? [];
  if (folder === undefined) return false;
  if (folder === 'images')
    return sendPicture(request, response, { dir: imagesDir, path, isPinned: query.has('v') });
  if (await sendPicture(request, response, { dir: thumbnailsDir, path, isPinned: true })) return true;
  const whole = query.get('of') ?? '';
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
