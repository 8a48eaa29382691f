/** What a service reports about an endpoint's workers and jobs. */

export const workerStates = ['running', 'idle', 'ready', 'initializing', 'throttled', 'unhealthy'] as const;
export const jobStates = ['inProgress', 'inQueue', 'completed', 'failed', 'retried'] as const;

export interface ServiceHealth {
  workers: Partial<Record<(typeof workerStates)[number], number>>;
  jobs: Partial<Record<(typeof jobStates)[number], number>>;
}

/** A service's status word, and how many jobs in flight it was last said of. */
export interface JobWord {
  word: string;
  jobs: number;
}

/** Words that a job has which waits or runs. */
const usualWords = new Set(['', '202', 'IN_QUEUE', 'IN_PROGRESS', 'RUNNING', 'pending', 'running']);

/** `"SUCCEEDED" of 5 jobs in flight`; undefined if all words are the usual ones. The most frequent first. */
export function oddWords(words: readonly JobWord[]): string | undefined {
  const odd = words.filter(({ word }) => !usualWords.has(word) && !usualWords.has(word.toUpperCase()));
  const shown = odd.toSorted((a, b) => b.jobs - a.jobs).slice(0, 3);
  if (shown.length === 0) return undefined;
  const each = shown.map(
    ({ word, jobs }) => `"${word}" of ${jobs.toLocaleString('en')} ${jobs === 1 ? 'job' : 'jobs'}`,
  );
  return `${each.join(', ')} in flight`;
}

/** Whether it reports its workers and none of them can take a job. */
export function hasNoWorker({ workers }: ServiceHealth): boolean {
  const { running, idle, ready } = workers;
  const able = [running, idle, ready].filter((count) => count !== undefined);
  return able.length > 0 && able.every((count) => count === 0);
}

/** Whether it reports its jobs, and none of them waits or runs: no worker is needed. */
export function hasNoJob({ jobs }: ServiceHealth): boolean {
  return jobs.inQueue === 0 && jobs.inProgress === 0;
}
