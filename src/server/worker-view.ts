/** A worker as it is told of, wherever it runs. */

export type WorkerState = 'initializing' | 'idle' | 'running' | 'throttled' | 'unhealthy';

export interface WorkerView {
  id: string;
  /** Started by the service, or pulling from elsewhere. */
  kind: 'own' | 'remote';
  state: WorkerState;
  jobIds: string[];
  gpu: string | null;
  /** Epoch ms: in this state, and heard of last. */
  since: number;
  lastSeenAt: number;
  /** Its latest lines, oldest first. */
  log: readonly string[];
}
