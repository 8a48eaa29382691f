/** What the service needs of a cluster that runs workers for it: each is a job there, and takes jobs over the network. */

export interface ClusterWorkload {
  /** For people, such as `Slurm`. */
  name: string;
  tasks(): Promise<ClusterTask[]>;
  /** All that come of this have the mark. Rejects with `isUncertain` where they may come all the same. */
  startWorkers(places: readonly number[], mark: string): Promise<void>;
  /** Those that have begun meanwhile go on. */
  cancelWaiting(ids: readonly string[]): Promise<void>;
}

export interface ClusterTask {
  id: string;
  /** From 0; no two that live have the same. */
  place: number;
  mark: string;
  state: 'waiting' | 'running' | 'ending';
}

/** How a worker that is a task of a cluster calls itself ends with this; undefined for all others. */
export function taskOfWorker(workerId: string): string | undefined {
  return /-slurm(\d+_\d+)(?:\.\d+)?$/.exec(workerId)?.[1];
}

/** As `taskOfWorker` reads it; empty where this process is in no array of Slurm. */
export function clusterSuffix(env: NodeJS.ProcessEnv): string {
  const { SLURM_ARRAY_JOB_ID: job, SLURM_ARRAY_TASK_ID: task } = env;
  return job === undefined || task === undefined ? '' : `-slurm${job}_${task}`;
}
