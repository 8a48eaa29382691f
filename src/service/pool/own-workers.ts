/** What both kinds of pools share: when an endpoint's own workers start, how long they idle, and what is reported. */
import type { EndpointSettings } from '../endpoint-settings.ts';
import type { PullWorker } from '../workloads/workload.ts';
import type { Supervised } from './supervised.ts';

/** How long one is kept without a job where it was started for one. */
export const idleMs = 60_000;

/** Starts as many as there are jobs that wait for one; all of them with quick start. */
export function startWanted(
  workers: readonly Supervised<PullWorker>[],
  { quickStart }: Pick<EndpointSettings, 'quickStart'>,
  queueLength: () => number,
): void {
  const coming = workers.filter(({ state }) => state === 'initializing').length;
  const wanted = quickStart ? workers.length : Math.max(0, queueLength() - coming);
  const startable = workers.filter(({ state }) => state === 'stopped');
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
