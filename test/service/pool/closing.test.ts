/** A service that ends while its workers are still on their way leaves nothing of them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { moduleWorkload } from '../../../src/service/workloads/module-workload.ts';
import type { PullWorker, WorkerContext } from '../../../src/service/workloads/workload.ts';
import { makeDataDir, openService } from '../service-harness.ts';
import { isRunning } from '../workloads/started-worker.ts';

it('ends a module that is still loading, without a word of trouble', async () => {
  const folder = await makeDataDir();
  const pidFile = join(folder, 'pid');
  const path = join(folder, 'slow.mjs');
  writeFileSync(
    path,
    `import { writeFileSync } from 'node:fs';
     writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
     setInterval(() => undefined, 60_000);
     await new Promise(() => undefined);
     export const handler = () => 1;`,
  );
  const workload = moduleWorkload({ endpointId: 'e', path, environment: {} });
  const { close, troubles } = await openService({ workload });
  await expect.poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8')).toMatch(/^\d+$/);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  expect(isRunning(pid)).toBe(true);
  await close();
  expect(isRunning(pid)).toBe(false);
  expect(troubles).toEqual([]);
});

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
