/** Limits of memory and time: bytes in use at the same time, bytes that arrive in chunks, and work that takes too long. */

interface Waiting {
  bytes: number;
  enter: () => void;
}

/** Limits the bytes in use at the same time, such as long bodies. First come, first served. */
export class ByteSemaphore {
  readonly limit: number;
  #taken = 0;
  readonly #waiting = new Set<Waiting>();

  /** A request for more than `limit` bytes is admitted alone. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes the bytes if they are available now. Returns false otherwise. */
  tryTake(bytes: number): boolean {
    if (this.#waiting.size > 0 || !this.#fits(bytes)) return false;
    this.#taken += bytes;
    return true;
  }

  /** Resolves to true once the bytes are taken, and to false if `signal` aborts before. */
  async take(bytes: number, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.tryTake(bytes)) return true;
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        resolve(false);
        this.#admit();
      };
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve(true);
      };
      const waiting = { bytes, enter };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiting);
    });
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
    this.#admit();
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.limit;
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) return;
      this.#waiting.delete(waiting);
      this.#taken += waiting.bytes;
      waiting.enter();
    }
  }
}

/** Shorter bodies are joined at the end, because an announced body may never be sent. */
const longBytes = 1024 * 1024;

export class JoinedBytes {
  /** Buffer for the whole body. Joining a long body at its end would take twice the memory, and block for long. */
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  byteCount = 0;

  /** `announced`: maximum number of bytes to come; undefined if it is unknown. */
  constructor(announced?: string | number) {
    if (Number(announced) >= longBytes) this.#whole = Buffer.allocUnsafeSlow(Number(announced));
  }

  add(chunk: Buffer): void {
    if (this.#whole === undefined) this.#chunks.push(chunk);
    else chunk.copy(this.#whole, this.byteCount);
    this.byteCount += chunk.length;
  }

  /** Returns all bytes and empties the buffer. */
  take(): Buffer {
    const whole = this.#whole?.subarray(0, this.byteCount) ?? Buffer.concat(this.#chunks, this.byteCount);
    this.clear();
    return whole;
  }

  clear(): void {
    this.#whole = undefined;
    this.#chunks = [];
  }
}

/**
 * Passes the work a signal that aborts with `signal`, or after `ms` with a `TimeoutError`. Not by
 * `AbortSignal.timeout` inside `AbortSignal.any`, which Node 20 loses at the next garbage collection.
 */
export async function withTimeLimit<Result>(
  ms: number,
  signal: AbortSignal,
  work: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = new AbortController();
  const end = (): void => limit.abort(signal.reason);
  const timer = setTimeout(
    () => limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    ms,
  );
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
