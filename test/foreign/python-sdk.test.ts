/**
 * Promise: workers and clients of the public Python SDK work unmodified.
 *
 * NIGHTRENDER_FOREIGN is a checkout of the SDK, and further folders for PYTHONPATH, separated by `:`.
 * NIGHTRENDER_FOREIGN_PYTHON is the interpreter that has its other packages (default: `python3`).
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { root, testKey } from '../e2e/cli.ts';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';
import { type Exchange, Recorder, withoutAccidents } from './recorder.ts';
import { Client, heardOf, kill, lack, start } from './sdk.ts';

const recorded = join(root, 'test/fixtures/python-sdk.json');

/** True unless this is a ping. Pings come at any time. */
function isInOrder({ path: at }: Exchange): boolean {
  return !at.includes('/ping/');
}

/** Returns the number of jobs whose result was accepted. */
function doneOf({ exchanges }: Recorder): number {
  return exchanges.filter(({ path: at }) => at.includes('/job-done/')).length;
}

describe.skipIf(lack !== undefined)(
  `the Python SDK${lack === undefined ? '' : ` (skipped: ${lack})`}`,
  () => {
    it('the SDK has results of each kind that a handler returns', async () => {
      const { work, done } = await start();
      work('plain');
      const job = { id: expect.any(String), workerId: 'gpu-1.example.org:0' };
      expect(await done({ a: 1 })).toMatchObject({ ...job, status: 'COMPLETED', output: { echo: { a: 1 } } });
      const cases: [returned: unknown, expected: object][] = [
        [{}, {}],
        [null, { output: null }],
        [true, { output: true }],
        ['text', { output: 'text' }],
        [[1, 2], { output: [1, 2] }],
        [{ refresh_worker: true, a: 1 }, { output: { a: 1 } }],
      ];
      for (const [returned, expected] of cases)
        expect(await done({ return: returned })).toMatchObject({ ...job, status: 'COMPLETED', ...expected });
    });

    it('the SDK says why a job failed, with its output', async () => {
      const { work, done } = await start();
      work('plain');
      expect(await done({ return: { error: 'no model', seed: 7 } })).toMatchObject({
        status: 'FAILED',
        error: 'no model',
        output: { seed: 7 },
      });
      expect(await done({ return: { error: { code: 3 } } })).toMatchObject({
        status: 'FAILED',
        error: { code: 3 },
      });
      const raised = await done({ raise: 'out of memory' });
      expect([raised.status, raised.error]).toEqual(['FAILED', expect.stringContaining('out of memory')]);
    });

    it.each(['generator', 'async generator'])('the SDK streams what a handler yields (%s)', async (kind) => {
      const { work, ...started } = await start();
      const client = started.client();
      work(kind);
      await client.call('run', { input: { count: 3 } });
      const parts = [0, 1, 2].map((number) => ({ number }));
      expect(await client.call('stream', 0)).toEqual(parts);
      expect(await client.call('output', 0)).toEqual(parts);
    });

    it('the SDK asks as a client does', async () => {
      const { cwd, work, ...started } = await start();
      const client = started.client();
      expect(await client.call('health')).toMatchObject({ workers: { idle: 0 }, jobs: { inQueue: 0 } });
      const first = await client.call('run', { input: { a: 1 } });
      expect([await client.call('status', 0), typeof first]).toEqual(['IN_QUEUE', 'string']);
      expect(await client.call('purge_queue')).toMatchObject({ removed: 1 });
      expect(await client.call('status', 0)).toBe('CANCELLED');
      work('async');
      await client.call('run', { input: { a: 2 } });
      expect(await client.call('output', 1)).toEqual({ echo: { a: 2 } });
      expect(await client.call('status', 1)).toBe('COMPLETED');
      expect(await client.call('run_sync', { input: { a: 3 } })).toEqual({ echo: { a: 3 } });
      await client.call('run', { input: { until: join(cwd, 'never') } });
      expect(await client.call('cancel', 2)).toMatchObject({ status: 'CANCELLED' });
    });

    it('the SDK asks asynchronously, and sends 15 MB', async () => {
      const { work, ...started } = await start();
      const client = started.client();
      work('generator');
      expect(await client.call('asynchronous', { count: 1 })).toEqual(['COMPLETED', [{ number: 0 }]]);
      const text = 'x'.repeat(15_000_000);
      expect(await client.call('run_sync', { input: { count: 2, text } })).toEqual([
        { number: 0 },
        { number: 1 },
      ]);
    });

    it('the SDK is refused under the id of another worker, which continues, and does not hurry', async () => {
      const { work, done } = await start();
      const heard = heardOf(work('plain'));
      await expect.poll(heard).toContain('Starting job acquisition');
      const second = heardOf(work('plain'));
      await expect.poll(second).toContain('409');
      expect(await done({ a: 1 })).toMatchObject({ status: 'COMPLETED' });
      await expect.poll(() => second().match(/Heartbeat Sent/g)?.length).toBeGreaterThan(3);
      expect(second().match(/Failed to get job/g)?.length).toBeLessThan(20);
      expect(heard()).toContain('Finished.');
    });

    it('the SDK stops a job that is cancelled, and continues with the next', async () => {
      const { cwd, service, work, done } = await start();
      work('async');
      const id = await service.submit('farm', { until: join(cwd, 'never') });
      await expect.poll(async () => (await service.status('farm', id)).status).toBe('IN_PROGRESS');
      await service.ask(`/v2/farm/cancel/${id}`, { method: 'POST' });
      writeFileSync(join(cwd, 'never'), '');
      expect(await done({ a: 1 })).toMatchObject({ status: 'COMPLETED' });
      expect((await service.status('farm', id)).status).toBe('CANCELLED');
    });

    it('the SDK does several jobs at once, and reports the progress of one', async () => {
      const { cwd, service, work } = await start();
      work('concurrent');
      const input = { until: join(cwd, 'now'), progress: 'half' };
      const ids: string[] = [];
      for (let job = 0; job < 3; job++) ids.push(await service.submit('farm', input));
      const states = async () =>
        (await Promise.all(ids.map((id) => service.status('farm', id)))).map(({ status }) => status);
      await expect.poll(states).toEqual(Array(3).fill('IN_PROGRESS'));
      await expect.poll(async () => (await service.status('farm', ids[0] ?? '')).output).toBe('half');
      writeFileSync(input.until, '');
      for (const id of ids) expect((await service.ended('farm', id)).status).toBe('COMPLETED');
    });

    it('the SDK is given webhook and bucket, and the webhook the whole job', async () => {
      const { service, work } = await start();
      work('plain');
      const server = createServer();
      const webhook = `${await listenOnLoopback(server)}/done`;
      const told = once(server, 'request') as Promise<[IncomingMessage, { end(): void }]>;
      const s3Config = {
        accessId: 'a',
        accessSecret: 'b',
        bucketName: 'c',
        endpointUrl: 'https://s3.example',
      };
      const body = { input: { known: true }, webhook, s3Config };
      await service.ask('/v2/farm/run', { method: 'POST', body });
      const [request, response] = await told;
      const job = await json(request);
      response.end();
      expect(job).toMatchObject({
        status: 'COMPLETED',
        webhook,
        input: { known: true },
        output: { webhook, s3Config },
      });
    });

    it('the SDK sends and gets what was recorded (UPDATE_RECORDED=1 records it)', async () => {
      const { service, workerKey, ...started } = await start();
      const recorder = await Recorder.start(service.url);
      const client = new Client(recorder.url);
      await client.call('run', { input: { a: 0 } });
      await client.call('cancel', 0);
      await client.call('purge_queue');
      for (const input of [
        { a: 1 },
        { return: { error: 'no model', seed: 7 } },
        { return: null },
        { return: {} },
      ])
        await client.call('run', { input });
      await client.call('status', 1);
      const plain = started.work('plain', 'gpu-1.example.org:0', recorder.url);
      await expect.poll(() => doneOf(recorder)).toBe(4);
      for (const job of [1, 2, 3, 4]) await client.call('status', job);
      kill(plain);
      await client.call('run', { input: { count: 2 } });
      started.work('generator', 'gpu-1.example.org:1', recorder.url);
      await expect.poll(() => doneOf(recorder)).toBe(5);
      await client.call('stream', 5);
      const words = { [testKey]: 'CLIENT-KEY', [workerKey]: 'WORKER-KEY' };
      const exchanges = withoutAccidents(recorder.exchanges.filter(isInOrder), words);
      if (process.env['UPDATE_RECORDED'] === '1')
        writeFileSync(recorded, `[\n${exchanges.map((each) => JSON.stringify(each)).join(',\n')}\n]\n`);
      expect(exchanges).toEqual(JSON.parse(readFileSync(recorded, 'utf8')));
    });

    it('the SDK loses a job with its process, also while its pings go on, and the next worker has it', async () => {
      const { cwd, service, work } = await start(
        'limits: {silence: 15s}\nendpoints: [{name: Farm, remote: true, retries: 1}]\n',
      );
      const first = work('plain', 'first');
      const id = await service.submit('farm', { until: join(cwd, 'now') });
      await expect.poll(async () => (await service.status('farm', id)).status).toBe('IN_PROGRESS');
      first.kill('SIGKILL');
      writeFileSync(join(cwd, 'now'), '');
      work('plain', 'second');
      expect(await service.ended('farm', id)).toMatchObject({
        status: 'COMPLETED',
        workerId: 'second',
        retries: 1,
      });
    });
  },
);
