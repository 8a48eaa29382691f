/** Port to a cluster that runs workers as jobs of its own. These workers pull the service's jobs over the network. */

export interface ClusterWorkload {
  /** Name shown to people, such as `Slurm`. */
  name: string;
  tasks(): Promise<ClusterTask[]>;
  /** Starts workers whose tasks carry `mark`. The error has `isUncertain: true` if the workers may start nevertheless. */
  startWorkers(places: readonly number[], mark: string): Promise<void>;
  /** Cancels tasks that are still waiting. Tasks that have started meanwhile keep running. */
  cancelWaiting(ids: readonly string[]): Promise<void>;
}

export interface ClusterTask {
  id: string;
  /** Index of the task among the endpoint's workers, from 0. Unique among tasks that have not ended. */
  place: number;
  mark: string;
  state: 'waiting' | 'running' | 'ending';
}

/** Returns the cluster task in the last part of a worker's id; undefined if the worker is no cluster task. */
export function taskOfWorker(workerId: string): string | undefined {
  return /-slurm(\d+_\d+)(?:\.\d+)?$/.exec(workerId)?.[1];
}

/** Returns the end of a worker's id that `taskOfWorker` reads; empty if this process is in no Slurm job array. */
export function clusterSuffix(env: NodeJS.ProcessEnv): string {
  const { SLURM_ARRAY_JOB_ID: job, SLURM_ARRAY_TASK_ID: task } = env;
  return job === undefined || task === undefined ? '' : `-slurm${job}_${task}`;
}
