/** Room in memory for the long bodies of requests: each is read once there is room, in the order in which they come. */
import { withTimeLimit } from '../../lib/limits/time-limit.ts';
import type { IncomingMessage } from 'node:http';
import { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import { type HttpResponse, tooMany } from '../../lib/http/http-response.ts';

/** What is shorter never waits: all of it that can be on its way at a time is little. */
const shortBytes = 256 * 1024;

export class BodyRoom {
  readonly #room: ByteSemaphore;
  readonly #waitMs: number;

  /** `maxBytes` counts bodies as they come over the wire; what is made of them takes some times as much. */
  constructor(maxBytes: number, waitMs: number) {
    this.#room = new ByteSemaphore(maxBytes);
    this.#waitMs = waitMs;
  }

  /**
   * Does `work`, which reads the body, once there is room for that; undefined where the client has gone by then. A body of
   * more than `maxBytes` is not read, and one of which nobody has said how long it is gets as much as it may need.
   */
  async use<T>(
    { request, gone }: { request: IncomingMessage; gone: AbortSignal },
    maxBytes: number,
    work: () => Promise<T>,
  ): Promise<T | HttpResponse | undefined> {
    const bytes = lengthOf(request) ?? maxBytes;
    if (bytes <= shortBytes || bytes > maxBytes) return await work();
    if (!this.#room.tryTake(bytes)) {
      const isTaken = await withTimeLimit(this.#waitMs, gone, (signal) => this.#room.take(bytes, signal));
      if (!isTaken) return gone.aborted ? undefined : crowded;
    }
    try {
      return gone.aborted ? undefined : await work();
    } finally {
      this.#room.giveBack(bytes);
    }
  }
}

const crowded = tooMany('too many long uploads at once; nothing was done, send it again later', 10_000);

function lengthOf({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}
