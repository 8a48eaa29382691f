/** A service that ends while its workers are still on their way, or does not get to open, leaves nothing of them. */
import { expect, it } from 'vitest';
import type { PullWorker, WorkerContext } from '../../../src/service/workloads/workload.ts';
import { openWithConsole } from '../console/visit.ts';
import { openService } from '../service-harness.ts';

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
