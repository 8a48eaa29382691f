/** Who a worker that pulls is: the id that it calls itself by, and the key that it comes with. */

/**
 * Whoever has a key and says somebody else's id is somebody else, who is at none of his jobs. `id` and `keyId` hold no `@`.
 */
export function pullingWorker(id: string, keyId: string): string {
  return `${id}@${keyId}`;
}

/** As it calls itself, for people; one that does not pull is called by its id alone. */
export function shownWorker(worker: string): string {
  return worker.split('@', 1)[0] ?? '';
}
