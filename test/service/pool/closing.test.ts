/** A service that ends while its workers are still on their way leaves nothing of them. */
import { expect, it } from 'vitest';
import type { PullWorker, WorkerContext } from '../../../src/service/workloads/workload.ts';
import { openService } from '../service-harness.ts';

it('waits until what a container tool has begun is taken back', async () => {
  const done: string[] = [];
  const startPullWorker = async ({ signal }: WorkerContext): Promise<PullWorker> => {
    done.push('begun');
    await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    await new Promise((resolve) => setImmediate(resolve));
    done.push('taken back');
    throw new Error('it was ended');
  };
  const { close, troubles } = await openService({ workloadOf: () => ({ name: 'image', startPullWorker }) });
  expect(done).toEqual(['begun']);
  await close();
  expect(done).toEqual(['begun', 'taken back']);
  expect(troubles).toEqual([]);
});
