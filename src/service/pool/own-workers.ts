/** When an endpoint's own workers start, how many are kept, when one is worn out, and what is reported. */
import type { EndpointSettings } from '../endpoint-settings.ts';
import type { Supervised } from './supervised.ts';

export type OwnWorkersSettings = Pick<
  EndpointSettings,
  'id' | 'workers' | 'minWorkers' | 'quickStart' | 'idleMs' | 'recycle' | 'stallMs'
>;

/** How many are kept without a job. */
export function keptWorkers({ quickStart, workers, minWorkers }: OwnWorkersSettings): number {
  return quickStart ? workers : minWorkers;
}

/** How many are there beyond those; one that is being ended is there no more. */
export function spareWorkers(workers: readonly Supervised[], settings: OwnWorkersSettings): number {
  return (
    workers.filter(({ state }) => state !== 'stopped' && state !== 'retiring').length - keptWorkers(settings)
  );
}

/** Whether another is to take the place of one that has done `jobs` since `since` (epoch ms). */
export function isWornOut(
  { recycle }: OwnWorkersSettings,
  { jobs, since, memoryBytes }: { jobs: number; since: number; memoryBytes: () => number },
): boolean {
  return (
    jobs >= (recycle.jobs ?? Infinity) ||
    Date.now() - since >= (recycle.ms ?? Infinity) ||
    (recycle.memoryBytes !== null && memoryBytes() > recycle.memoryBytes)
  );
}

/** Starts as many as there are jobs that wait for one, and those that are kept. */
export function startWanted(
  workers: readonly Supervised[],
  settings: OwnWorkersSettings,
  queueLength: () => number,
): void {
  const coming = workers.filter(({ state }) => state === 'initializing').length;
  const startable = workers.filter(({ state }) => state === 'stopped');
  const missing = keptWorkers(settings) - (workers.length - startable.length);
  const wanted = missing >= startable.length ? missing : Math.max(missing, queueLength() - coming, 0);
  for (const worker of startable.slice(0, wanted)) void worker.start();
}

const againAfterMs = 60_000;

export function withoutRepeats(emit: (text: string) => void): (text: string) => void {
  let last = '';
  let reportedAt = -Infinity;
  return (text) => {
    const now = performance.now();
    if (text === last && now - reportedAt < againAfterMs) return;
    [last, reportedAt] = [text, now];
    emit(text);
  };
}
