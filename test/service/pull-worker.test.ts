/**
 * Promise: a worker in another language, which gets all it needs from its environment, can be killed during a
 * job without losing it.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { cancelPath } from '../../src/protocol/paths.ts';
import { addKey, PullingWorker } from './pull-harness.ts';
import { ask, askStatus, endpointId, openService, statusOnce, submit } from './service-harness.ts';

const script = fileURLToPath(new URL('../fixtures/pull-worker.py', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;

interface PythonWorker {
  process: ChildProcessByStdio<null, Readable, null>;
  /** Resolves once the worker has printed this line. */
  says(line: string): Promise<void>;
}

function startWorker(url: string, key: string, id: string): PythonWorker {
  const base = `${url}/v2/${endpointId}`;
  const child = spawn('python3', [script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      RUNPOD_POD_ID: id,
      RUNPOD_AI_API_KEY: key,
      RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/$ID?gpu=TEST`,
      RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/$RUNPOD_POD_ID/$ID?gpu=TEST`,
      RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/$RUNPOD_POD_ID/$ID?gpu=TEST`,
      RUNPOD_WEBHOOK_PING: `${base}/ping/$RUNPOD_POD_ID?gpu=TEST`,
      RUNPOD_PING_INTERVAL: '200',
      RUNPOD_ENDPOINT_ID: endpointId,
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { process: child, says: listener(createInterface(child.stdout)) };
}

function listener(lines: Interface): (line: string) => Promise<void> {
  const said = new Set<string>();
  lines.on('line', (line) => said.add(line));
  return (line) =>
    new Promise((resolve) => {
      const look = (): void => void (said.has(line) && resolve());
      lines.on('line', look);
      look();
    });
}

describe.skipIf(!hasPython)('a worker in Python (skipped if there is no python3)', () => {
  it('works jobs off, with progress, streams and errors', async () => {
    const { url, dataDir } = await openService({ workers: 0 });
    startWorker(url, addKey(dataDir, 'worker'), 'python-1');
    const done = await submit(url, { scene: 'a hill é', seed: 7 });
    const output = { worker: 'python-1', input: { scene: 'a hill é', seed: 7 } };
    expect((await statusOnce(url, done, 'COMPLETED')).output).toEqual(output);
    const failed = await submit(url, { error: 'no such sampler' });
    expect((await statusOnce(url, failed, 'FAILED')).error).toBe('no such sampler');
    const streamed = await submit(url, { stream: [1, [2]], progress: 'almost' });
    await statusOnce(url, streamed, 'COMPLETED');
    const { json } = await ask(url, `/v2/${endpointId}/stream/${streamed}`);
    expect(json).toEqual({ status: 'COMPLETED', stream: [{ output: 1 }, { output: [2] }] });
  });

  it('shows its progress as the output while the job continues', async () => {
    const { url, dataDir } = await openService({ workers: 0 });
    startWorker(url, addKey(dataDir, 'worker'), 'python-1');
    const id = await submit(url, { progress: { percent: 40 }, sleep: 600 });
    let job = (await askStatus(url, id)).json as { status: string; output?: unknown };
    while (job.output === undefined) job = (await askStatus(url, id)).json as typeof job;
    expect(job).toMatchObject({ status: 'IN_PROGRESS', output: { percent: 40 } });
    await ask(url, cancelPath('v2', endpointId, id), { method: 'POST' });
  });

  it('that is killed in the middle of a job leaves it to another', async () => {
    const elapsed = performance.now.bind(performance);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const silenceMs = 60_000;
    const { url, dataDir, troubles } = await openService({ workers: 0, silenceMs, elapsed });
    const key = addKey(dataDir, 'worker');
    const unlucky = startWorker(url, key, 'unlucky');
    const id = await submit(url, { sleep: 600, scene: 'x' });
    await unlucky.says(`taken ${id}`);
    unlucky.process.kill('SIGKILL');
    await once(unlucky.process, 'exit');
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'IN_PROGRESS' });
    vi.advanceTimersByTime(2 * silenceMs);
    expect(await statusOnce(url, id, 'IN_QUEUE')).toEqual({ id, retries: 1, status: 'IN_QUEUE' });
    const heir = new PullingWorker(url, key, 'heir');
    expect(await heir.taken()).toBe(id);
    await heir.done(id, '{"output":"after all"}');
    expect((await askStatus(url, id)).json).toMatchObject({ status: 'COMPLETED', output: 'after all' });
    expect(troubles).toEqual([]);
  });
});
