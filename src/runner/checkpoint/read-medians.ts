/** The middle of the times that the saved jobs took. */
import type { Database } from '../../lib/sqlite/database.ts';

/** Null where the service told none. */
export interface Medians {
  medianDelayTimeMs: number | null;
  medianExecutionTimeMs: number | null;
}

/** Rows between two turns of the event loop. */
const pageRows = 10_000;

/**
 * Sorted here: SQLite takes long to sort a million, and lets nobody else do anything meanwhile. The plus keeps it from
 * going through the index of states, which is in another order.
 */
export async function readMedians(db: Database, breathe: () => Promise<void>): Promise<Medians> {
  const page = db
    .prepare<[number], [attempt: number, delayMs: number | null, executionMs: number | null]>(
      `SELECT attempt, delay_time_ms, execution_time_ms FROM attempts
       WHERE attempt > ? AND +state = 'saved' ORDER BY attempt LIMIT ${pageRows}`,
    )
    .raw();
  const delays = new Times();
  const executions = new Times();
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.[0] ?? 0)) {
    for (const [, delayMs, executionMs] of rows) {
      if (delayMs !== null) delays.add(delayMs);
      if (executionMs !== null) executions.add(executionMs);
    }
    await breathe();
  }
  return { medianDelayTimeMs: delays.median(), medianExecutionTimeMs: executions.median() };
}

/** Many numbers in little memory. */
class Times {
  #all = new Float64Array(pageRows);
  #count = 0;

  add(ms: number): void {
    if (this.#count === this.#all.length) {
      const more = new Float64Array(2 * this.#count);
      more.set(this.#all);
      this.#all = more;
    }
    this.#all[this.#count] = ms;
    this.#count += 1;
  }

  /** The lower one of two in the middle; null where there is none. */
  median(): number | null {
    const sorted = this.#all.subarray(0, this.#count).toSorted();
    return sorted[Math.floor((this.#count - 1) / 2)] ?? null;
  }
}
