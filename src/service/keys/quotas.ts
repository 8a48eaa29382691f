/** Refuses submissions of keys whose jobs have taken their time of the day. */
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { type HttpResponse, tooMany } from '../http/http-response.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { KeyHolder } from './key.ts';

const dayMs = 86_400_000;

export class Quotas {
  readonly #used: (keyId: string, day: number) => number;
  readonly #now: () => number;

  /** `now`: that of `JobClock`, epoch ms. */
  constructor({ file: { db } }: JobStore, now: () => number) {
    const used = db.prepare<[string, number], { ms: number }>(
      'SELECT coalesce(sum(dayMs), 0) AS ms FROM usage WHERE keyId = ? AND day = ?',
    );
    this.#used = (keyId, day) => used.get(keyId, day)?.ms ?? 0;
    this.#now = now;
  }

  /** Execution time, in ms, of the jobs that ended today (UTC). */
  usedToday(keyId: string): number {
    return this.#used(keyId, Math.floor(this.#now() / dayMs));
  }

  /** Undefined where it may submit. */
  refusal({ id, name, quotaMs }: KeyHolder): HttpResponse | undefined {
    if (quotaMs === null || this.usedToday(id) < quotaMs) return undefined;
    const now = this.#now();
    const next = (Math.floor(now / dayMs) + 1) * dayMs;
    const text = `the key ${name} has used its quota of ${durationText(quotaMs)} of execution time a day; it begins anew at ${new Date(next).toISOString()}`;
    return tooMany(text, next - now);
  }
}
