/** The public Python SDK of such services works with `serve` as it is: every kind of handler, and its clients. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cancelPath } from '../../src/protocol/paths.ts';
import { addKey } from '../service/pull-harness.ts';
import { folderWith, inProcess, pipeline, scenes } from './cli.ts';
import { blackPicture } from './instant-service.ts';
import { unusedPort } from './listen-on-loopback.ts';
import {
  ask,
  endpointId,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
} from '../service/service-harness.ts';
import {
  checkout,
  foreignClient,
  foreignDevelopmentServer,
  foreignWorker,
  type Handler,
} from './foreign-sdk.ts';

const silenceMs = 3_000;

async function openForeign(handler: Handler, workerId = 'box-1.example.org-0-4711') {
  const service = await openService({ workers: 0, silenceMs });
  const workerKey = addKey(service.dataDir, 'worker');
  const start = (id = workerId) => foreignWorker(service.url, workerKey, id, handler);
  return { ...service, workerKey, start, worker: start() };
}

const skipped = checkout === undefined;
const reason = skipped ? 'needs NIGHTRENDER_FOREIGN, a checkout of it' : checkout;

describe.skipIf(skipped)(`the public Python SDK (${reason})`, () => {
  it.each<Handler>(['plain', 'async'])('has a worker whose handler is %s', async (handler) => {
    const { url } = await openForeign(handler);
    const ended = async (input: Record<string, unknown>, status: string) => {
      const { delayTime, executionTime, id, ...job } = await statusOnce(
        url,
        await submit(url, input),
        status,
      );
      expect([typeof id, typeof delayTime, typeof executionTime]).toEqual(['string', 'number', 'number']);
      return job;
    };
    const completed = { status: 'COMPLETED', workerId: 'box-1.example.org-0-4711' };
    expect(await ended({ do: 'x' }, 'COMPLETED')).toEqual({ ...completed, output: { did: 'x', length: 0 } });
    expect(await ended({ do: 'empty' }, 'COMPLETED')).toEqual({ ...completed, output: null });
    expect(await ended({ do: 'none' }, 'COMPLETED')).toEqual({ ...completed, output: null });
    expect(await ended({ do: 'refresh' }, 'COMPLETED')).toEqual({ ...completed, output: null });
    const failed = await ended({ do: 'raise' }, 'FAILED');
    expect(JSON.stringify(failed)).toContain('no such sampler');
    expect(await ended({ do: 'error' }, 'FAILED')).toMatchObject({
      error: { code: 7 },
      output: { partial: [1] },
    });
    expect(await ended({ do: 'x' }, 'COMPLETED')).toMatchObject(completed);
  });

  it.each<Handler>(['stream', 'async-stream'])('has a worker that yields parts: %s', async (handler) => {
    const { url } = await openForeign(handler);
    expect(await foreignClient(url, 'stream', { do: 'x' })).toEqual(['a', { b: 1 }]);
    expect(await foreignClient(url, 'output', { do: 'x' })).toEqual([['a', { b: 1 }], 'COMPLETED']);
    const failed = await statusOnce(url, await submit(url, { do: 'raise' }), 'FAILED');
    expect(failed.error).toContain('no such sampler');
  });

  it('has a worker that is at two jobs at a time', async () => {
    const { url } = await openForeign('pair');
    const ids = [await submit(url, { do: 'x' }), await submit(url, { do: 'y' })];
    for (const id of ids) expect((await statusOnce(url, id, 'COMPLETED')).output).toBe(2);
  });

  it('tells of progress, and is handed webhook and s3Config', async () => {
    const { url } = await openForeign('plain');
    const until = join(await makeDataDir(), 'go');
    const id = await submit(url, { do: 'progress', until });
    await expect
      .poll(async () => (await statusOnce(url, id, 'IN_PROGRESS')).output, { interval: 50 })
      .toEqual({ step: 1 });
    writeFileSync(until, '');
    expect((await statusOnce(url, id, 'COMPLETED')).output).toEqual({ did: 'progress', length: 0 });
    const s3Config = { accessId: 'a', accessSecret: 'b', bucketName: 'c', endpointUrl: 'https://d' };
    const told = { webhook: 'https://192.0.2.7/told', s3Config };
    const { json } = await post(url, JSON.stringify({ input: { do: 'told' }, ...told }));
    expect((await statusOnce(url, (json as { id: string }).id, 'COMPLETED')).output).toEqual(told);
  });

  it('stops a job that is cancelled, and takes the next', async () => {
    const { url, worker } = await openForeign('async');
    const [cancelled, status] = (await foreignClient(url, 'cancel', { do: 'hang' })) as [
      { status: string },
      string,
    ];
    expect([cancelled.status, status]).toEqual(['CANCELLED', 'CANCELLED']);
    expect(await foreignClient(url, 'output', { do: 'x' })).toEqual([{ did: 'x', length: 0 }, 'COMPLETED']);
    expect(worker.said()).toContain('Job stopped.');
  });

  it('loses its job where it is killed, whatever its ping process says', async () => {
    const { url, worker, start } = await openForeign('plain');
    const id = await submit(url, { do: 'hang' });
    await statusOnce(url, id, 'IN_PROGRESS');
    worker.child.kill('SIGKILL');
    await statusOnce(url, id, 'IN_QUEUE');
    expect((await ask(url, cancelPath('v2', endpointId, id), { method: 'POST' })).status).toBe(200);
    start('box-2');
    const next = await submit(url, { do: 'x' });
    expect(await statusOnce(url, next, 'COMPLETED')).toMatchObject({ workerId: 'box-2' });
  });

  it('is refused in words under the id of another, and does not hurry', async () => {
    const { url, worker, start } = await openForeign('plain');
    await expect.poll(() => worker.said()).toContain('Starting job acquisition');
    const second = start();
    await expect.poll(() => second.said()).toContain('409');
    expect((await statusOnce(url, await submit(url, { do: 'x' }), 'COMPLETED')).output).toEqual({
      did: 'x',
      length: 0,
    });
    await expect.poll(() => worker.said()).toContain('Finished.');
    const pings = () => second.said().match(/Heartbeat Sent/g)?.length;
    await expect.poll(pings).toBeGreaterThan(3);
    expect(second.said().match(/Failed to get job/g)?.length).toBeLessThan(20);
  });

  it('has clients, which wait for large jobs as well, purge, and work asynchronously', async () => {
    const idle = await openService({ workers: 0 });
    expect(await foreignClient(idle.url, 'purge', { do: 'x' })).toEqual([
      { completed: 0, failed: 0, inProgress: 0, inQueue: 1, retried: 0 },
      { removed: 1, status: 'completed' },
      expect.stringMatching('CANCELLED'),
    ]);
    const { url } = await openForeign('plain');
    const text = 'x'.repeat(15_000_000);
    expect(await foreignClient(url, 'run_sync', { do: 'x', text })).toEqual({ did: 'x', length: 15_000_000 });
    const [done, status, , completed] = (await foreignClient(url, 'asynchronous', { do: 'x' })) as unknown[];
    expect([done, status, completed]).toEqual([{ did: 'x', length: 0 }, 'COMPLETED', 3]);
  });

  it('has a development server, which renders a batch', async () => {
    const port = await unusedPort();
    const url = `http://127.0.0.1:${port}`;
    const server = foreignDevelopmentServer(port, await blackPicture());
    await expect
      .poll(() =>
        fetch(url).then(
          ({ status }) => status,
          () => server.said(),
        ),
      )
      .toBe(200);
    const file = pipeline(url, 'concurrency: 1\ninput: {do: picture, text: "{{ scene }}"}');
    const dev = file.replace(/ {2}apiKey: .*\n/, '  version: dev\n');
    const cwd = folderWith({ 'pipeline.yaml': dev, 'scenes.csv': scenes(3) });
    const run = await inProcess(['run', 'pipeline.yaml'], { cwd });
    expect([run.code, run.stderr]).toEqual([0, run.stderr]);
    const unknown = await fetch(`${url}/status/test-1`, { method: 'POST' });
    expect(await unknown.json()).toEqual({ id: 'test-1', status: 'FAILED', error: 'Job ID not found' });
  });
});
