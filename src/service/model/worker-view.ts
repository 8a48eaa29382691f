/** A worker as clients and the console see it, wherever it runs, and its id. */
import type { MachineView } from '../../protocol/console-data.ts';

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
  /** What it reports of where it runs, and what it runs; null for workers that do not. */
  machine: MachineView | null;
  workload: string | null;
  /** Takes no more jobs, and ends when it has done those that it has. */
  isDraining: boolean;
  /** Since it came. `busyMs` is time at jobs. */
  jobsDone: number;
  busyMs: number;
}

/** What those that the service starts have in common, until they are at a job. */
export const ownView = {
  kind: 'own',
  jobIds: [],
  gpu: null,
  machine: null,
  workload: null,
  isDraining: false,
  jobsDone: 0,
  busyMs: 0,
} as const satisfies Partial<WorkerView>;

/**
 * Whoever has a key and says somebody else's id is somebody else, who is at none of his jobs. `id` and `keyId` hold no `@`.
 */
export function pullingWorker(id: string, keyId: string): string {
  return `${id}@${keyId}`;
}

/** The id of the key that a worker pulls with; empty for one that does not pull. */
export function keyOfWorker(worker: string): string {
  return worker.split('@', 2)[1] ?? '';
}

/** As it calls itself, for people; one that does not pull is called by its id alone. */
export function shownWorker(worker: string): string {
  return worker.split('@', 1)[0] ?? '';
}
