/** Measures how much three processes that share a store answer together, with PostgreSQL on the same machine. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { request } from 'undici';
import { noPostgres, startPostgres } from '../engines/postgres.ts';
import { Refusal } from './refusal.ts';
import { endpointId } from './serve-data.ts';
import type { ServeOptions } from './serve-options.ts';
import { type Got, send, type Traffic } from './serve-traffic.ts';
import { target, type Target } from './target.ts';

const processes = 3;
const connections = 64;
const key = 'key-of-a-benchmark';
const cli = resolve(import.meta.dirname, '../../nightrender.cjs');

/** Number of jobs in their store at the start. */
export const sharedJobs = processes * 200;

export async function measureShared(dir: string, { seconds }: ServeOptions): Promise<Target[]> {
  if (noPostgres !== undefined) throw new Refusal(noPostgres);
  const server = await startPostgres();
  const started: ChildProcess[] = [];
  try {
    const urls: string[] = [];
    for (let n = 1; n <= processes; n++) {
      const { child, url } = await startOne(join(dir, String(n)), server.url);
      started.push(child);
      urls.push(url);
    }
    const idsFile = join(dir, 'ids.txt');
    writeFileSync(idsFile, (await Promise.all(urls.map(submitSome))).flat().join('\n'));
    const data = { clientKeys: [key], workerKey: key, idsFile };
    const ask = async (kind: Traffic['kind']): Promise<Got[]> => {
      const traffic = { kind, data, connections: Math.ceil(connections / processes), seconds };
      return await Promise.all(urls.map((url) => send({ url, ...traffic })));
    };
    return [
      targetOf('submissions a second, each in PostgreSQL', 1_000, seconds, await ask('submit')),
      targetOf('status requests a second', 2_500, seconds, await ask('status')),
    ];
  } finally {
    for (const child of started) child.kill();
    await Promise.all(started.map((child) => once(child, 'exit')));
    await server.stop();
  }
}

async function startOne(dir: string, database: string): Promise<{ child: ChildProcess; url: string }> {
  mkdirSync(dir);
  const endpoint = `{ id: ${endpointId}, name: Farm, remote: true, maxQueued: 10000000 }`;
  writeFileSync(
    join(dir, 'service.yaml'),
    `store: \${DATABASE_URL}\nlimits: {requestsPerSecond: 1000000}\nendpoints: [${endpoint}]\n`,
  );
  const child = spawn(
    process.execPath,
    [cli, 'serve', 'service.yaml', '--data', 'data', '--port', '0', '--json'],
    {
      cwd: dir,
      env: { ...process.env, DATABASE_URL: database, NIGHTRENDER_API_KEY: key },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url?: string };
    if (url !== undefined) return { child, url };
  }
  throw new Error('a process ended before it served');
}

async function submitSome(url: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${key}` };
  const one = async (): Promise<string> => {
    const { body } = await request(`${url}/v2/${endpointId}/run`, {
      method: 'POST',
      headers,
      body: '{"input":{"scene":"Hills"}}',
    });
    return ((await body.json()) as { id: string }).id;
  };
  return await Promise.all(Array.from({ length: sharedJobs / processes }, one));
}

function targetOf(name: string, atLeast: number, seconds: number, got: Got[]): Target {
  const total = got.reduce((sum, { requests }) => sum + requests, 0) / seconds;
  const p99Ms = Math.max(...got.map((one) => one.p99Ms));
  const from = `${processes} processes, p99 ${p99Ms.toFixed(0)} ms`;
  return target(name, { atLeast }, total, { unit: '', digits: 0, from });
}
