/** A batch in numbers, read from the checkpoint. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchNumbers, BatchSummary } from '../core/report-row.ts';
import { batchCost } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readBatch } from './batch-identity.ts';
import { readPart } from './chosen-part.ts';
import { readAttemptStates, readCounts } from './read-counts.ts';
import { readLastRun } from './read-runs.ts';
import { readSpending } from './read-spending.ts';

/** With turns of the event loop in it: at a million scenes it takes seconds. Throws the reason of `signal`. */
export async function readSummary(db: Database, signal: AbortSignal): Promise<BatchSummary> {
  const breathe = async (): Promise<void> => {
    await nextTurn();
    signal.throwIfAborted();
  };
  const numbers = readNumbers(db);
  await breathe();
  const span = readSpan(db);
  await breathe();
  const medians = await readMedians(db, breathe);
  return { ...numbers, times: { ...span, ...medians } };
}

/** Quick at any size. */
export function readNumbers(db: Database): BatchNumbers {
  const pictures = db.prepare<[], BatchNumbers['pictures']>(
    'SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM pictures',
  );
  const attempts = readAttemptCounts(db);
  return {
    scenes: readCounts(db),
    pictures: pictures.get() ?? { files: 0, bytes: 0 },
    attempts,
    cost: readCost(db, attempts.submitted),
    failures: readFailures(db),
    part: readPart(db),
    lastRun: readLastRun(db),
  };
}

function readCost(db: Database, inFlight: number): BatchNumbers['cost'] {
  const pricing = readBatch(db)?.pricing;
  return pricing === undefined ? null : batchCost(readSpending(db), inFlight, pricing);
}

/** What was intended may have been sent: it counts as submitted. */
function readAttemptCounts(db: Database): BatchSummary['attempts'] {
  const { intended, ...states } = readAttemptStates(db);
  const { saved, failed, unanswered, expired, refused } = states;
  const total = Object.values(states).reduce((sum, n) => sum + n, intended);
  return { total, submitted: states.submitted + intended, saved, failed, unanswered, expired, refused };
}

function readFailures(db: Database): BatchSummary['failures'] {
  return db
    .prepare<[], BatchSummary['failures'][number]>(
      `SELECT kind, attempts, (SELECT failure_text FROM attempts WHERE attempt = last) AS lastText
       FROM (SELECT failure_kind AS kind, count(*) AS attempts, max(attempt) AS last
             FROM attempts WHERE failure_kind IS NOT NULL GROUP BY failure_kind)
       ORDER BY attempts DESC, kind`,
    )
    .all();
}

type Span = Pick<BatchSummary['times'], 'firstSubmittedAt' | 'lastSavedAt' | 'executionTimeMs'>;

function readSpan(db: Database): Span {
  const span = db
    .prepare<[], Span>(
      `SELECT min(submitted_at) AS firstSubmittedAt,
         max(CASE WHEN state = 'saved' THEN settled_at END) AS lastSavedAt,
         coalesce(sum(CASE WHEN state = 'saved' THEN execution_time_ms END), 0) AS executionTimeMs
       FROM attempts`,
    )
    .get();
  return span ?? { firstSubmittedAt: null, lastSavedAt: null, executionTimeMs: 0 };
}

/** Null where the service told none. */
interface Medians {
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
