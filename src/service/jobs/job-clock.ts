/** Clock that measures the ages of jobs. It runs evenly even if the system clock is set or the machine sleeps. */
import type { Database } from '../../lib/sqlite/database.ts';
import { formatDuration } from '../../lib/text/format.ts';

interface SystemClocks {
  /** System clock, epoch ms. */
  wall: () => number;
  /** Monotonic clock, ms. */
  elapsed: () => number;
}

/** Smaller differences between the two clocks are rounding errors. */
const minStepMs = 1_000;

export class JobClock {
  readonly #clocks: SystemClocks;
  readonly #isShared: boolean;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #anchor: number;
  /** Difference between the system clock and this one in ms, as stored. */
  #keptAheadMs: number;

  /**
   * Continues where the last run ended, from the stored difference to the system clock. `isShared`: the next start
   * may be on another machine with a different clock, so no difference is stored.
   */
  constructor(db: Database, clocks: SystemClocks, isShared: boolean) {
    this.#clocks = clocks;
    this.#isShared = isShared;
    this.#sql = prepareStatements(db);
    this.#keptAheadMs = isShared ? 0 : (this.#sql.kept.get()?.aheadMs ?? 0);
    this.#anchor = clocks.wall() - this.#keptAheadMs - clocks.elapsed();
  }

  /** Returns the time in whole epoch ms. It never jumps. */
  readonly now = (): number => Math.floor(this.#anchor + this.#clocks.elapsed());

  /** Movement of the system clock in ms since it was last stored; 0 if it runs evenly. */
  get stepMs(): number {
    const ms = this.#isShared ? 0 : this.#aheadMs - this.#keptAheadMs;
    return Math.abs(ms) < minStepMs ? 0 : ms;
  }

  /** Stores the difference to the system clock for the next start. Call this inside a transaction. */
  keepStep(): void {
    const aheadMs = this.#aheadMs;
    this.#sql.keep.run(aheadMs);
    this.#keptAheadMs = aheadMs;
  }

  /** Follows the system clock again if the store has no jobs. Call this inside a transaction. */
  restartIfUnused(): void {
    if (this.#keptAheadMs === 0 || this.#sql.hasJobs.get() !== undefined) return;
    this.#anchor = this.#clocks.wall() - this.#clocks.elapsed();
    this.keepStep();
  }

  get #aheadMs(): number {
    return Math.round(this.#clocks.wall() - this.#anchor - this.#clocks.elapsed());
  }
}

export function stepText(ms: number): string {
  const way = ms > 0 ? 'forward' : 'back';
  return `the system clock moved ${way} by ${formatDuration(Math.abs(ms))}; the ages of jobs are not affected`;
}

function prepareStatements(db: Database) {
  return {
    kept: db.prepare<[], { aheadMs: number }>('SELECT aheadMs FROM clock'),
    keep: db.prepare<[ms: number]>('UPDATE clock SET aheadMs = ?'),
    hasJobs: db.prepare<[], { one: 1 }>('SELECT 1 AS one FROM job LIMIT 1'),
  };
}
