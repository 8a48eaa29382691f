/** Room in memory for the long bodies of requests: each is read once there is room, in the order in which they come. */
import type { IncomingMessage } from 'node:http';

/** What is shorter never waits: all of it that can be on its way at a time is little. */
const shortBytes = 256 * 1024;

interface Waiting {
  bytes: number;
  enter: () => void;
}

export class BodyRoom {
  readonly #bytes: number;
  #taken = 0;
  readonly #waiting: Waiting[] = [];

  /** `bytes` of bodies as they come over the wire; what is made of them takes some times as much. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /**
   * Does `work`, which reads the body, once there is room for that; undefined where the client has gone by then. A body
   * of more than `maxBytes` is not read, one that is larger than all of the room gets it alone, and one of which nobody
   * has said how long it is gets as much as it may need.
   */
  async within<T>(
    request: IncomingMessage,
    maxBytes: number,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    const bytes = lengthOf(request) ?? maxBytes;
    if (bytes <= shortBytes || bytes > maxBytes) return await work();
    await this.#enter(bytes);
    try {
      return request.destroyed ? undefined : await work();
    } finally {
      this.#taken -= bytes;
      this.#letIn();
    }
  }

  #enter(bytes: number): Promise<void> {
    return new Promise((enter) => {
      this.#waiting.push({ bytes, enter });
      this.#letIn();
    });
  }

  #letIn(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || (this.#taken > 0 && this.#taken + first.bytes > this.#bytes)) return;
      this.#waiting.shift();
      this.#taken += first.bytes;
      first.enter();
    }
  }
}

function lengthOf({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}
