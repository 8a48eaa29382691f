/**
 * A database with very many jobs: starting on it, answering from it, and deleting and cancelling a large part of them.
 */
import { request } from 'undici';
import { type Data, endpointId, makeData } from './serve-data.ts';
import type { ServeOptions } from './serve-options.ts';
import { type Phase, type Served, startServer } from './serve-process.ts';
import { type Got, send, type Traffic } from './serve-traffic.ts';
import { target, type Target } from './target.ts';

/** Share of jobs that are complete and get deleted. All others are cancelled at the end. */
const share = 0.1;

const retentionMs = 30 * 60_000;

export async function measureMany(dir: string, options: ServeOptions): Promise<Target[]> {
  const some = Math.round(options.manyJobs * share);
  const data = await makeData(`${dir}/data`, { queued: options.manyJobs - some, completed: some });
  const server = await startServer('service', [data.dir], options.profile);
  const ask = (kind: Traffic['kind'], connections: number, seconds: number): Promise<Got> =>
    send({ url: server.url, kind, data, connections, seconds });
  try {
    const status = await server.measure(() => ask('status', 1, 5));
    const health = await server.measure(() => ask('health', 1, 2));
    // After this, the next sweep deletes all completed jobs.
    await server.advanceClock(retentionMs);
    const sweep = await server.measure(() => ask('submit', 4, 60));
    const purge = await server.measure(() => Promise.all([ask('submit', 4, 60), purgeQueue(server, data)]));
    return [
      target('start', { atMost: 10 }, server.startMs / 1_000, { unit: ' s', digits: 1 }),
      latency('status, p99', 10, status),
      latency('health, p99', 10, health),
      target('memory after the start', { atMost: 250 }, status.startBytes / 1e6, { unit: ' MB', digits: 0 }),
      held(`deletion of ${some} jobs that are over, beside submissions`, sweep, sweep.result),
      held(`cancellation of all that wait, beside submissions`, purge, purge.result[0], purge.result[1]),
    ];
  } finally {
    await server.stop();
  }
}

async function purgeQueue({ url }: Served, { clientKeys }: Data): Promise<string> {
  const startedAt = performance.now();
  const headers = { authorization: `Bearer ${clientKeys[0]}` };
  const path = `${url}/v2/${endpointId}/purge-queue`;
  const { body } = await request(path, { method: 'POST', headers, headersTimeout: 0, bodyTimeout: 0 });
  return `${await body.text()} in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}

function latency(name: string, atMost: number, { result }: Phase<Got>): Target {
  const from = `p50 ${result.p50Ms.toFixed(1)} ms, longest ${result.maxMs.toFixed(0)} ms, one at a time`;
  return target(name, { atMost }, result.p99Ms, { unit: ' ms', digits: 1, from });
}

const longestDelayMs = 100;

function held(name: string, phase: Phase<unknown>, got: Got, what = ''): Target {
  const submissions = `${got.requests} submissions, p50 ${got.p50Ms.toFixed(1)} ms, p99 ${got.p99Ms.toFixed(0)} ms, longest ${got.maxMs.toFixed(0)} ms`;
  const from = [
    what,
    submissions,
    `event loop p99 ${phase.delayP99Ms.toFixed(0)} ms`,
    `${(phase.endBytes / 1e6).toFixed(0)} MB`,
  ]
    .filter((text) => text !== '')
    .join('; ');
  return target(`${name}: longest hold of the event loop`, { atMost: longestDelayMs }, phase.delayMaxMs, {
    unit: ' ms',
    digits: 0,
    from,
  });
}
