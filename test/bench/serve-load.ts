/** The clients and workers of a service, in a separate process: `node serve-load.js TRAFFIC`. Prints the results. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import { endpointId, inputOf, outputOf } from './serve-data.ts';
import { percentile } from './statistics.ts';
import type { Got, Traffic } from './serve-traffic.ts';

const { url, kind, data, connections, seconds, requests } = JSON.parse(process.argv[2] ?? '') as Traffic;
const pool = new Pool(url, { connections, pipelining: 1 });
const ids = readFileSync(data.idsFile, 'utf8').split('\n');
const base = `/v2/${endpointId}`;
const latencies: number[] = [];
const got: Got = { requests: 0, submissions: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 };
const deadline = performance.now() + (seconds ?? Infinity) * 1_000;

await Promise.all(Array.from({ length: connections }, (_, i) => goOn(i)));
await pool.close();
got.p50Ms = percentile(latencies, 0.5);
got.p99Ms = percentile(latencies, 0.99);
got.maxMs = percentile(latencies, 1);
process.stdout.write(JSON.stringify(got));

async function goOn(index: number): Promise<void> {
  const key = data.clientKeys[index % data.clientKeys.length] ?? '';
  while (performance.now() < deadline && got.requests < (requests ?? Infinity)) {
    got.requests += 1;
    await one(key, index);
  }
}

async function one(key: string, index: number): Promise<void> {
  switch (kind) {
    case 'submit':
      return await submit(key);
    case 'status':
      return await askStatus(key);
    case 'health':
      return void (await send('GET', `${base}/health`, key));
    case 'mixed':
      // The share of submissions is the same as in the target of the service: two of seven.
      return await (randomInt(7) < 2 ? submit(key) : askStatus(key));
    case 'pull':
      return await work(`worker-${index}`);
  }
}

async function submit(key: string): Promise<void> {
  got.submissions += 1;
  await send('POST', `${base}/run`, key, { input: inputOf(got.submissions) });
}

async function askStatus(key: string): Promise<void> {
  await send('GET', `${base}/status/${ids[randomInt(ids.length)]}`, key);
}

/** Takes a job and delivers its result. */
async function work(workerId: string): Promise<void> {
  const taken = await send('GET', `${base}/job-take/${workerId}`, data.workerKey);
  const { id } = JSON.parse(taken) as { id: string };
  await send('POST', `${base}/job-done/${workerId}/${id}`, data.workerKey, { output: outputOf() });
}

/** Sends a request, and throws unless it is answered with 200. */
async function send(method: 'GET' | 'POST', path: string, key: string, body?: object): Promise<string> {
  const startedAt = performance.now();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await pool.request({
    method,
    path,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  latencies.push(performance.now() - startedAt);
  return text;
}
