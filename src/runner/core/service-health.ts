/** Workers and jobs of an endpoint, as its service reports them. */

export const workerStates = ['running', 'idle', 'ready', 'initializing', 'throttled', 'unhealthy'] as const;
export const jobStates = ['inProgress', 'inQueue', 'completed', 'failed', 'retried'] as const;

export interface ServiceHealth {
  workers: Partial<Record<(typeof workerStates)[number], number>>;
  jobs: Partial<Record<(typeof jobStates)[number], number>>;
}

/** A status in the service's spelling, and the number of jobs in flight that had it last. */
export interface JobWord {
  word: string;
  jobs: number;
}

/** Normal statuses of a job that waits or runs. */
const usualWords = new Set(['', '202', 'IN_QUEUE', 'IN_PROGRESS', 'RUNNING', 'pending', 'running']);

/**
 * Returns a text such as `"SUCCEEDED" of 5 jobs in flight`, most frequent first. Undefined if all statuses
 * are normal.
 */
export function oddWords(words: readonly JobWord[]): string | undefined {
  const odd = words.filter(({ word }) => !usualWords.has(word) && !usualWords.has(word.toUpperCase()));
  const shown = odd.toSorted((a, b) => b.jobs - a.jobs).slice(0, 3);
  if (shown.length === 0) return undefined;
  const each = shown.map(
    ({ word, jobs }) => `"${word}" of ${jobs.toLocaleString('en')} ${jobs === 1 ? 'job' : 'jobs'}`,
  );
  return `${each.join(', ')} in flight`;
}

/** True if the service reports its workers and none can take a job. */
export function hasNoWorker({ workers }: ServiceHealth): boolean {
  const { running, idle, ready } = workers;
  const able = [running, idle, ready].filter((count) => count !== undefined);
  return able.length > 0 && able.every((count) => count === 0);
}

/** True if the service reports its jobs and none waits or runs, so no worker is needed. */
export function hasNoJob({ jobs }: ServiceHealth): boolean {
  return jobs.inQueue === 0 && jobs.inProgress === 0;
}
