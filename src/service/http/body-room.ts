/** Room in memory for the long bodies of requests: each is read once there is room, in the order in which they come. */
import type { IncomingMessage } from 'node:http';
import type { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';

/** What is shorter never waits: all of it that can be on its way at a time is little. */
const shortBytes = 256 * 1024;

/**
 * Does `work`, which reads the body, once there is room for that; undefined where the client has gone by then. `room` counts
 * bodies as they come over the wire; what is made of them takes some times as much. A body of more than `maxBytes` is not
 * read, and one of which nobody has said how long it is gets as much as it may need.
 */
export async function withBodyRoom<T>(
  room: ByteSemaphore,
  request: IncomingMessage,
  maxBytes: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const bytes = lengthOf(request) ?? maxBytes;
  if (bytes <= shortBytes || bytes > maxBytes) return await work();
  await room.take(bytes);
  try {
    return request.destroyed ? undefined : await work();
  } finally {
    room.giveBack(bytes);
  }
}

function lengthOf({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}
