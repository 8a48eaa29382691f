/** A run on ComfyUI with kills of both sides, lost answers and a failing node. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { expect } from 'vitest';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { dividing } from '../fakes/comfyui-workflows.ts';
import { type Night, nightWith, Program } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface NightWorld {
  url: string;
  /** Restarts ComfyUI with an empty queue and history, as after a kill. */
  restart(): Promise<void>;
}

const concurrency = 6;
const restarts = 2;
/** Number of the scene whose node fails in both attempts. */
const failing = 7;

/**
 * Runs a batch, kills and restarts both sides while jobs are in flight, and compares all results by content.
 */
export async function comfyuiNight({ url, restart }: NightWorld, count: number): Promise<void> {
  const proxy = await startProxy(url);
  const rows = Array.from({ length: count }, (_, i) => `s${i},${colourOf(i)},${i === failing ? 0 : 1}`);
  const night = nightWith({
    'flow.json': JSON.stringify(dividing(0, 1, 'x')),
    'scenes.csv': ['id,colour,by', ...rows].join('\n'),
    'pipeline.yaml': pipeline(proxy.url),
  });
  const run = (): Program => night.program('run', 'pipeline.yaml', '--json');
  const part = Math.floor(count / 5);
  const first = run();
  await first.event('scene-saved', part);
  first.child.kill('SIGKILL');
  await first.finish();
  const second = run();
  await second.event('scene-saved', part);
  await restart();
  await second.event('scene-saved', part);
  second.child.kill('SIGKILL');
  await restart();
  await second.finish();
  const last = await night.built('run', 'pipeline.yaml');
  expect(last.code, last.stderr + last.stdout).toBe(3);
  await expectContent(night, count);
  await night
    .built('explain', 'pipeline.yaml', `s${failing}`)
    .prints('node 2 (TestIntMathOperation): ZeroDivisionError: integer division or modulo by zero');
  expectAccounts(night, count, proxy);
}

function colourOf(scene: number): number {
  return (scene * 0x010307 + 0x203040) & 0xffffff;
}

function pipeline(url: string): string {
  return `manifest: scenes.csv
endpoint:
  speaks: comfyui
  baseUrl: ${url}
  workflow: flow.json
  set: {'2.a': '{{ colour }}', '2.b': '{{ by }}'}
output: {dir: out}
concurrency: ${concurrency}
polling: {shortest: 20ms}
retry: {unanswered: resubmit, attempts: 2, firstWait: 10ms, longestWait: 100ms}
`;
}

async function expectContent(night: Night, count: number): Promise<void> {
  const scenes = Array.from({ length: count }, (_, i) => i).filter((i) => i !== failing);
  const found = scenes.map(async (i) => {
    const [r = 0, g = 0, b = 0] = await sharp(night.path(`out/images/s${i}.png`))
      .removeAlpha()
      .raw()
      .toBuffer();
    return (r << 16) | (g << 8) | b;
  });
  expect(await Promise.all(found)).toEqual(scenes.map(colourOf));
}

/**
 * Expects that no job that ComfyUI still had ran twice. Jobs lost in a restart, and submissions without an
 * answer, must be recorded.
 */
function expectAccounts(night: Night, count: number, { accepted, lost }: Proxy): void {
  expect(lost()).toBeGreaterThan(0);
  expect(new Set(accepted).size).toBe(accepted.length);
  const db = new Sqlite(night.path('out/checkpoint.sqlite'), { readonly: true });
  try {
    const rows = db
      .prepare<[], { state: string; n: number }>('SELECT state, count(*) AS n FROM attempts GROUP BY state')
      .all();
    const of = (state: string): number => rows.find((row) => row.state === state)?.n ?? 0;
    expect(of('saved')).toBe(count - 1);
    expect(of('failed')).toBe(2);
    expect(of('expired') + of('unanswered')).toBeLessThanOrEqual(restarts * 2 * concurrency);
    expect(accepted.length).toBeLessThanOrEqual(count + 1 + of('expired') + of('unanswered'));
  } finally {
    db.close();
  }
}

interface Proxy {
  url: string;
  /** Ids of submissions that ComfyUI has accepted. */
  accepted: string[];
  /** Returns the number of their answers that were lost. */
  lost: () => number;
}

/** Starts a proxy that loses every seventh answer to a submission. */
async function startProxy(target: string): Promise<Proxy> {
  const accepted: string[] = [];
  let lost = 0;
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '' } = request;
    const body = await buffer(request);
    const answer = await fetch(target + url, { method, ...(method === 'POST' && { body }) });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (url === '/prompt' && answer.status === 200) {
      accepted.push((JSON.parse(bytes.toString()) as { prompt_id: string }).prompt_id);
      if (accepted.length % 7 === 0) {
        lost += 1;
        return void response.socket?.resetAndDestroy();
      }
    }
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      .end(bytes);
  };
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.socket?.resetAndDestroy());
  });
  return { url: await listenOnLoopback(server), accepted, lost: () => lost };
}
