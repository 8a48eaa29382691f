/** A worker as it is told of, wherever it runs. */

export type WorkerState = 'initializing' | 'idle' | 'running' | 'throttled' | 'unhealthy';

export interface WorkerDeath {
  why: string;
  /** Epoch ms. */
  at: number;
}

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
  /** How the one before it in its place ended, or why it could not be started; null once it has done some good. */
  lastDeath: WorkerDeath | null;
  /** When another is started in its place, epoch ms; null where none is waited for. */
  startsAt: number | null;
  /** Its latest lines, oldest first. */
  log: readonly string[];
}
