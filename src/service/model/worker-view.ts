/** Ids of workers, and what the views of the service's own workers have in common. */
import type { WorkerView } from '../../protocol/console-data.ts';

/** Fields that workers which the service starts have in common, until they work on a job. */
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
