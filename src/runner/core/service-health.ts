/** What a service reports about an endpoint's workers and jobs. */

export const workerStates = ['running', 'idle', 'ready', 'initializing', 'throttled', 'unhealthy'] as const;
export const jobStates = ['inProgress', 'inQueue', 'completed', 'failed', 'retried'] as const;

export interface ServiceHealth {
  workers: Partial<Record<(typeof workerStates)[number], number>>;
  jobs: Partial<Record<(typeof jobStates)[number], number>>;
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
