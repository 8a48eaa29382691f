/**
 * Promise: a service that ends during the start of its workers, or fails to start, leaves no worker behind.
 */
import { expect, it } from 'vitest';
import type {
  PullWorker,
  RunReport,
  WorkerContext,
} from '../../../src/service/workloads/workload-definition.ts';
import { openWithConsole } from '../console/visit.ts';
import { openService, submit } from '../service-harness.ts';

function container() {
  const done: string[] = [];
  const startPullWorker = async ({ signal }: WorkerContext): Promise<PullWorker> => {
    done.push('begun');
    await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    await new Promise((resolve) => setImmediate(resolve));
    done.push('taken back');
    throw new Error('it was ended');
  };
  return { done, workloadOf: () => ({ name: 'image', startPullWorker }) };
}

it('the service waits until containers that a tool has begun are removed', async () => {
  const { done, workloadOf } = container();
  const { close, troubles } = await openService({ workloadOf });
  expect(done).toEqual(['begun']);
  await close();
  expect(done).toEqual(['begun', 'taken back']);
  expect(troubles).toEqual([]);
});

it('the service removes the containers if it cannot be opened after all', async () => {
  const { done, workloadOf } = container();
  await expect(openWithConsole({ workloadOf, publicUrl: 'nowhere' })).rejects.toThrow('Invalid URL');
  expect(done).toEqual(['begun', 'taken back']);
});

it('the service is closed only when its workers have ended, however long that takes them', async () => {
  const done: string[] = [];
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  let begun = (): void => undefined;
  const isRunning = new Promise<void>((resolve) => (begun = resolve));
  const worker = {
    run: (_job: unknown, { signal }: RunReport) => {
      begun();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('it is not wanted any more')));
      });
    },
    ended: new Promise<string>(() => undefined),
    stop: async () => {
      await ended;
      done.push('worker ended');
    },
  };
  const workload = { name: 'slow', startWorker: () => Promise.resolve(worker) };
  const { url, close, troubles, dataDir } = await openService({ workload });
  const id = await submit(url, { scene: 'a' });
  await isRunning;
  const closing = close().then(() => done.push('service closed'));
  // The service keeps waiting for the worker during many turns of the event loop.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([]);
  end();
  await closing;
  expect(done).toEqual(['worker ended', 'service closed']);
  expect(troubles).toEqual([]);
  // The next service gives the job to another worker.
  const again = await openService({ dataDir });
  expect((await again.held.next()).job.id).toBe(id);
});
