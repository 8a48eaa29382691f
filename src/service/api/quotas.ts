/** Refuses submissions of keys that exceed their execution time of the day, or their share of the queue. */
import { durationText, sizeText } from '../../lib/yaml/scalar-schemas.ts';
import { type HttpResponse, refusal, tooMany } from '../../lib/http/http-response.ts';
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

  /**
   * Returns a refusal if the key may not queue a job with an input of `bytes`; undefined if it may. `askedMs`: execution
   * timeout that the submission asks for, 0 if none.
   */
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

  /**
   * Checks the quota of the day. Jobs that wait or run count with their execution timeout (`openMs`). A submission with
   * its own timeout must fit into the rest. Without one, it is accepted if anything is left.
   */
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
