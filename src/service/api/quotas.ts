/** Limits on what each key may ask for: quotas, rates, turns of clients, and room in memory for bodies. */
import type { IncomingMessage } from 'node:http';
import { type HttpResponse, refusal, tooMany } from '../../lib/http/http-response.ts';
import { ByteSemaphore, withTimeLimit } from '../../lib/limits.ts';
import { durationText, sizeText } from '../../lib/yaml/scalar-schemas.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { KeyHolder } from '../model/key.ts';

const dayMs = 86_400_000;

/** Suggested wait after which some jobs may have ended. */
const retryMs = 10_000;

export class Quotas {
  readonly #usage: JobStore['usage'];
  readonly #now: () => number;

  /** `now`: clock of `JobClock`, epoch ms. */
  constructor({ usage }: Pick<JobStore, 'usage'>, now: () => number) {
    this.#usage = usage;
    this.#now = now;
  }

  /** Returns the execution time, in ms, of a key's jobs that ended today (UTC). */
  usedToday(keyId: string): number {
    return this.#usage.msOn(keyId, Math.floor(this.#now() / dayMs));
  }

  /** Returns a refusal if the key may not queue `bytes` of input. `askedMs`: timeout that it asks for, or 0. */
  refusal({ id, name, quotaMs, limits }: KeyHolder, bytes = 0, askedMs = 0): HttpResponse | undefined {
    const { maxQueued, maxQueuedBytes } = limits;
    if (quotaMs === null && maxQueued === null && maxQueuedBytes === null) return undefined;
    const { queued, queuedBytes, openMs } = this.#usage.open(id);
    if (maxQueued !== null && queued >= maxQueued)
      return tooMany(`the key ${name} has ${queued} jobs in the queue, its maximum`, retryMs);
    if (maxQueuedBytes !== null && queuedBytes + bytes > maxQueuedBytes) {
      const most = `the key ${name} may have ${sizeText(maxQueuedBytes)} of inputs in the queue`;
      if (bytes > maxQueuedBytes) return refusal(400, `${most}, and this one has ${bytes} bytes`);
      return tooMany(`${most}, and has ${queuedBytes} bytes`, retryMs);
    }
    return quotaMs === null ? undefined : this.#overQuota({ id, name, quotaMs }, openMs, askedMs);
  }

  /** Checks the day's quota. Open jobs count with their timeout (`openMs`); a given timeout must fit the rest. */
  #overQuota(
    { id, name, quotaMs }: { id: string; name: string; quotaMs: number },
    openMs: number,
    askedMs: number,
  ): HttpResponse | undefined {
    const usedMs = this.usedToday(id);
    const quota = `its quota of ${durationText(quotaMs)} of execution time a day`;
    if (askedMs > quotaMs) {
      const asked = durationText(Math.ceil(askedMs / 1_000) * 1_000);
      const most = `the key ${name} has a quota of ${durationText(quotaMs)} a day`;
      return refusal(400, `the job asks for an execution timeout of ${asked}, and ${most}`);
    }
    if (usedMs + openMs < quotaMs && usedMs + openMs + askedMs <= quotaMs) return undefined;
    if (usedMs < quotaMs) {
      const open = durationText(Math.ceil(openMs / 1_000) * 1_000);
      const text = `the jobs of the key ${name} that wait or run may take ${open} by their execution timeouts, which uses up the rest of ${quota}; submit more when some have ended`;
      return tooMany(text, retryMs);
    }
    const now = this.#now();
    const next = (Math.floor(now / dayMs) + 1) * dayMs;
    const text = `the key ${name} has used ${quota}; the next quota begins at ${new Date(next).toISOString()}`;
    return tooMany(text, next - now);
  }
}

export interface Rate {
  requests: number;
  withinMs: number;
}

interface Bucket {
  left: number;
  filledAt: number;
}

/** Token-bucket rate limit with one bucket for each caller. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Counts one request and returns 0, or returns the ms to wait if the limit is reached. `nowMs` is monotonic. */
  take(who: string, nowMs: number, { requests, withinMs } = this.#rate): number {
    const bucket = this.#buckets.get(who) ?? { left: requests, filledAt: nowMs };
    bucket.left = Math.min(requests, bucket.left + ((nowMs - bucket.filledAt) * requests) / withinMs);
    bucket.filledAt = nowMs;
    this.#buckets.set(who, bucket);
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * withinMs) / requests);
    bucket.left -= 1;
    return 0;
  }
}

/** Submissions accepted at once. Workers wait for those in the same group of writes: 256 take 80 ms. */
const atOnce = 8;

/** Time after the last request of a worker at which the limit ends, because accepting all at once is faster. */
const shareMs = 1_000;

/** Keeps the service fast for workers: while they send requests, only a few submissions are accepted at a time. */
export class ClientTurns {
  #active = 0;
  readonly #waiting: (() => void)[] = [];
  #workerAt = -Infinity;

  noteWorker(): void {
    this.#workerAt = performance.now();
  }

  async use<T>(accept: () => Promise<T>): Promise<T> {
    if (this.#hasRoom) this.#active += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await accept();
    } finally {
      this.#active -= 1;
      while (this.#waiting.length > 0 && this.#hasRoom) {
        this.#active += 1;
        this.#waiting.shift()?.();
      }
    }
  }

  get #hasRoom(): boolean {
    return this.#active < atOnce || performance.now() - this.#workerAt > shareMs;
  }
}

/** Shorter bodies never wait, because all of them together use little memory. */
const shortBytes = 256 * 1024;

/** Limits the memory for long request bodies. Each body is read when there is room for it, in order of arrival. */
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
