/** The clock that the ages of jobs are counted by: it runs on evenly while the system clock is set, or the machine sleeps. */
import type { Database } from '../../lib/sqlite/database.ts';
import { formatDuration } from '../../lib/text/format.ts';

interface SystemClocks {
  /** The system clock, epoch ms. */
  wall: () => number;
  /** The monotonic clock, ms. */
  elapsed: () => number;
}

/** Smaller differences between the two clocks are rounding. */
const leastStepMs = 1_000;

export class JobClock {
  readonly #clocks: SystemClocks;
  readonly #isShared: boolean;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #anchor: number;
  /** How far the system clock is ahead of this one, as the store has it. */
  #keptAheadMs: number;

  /**
   * Continues where the last run was: the store says how far the system clock was ahead by then. `isShared`: the next
   * start may be on another machine, with a system clock of its own.
   */
  constructor(db: Database, clocks: SystemClocks, isShared: boolean) {
    this.#clocks = clocks;
    this.#isShared = isShared;
    this.#sql = prepareStatements(db);
    this.#keptAheadMs = isShared ? 0 : (this.#sql.kept.get()?.aheadMs ?? 0);
    this.#anchor = clocks.wall() - this.#keptAheadMs - clocks.elapsed();
  }

  /** Epoch ms, a whole number. It never jumps. */
  readonly now = (): number => Math.floor(this.#anchor + this.#clocks.elapsed());

  /** How far the system clock has moved since that was kept; 0 if it runs evenly. */
  get stepMs(): number {
    const ms = this.#isShared ? 0 : this.#aheadMs - this.#keptAheadMs;
    return Math.abs(ms) < leastStepMs ? 0 : ms;
  }

  /** Keeps how far the system clock is ahead, for the next start. Belongs into a transaction. */
  keepStep(): void {
    const aheadMs = this.#aheadMs;
    this.#sql.keep.run(aheadMs);
    this.#keptAheadMs = aheadMs;
  }

  /** Follows the system clock anew if there is no job that has an age. Belongs into a transaction. */
  restartIfUnused(): void {
    if (this.#keptAheadMs === 0 || this.#sql.hasJobs.get() !== undefined) return;
    this.#anchor = this.#clocks.wall() - this.#clocks.elapsed();
    this.keepStep();
  }

  get #aheadMs(): number {
    return Math.round(this.#clocks.wall() - this.#anchor - this.#clocks.elapsed());
  }
}

/** For people. */
export function stepText(ms: number): string {
  const way = ms > 0 ? 'forward' : 'back';
  return `the system clock moved ${way} by ${formatDuration(Math.abs(ms))}; the ages of jobs go on as before`;
}

function prepareStatements(db: Database) {
  return {
    kept: db.prepare<[], { aheadMs: number }>('SELECT aheadMs FROM clock'),
    keep: db.prepare<[ms: number]>('UPDATE clock SET aheadMs = ?'),
    hasJobs: db.prepare<[], { one: 1 }>('SELECT 1 AS one FROM job LIMIT 1'),
  };
}
