/** Reads a batch in numbers, and its latest runs, picture and failure. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchNumbers, BatchSummary, RunRecord, RunSpan } from '../core/scene-record.ts';
import { batchCost } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { sceneNameOf } from '../core/naming.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { JobWord } from '../core/service-description.ts';
import { readBatch } from './batch-identity.ts';
import { readPart } from './due-scenes.ts';
import { hasList } from './recorded-pictures.ts';
import { readAttemptStates, readCounts, readSpending } from './read-totals.ts';
import { storedJson } from './damage.ts';
import type { EndedAttempt } from '../core/ending.ts';

/** Yields to the event loop between queries, because a million scenes take seconds. Throws the reason of `signal`. */
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

/** Reads all numbers that need no sorting, without yielding to the event loop. */
export function readNumbers(db: Database): BatchNumbers {
  const attempts = readAttemptCounts(db);
  return {
    scenes: readCounts(db),
    ...readSavedTotals(db),
    attempts,
    cost: readCost(db, attempts.submitted),
    failures: readFailures(db),
    held: readHeld(db),
    part: readPart(db),
    lastRun: readLastRun(db),
  };
}

export function readSavedTotals(db: Database): Pick<BatchNumbers, 'pictures' | 'files'> {
  const isPicture = 'label IS NULL';
  // The kept part of a worker's output may contain such a key too, so the JSON decides.
  const has = (key: string, filter = ''): string =>
    `count(CASE WHEN instr(output, '"${key}":') > 0 AND json_valid(output) THEN json_type(output, '$.${key}') END)${filter}`;
  const sums = db.prepare<[], number[]>(
    `SELECT count(*), coalesce(sum(bytes), 0), count(*) FILTER (WHERE ${isPicture}),
       coalesce(sum(bytes) FILTER (WHERE ${isPicture}), 0),
       count(*) FILTER (WHERE ${hasList('labelled_words', true)}),
       count(*) FILTER (WHERE ${hasList('ignored_words', true)}),
       ${has('odd')}, ${has('isCut')}, ${has('clip', ` FILTER (WHERE ${isPicture})`)} FROM pictures`,
  );
  const [files = 0, bytes = 0, pictures = 0, pictureBytes = 0, ...told] = sums.raw().get() ?? [];
  const [labelled = 0, ignored = 0, odd = 0, cut = 0, clips = 0] = told;
  return {
    pictures: {
      files: pictures,
      bytes: pictureBytes,
      ...(clips > 0 && { clips }),
      ...(labelled + ignored > 0 && { labelled, ignored }),
      ...(odd + cut > 0 && { odd, cut }),
    },
    ...(files > pictures && { files: { files: files - pictures, bytes: bytes - pictureBytes } }),
  };
}

function readCost(db: Database, inFlight: number): BatchNumbers['cost'] {
  const pricing = readBatch(db)?.pricing;
  return pricing === undefined ? null : batchCost(readSpending(db, pricing.at), inFlight, pricing);
}

