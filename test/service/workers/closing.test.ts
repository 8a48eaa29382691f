/** A service that ends while its workers are still on their way, or does not get to open, leaves nothing of them. */
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

it('waits until what a container tool has begun is taken back', async () => {
  const { done, workloadOf } = container();
  const { close, troubles } = await openService({ workloadOf });
  expect(done).toEqual(['begun']);
  await close();
  expect(done).toEqual(['begun', 'taken back']);
  expect(troubles).toEqual([]);
});

it('takes it back where the service cannot be opened after all', async () => {
  const { done, workloadOf } = container();
  await expect(openWithConsole({ workloadOf, publicUrl: 'nowhere' })).rejects.toThrow('Invalid URL');
  expect(done).toEqual(['begun', 'taken back']);
});

it('is closed only when its workers have ended, however long that takes them', async () => {
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
  // Many turns of the event loop are no reason to go on without it.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([]);
  end();
  await closing;
  expect(done).toEqual(['worker ended', 'service closed']);
  expect(troubles).toEqual([]);
  // The next one gives the job to another.
  const again = await openService({ dataDir });
  expect((await again.held.next()).job.id).toBe(id);
});
