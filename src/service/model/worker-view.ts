/** Ids of workers, and fields that the views of the service's own workers have in common. */
import type { WorkerView } from '../../protocol/console-data.ts';

/** Fields of the view of an own worker that has not worked on a job yet. */
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

/** Returns the id of a pulling worker, with the id of its key, so that a copied id gets no jobs. Neither has `@`. */
export function pullingWorker(id: string, keyId: string): string {
  return `${id}@${keyId}`;
}

/** Returns the name of a worker for people: the id without the key. */
export function shownWorker(worker: string): string {
  return worker.split('@', 1)[0] ?? '';
}