/** Counts attempts by state. Intended attempts may have been sent, so they count as submitted. */
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
             FROM attempts WHERE failure_kind IS NOT NULL AND state <> 'submitted' GROUP BY failure_kind)
       ORDER BY attempts DESC, kind`,
    )
    .all();
}

/** Counts the jobs in flight whose results wait for a changed setting, by kind of failure. */
function readHeld(db: Database): BatchNumbers['held'] {
  return db
    .prepare<[], BatchNumbers['held'][number]>(
      `SELECT failure_kind AS kind, count(*) AS results, count(CASE WHEN failure_digest LIKE '%@%' THEN 1 END) AS kept,
         max(failure_text) AS lastText
       FROM attempts WHERE state = 'submitted' AND failure_kind IS NOT NULL GROUP BY failure_kind ORDER BY results DESC, kind`,
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

/** Null if the service reported no times. */
interface Medians {
  medianDelayTimeMs: number | null;
  medianExecutionTimeMs: number | null;
}

/** Rows per turn of the event loop. */
const pageRows = 10_000;

/** Sorts here, because SQLite would block the event loop. The unary plus avoids the index of states. */
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

/** Holds many numbers in little memory. */
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

  /** Returns the lower one of two middle values; null if there are no values. */
  median(): number | null {
    const sorted = this.#all.subarray(0, this.#count).toSorted();
    return sorted[Math.floor((this.#count - 1) / 2)] ?? null;
  }
}

const columns = 'run, pid, host, started_at AS startedAt, ended_at AS endedAt, exit_code AS exitCode, ending';

function readLastRun(db: Database): RunRecord | null {
  const [span] = readRuns(db, 1);
  if (span === undefined) return null;
  const stats = db
    .prepare<[number], string | null>('SELECT stats FROM runs WHERE run = ?')
    .pluck()
    .get(span.run);
  return { ...span, stats: typeof stats === 'string' ? (storedJson(stats, 'a run') as RunStats) : null };
}

/** Returns the latest runs, oldest first. */
export function readRuns(db: Database, limit: number): RunSpan[] {
  return db
    .prepare<[number], RunSpan>(`SELECT ${columns} FROM runs ORDER BY run DESC LIMIT ?`)
    .all(limit)
    .toReversed();
}

/** Counts the jobs in flight by the status that the service last reported. */
export function readWords(db: Database): JobWord[] {
  return db
    .prepare<[], JobWord>(
      `SELECT status AS word, count(*) AS jobs FROM attempts
       WHERE state = 'submitted' AND status IS NOT NULL GROUP BY status`,
    )
    .all();
}

interface Latest {
  /** The newest picture, relative to the images folder. */
  picture: string | undefined;
  trouble: LatestFailure | undefined;
}

interface LatestFailure {
  sceneId: string;
  /** Present if the list has no ids. */
  prompt?: string;
  kind: string;
  text: string;
  at: number;
}

/** Number of newest attempts to search. Attempts settle in about the order in which they begin. */
const latestAttempts = 5_000;

/** Runs in constant time: reads a limited number of attempts. A job whose result waits has a failure, but no end yet. */
export function readLatest(db: Database): Latest {
  const picture = db
    .prepare<[], string>('SELECT file FROM pictures WHERE number = 1 ORDER BY picture DESC LIMIT 1')
    .pluck()
    .get();
  const found = db
    .prepare<[number], LatestFailure & { columns: string }>(
      `SELECT s.id AS sceneId, s.columns, l.failure_kind AS kind, coalesce(l.failure_text, '') AS text, l.settled_at AS at
       FROM (SELECT scene, failure_kind, failure_text, settled_at FROM attempts ORDER BY attempt DESC LIMIT ?) l
       JOIN scenes s USING (scene) WHERE l.failure_kind IS NOT NULL AND l.settled_at IS NOT NULL ORDER BY l.settled_at DESC LIMIT 1`,
    )
    .get(latestAttempts);
  return { picture, trouble: found && withPrompt(found) };
}

function withPrompt({ columns: row, ...trouble }: LatestFailure & { columns: string }): LatestFailure {
  const { sceneId } = trouble;
  const read = storedJson(row, `scene ${sceneId}`) as JsonObject;
  const { prompt } = sceneNameOf({ sceneId, input: {}, columns: read });
  return { ...trouble, ...(prompt !== undefined && { prompt }) };
}

/** Returns the latest settled attempts, in no order. Reads a limited number of attempts. */
export function readEnded(db: Database): EndedAttempt[] {
  return db
    .prepare<[number], Omit<EndedAttempt, 'hasFinished'> & { hasFinished: number }>(
      `SELECT l.settled_at AS at, l.submitted_at AS submittedAt, l.execution_time_ms AS executionTimeMs,
         l.state = 'saved' OR EXISTS (SELECT 1 FROM scenes s
           WHERE s.scene = l.scene AND s.state = 'failed' AND s.attempts = l.number) AS hasFinished
       FROM (SELECT scene, number, state, submitted_at, settled_at, execution_time_ms
             FROM attempts ORDER BY attempt DESC LIMIT ?) l
       WHERE l.settled_at IS NOT NULL`,
    )
    .all(latestAttempts)
    .map((row) => ({ ...row, hasFinished: row.hasFinished === 1 }));
}

/** Returns the start of the first run (epoch ms) and the number of the latest one; undefined before the first. */
export function readRunRange(db: Database): { begunAt: number; run: number } | undefined {
  const range = 'SELECT min(started_at) AS begunAt, max(run) AS run FROM runs HAVING count(*) > 0';
  return db.prepare<[], { begunAt: number; run: number }>(range).get();
}

/** True if a run of this process has not ended. */
export function hasRunOf(db: Database, { pid, host }: { pid: number; host: string }): boolean {
  const own = 'SELECT 1 FROM runs WHERE pid = ? AND host = ? AND ended_at IS NULL';
  return db.prepare(own).get(pid, host) !== undefined;
}

export function hasEndedRun(db: Database, { host, program }: { host: string; program: string }): boolean {
  const ended = 'SELECT 1 FROM runs WHERE host = ? AND program = ? AND ended_at IS NOT NULL';
  return db.prepare(ended).get(host, program) !== undefined;
}
