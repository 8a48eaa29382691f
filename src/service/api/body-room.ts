/** Limits the memory for long request bodies. Each body is read when there is room for it, in order of arrival. */
import { withTimeLimit } from '../../lib/limits/time-limit.ts';
import type { IncomingMessage } from 'node:http';
import { ByteSemaphore } from '../../lib/limits/byte-semaphore.ts';
import { type HttpResponse, tooMany } from '../../lib/http/http-response.ts';

/** Shorter bodies never wait, because all of them together use little memory. */
const shortBytes = 256 * 1024;

export class BodyRoom {
  readonly #room: ByteSemaphore;
  readonly #waitMs: number;

  /** `maxBytes` counts bodies as sent. Parsing them takes several times as much memory. */
  constructor(maxBytes: number, waitMs: number) {
    this.#room = new ByteSemaphore(maxBytes);
    this.#waitMs = waitMs;
  }

  /**
   * Runs `work`, which reads the body, when there is room for the body. Returns undefined if the client has disconnected
   * by then, or a refusal after the wait. A body of unknown length takes room for `maxBytes`. A body that is longer than
   * `maxBytes` takes none, because `work` refuses it unread.
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
