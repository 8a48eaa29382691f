/** Reads of a shared batch that cannot use the local copy, waiting for the database, and jobs of runners that died. */
import { PostgresFailure, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import type { Attempt, Submitted, UnfinishedWriting } from '../../core/attempt.ts';
import { FatalFailure } from '../../core/failure.ts';
import {
  addBrought,
  type BatchSpending,
  type Brought,
  nothingBrought,
  nothingStated,
  type Pricing,
} from '../../core/spending.ts';
import type { OtherRunners, TakenOver } from '../../pipeline/ports.ts';
import {
  attemptOf,
  type AttemptRow,
  type HistoryRow,
  selectAttempts,
  withJob,
  writingOf,
} from '../attempt-records.ts';
import { broughtColumns, forgottenOf, forgottenQuery, latestQueries, spentSql } from '../read-totals.ts';
import type { GroupContext, Lease } from './lease.ts';
import { UnusableSchema } from './shared-schema.ts';

/** Reads the spending of all runners. `inFlight`: attempts that they have sent or are about to send. */
export async function readSharedSpending(
  session: PostgresSession,
  s: string,
  pricing: Partial<Pricing> | undefined,
): Promise<BatchSpending & { inFlight: number }> {
  const [row] = await session.query<
    Record<'jobs' | 'executed' | 'untold' | 'untimed' | 'lost' | 'open', number>
  >(
    `SELECT jobs, executed_ms AS executed, untold, untimed, lost,
       (SELECT count(*) FROM ${s}.attempts WHERE state IN ('intended', 'submitted')) AS open FROM ${s}.account`,
  );
  const { at, perPicture, perMegapixel, perSecondOfVideo } = pricing ?? {};
  const isByPicture = (perPicture ?? perMegapixel ?? perSecondOfVideo) !== undefined;
  const lost = row?.lost ?? 0;
  const latest = latestQueries(`${s}.`, at);
  const read = async (query: string): Promise<number[]> => {
    const rows = await session.query<{ value: number }>(query);
    return rows.map(({ value }) => value).toSorted((a, b) => a - b);
  };
  return {
    ...nothingStated,
    jobs: row?.jobs ?? 0,
    executedMs: row?.executed ?? 0,
    untold: row?.untold ?? 0,
    untimed: row?.untimed ?? 0,
    ...(isByPicture || at !== undefined
      ? { ...(await readSharedSums(session, s, lost, at)), brought: await readSharedPictures(session, s, at) }
      : { rendered: (row?.jobs ?? 0) - (row?.open ?? 0), brought: nothingBrought }),
    inFlight: row?.open ?? 0,
    times: await read(latest.times),
    prices: latest.prices === undefined ? [] : await read(latest.prices),
  };
}

type Sums = Pick<BatchSpending, 'executedMs' | 'untimed' | 'rendered' | 'statedJobs' | 'stated' | 'unstated'>;

/** Sums the attempts of the batch; reads every row. */
async function readSharedSums(
  session: PostgresSession,
  s: string,
  lost: number,
  at: string | undefined,
): Promise<Sums> {
  const [row] = await session.query<Sums & Record<string, number>>(
    `SELECT CAST("executedMs" AS bigint) AS "executedMs", untimed, rendered, "statedJobs", stated, unstated
     FROM (SELECT ${spentSql(`${s}.`, at).sums} FROM ${s}.attempts) AS sums`,
  );
  if (row === undefined) throw new Error('the database has answered nothing');
  return { ...row, untimed: lost + row.untimed, rendered: lost + row.rendered };
}

/** Sums the pictures of the batch; reads every row. */
async function readSharedPictures(
  session: PostgresSession,
  s: string,
  at: string | undefined,
): Promise<Brought> {
  const [brought = nothingBrought] = await session.query<Brought & Record<string, number>>(
    `SELECT ${broughtColumns.postgres} FROM ${s}.pictures WHERE ${spentSql(`${s}.`, at).isPicture}`,
  );
  const [forgotten] = await session.query<{ value: string }>(forgottenQuery(`${s}.`));
  return addBrought(brought, forgottenOf(forgotten?.value));
}

/** Reads attempts of a shared batch with scenes and history. `where`: SQL condition on `attempts a`. */
async function readAttemptRows(
  session: PostgresSession,
  schema: string,
  { where, order = 'a.attempt' }: { where: string; order?: string },
  values: unknown[],
): Promise<{ row: AttemptRow; attempt: Attempt }[]> {
  const rows = await session.query<AttemptRow>(
    `${selectAttempts(`${schema}.`)} WHERE ${where} ORDER BY ${order}`,
    values,
  );
  const later = rows.filter(({ number }) => number > 1).map(({ key }) => key);
  const history =
    later.length === 0
      ? []
      : await session.query<HistoryRow & { of: number }>(
          `SELECT a.attempt AS of, e.state, e.failure_kind AS "failureKind", e.failure_digest AS "failureDigest" FROM ${schema}.attempts a
           JOIN ${schema}.scenes s USING (scene) JOIN ${schema}.attempts e USING (scene)
           WHERE a.attempt = ANY($1) AND e.number < a.number AND e.number > s.counted_from ORDER BY e.number`,
          [later],
        );
  return rows.map((row) => ({
    row,
    attempt: attemptOf(
      row,
      history.filter(({ of }) => of === row.key),
    ),
  }));
}

/** Reads attempts that are recorded but perhaps not sent. `where`: a further SQL condition on `attempts a`. */
export async function readIntended(
  session: PostgresSession,
  schema: string,
  where: string,
  values: unknown[],
): Promise<Attempt[]> {
  const read = await readAttemptRows(session, schema, { where: `a.state = 'intended' AND ${where}` }, values);
  return read.map(({ attempt }) => attempt);
}

/** Reads the jobs in flight, the oldest submission first. `where`: a further SQL condition on `attempts a`. */
export async function readSubmitted(
  session: PostgresSession,
  schema: string,
  where: string,
  values: unknown[],
): Promise<Submitted[]> {
  const which = { where: `a.state = 'submitted' AND ${where}`, order: 'a.submitted_at' };
  const read = await readAttemptRows(session, schema, which, values);
  return read.map(({ row, attempt }) => withJob(attempt, row));
}

/** Reads attempts whose pictures were being written. `where`: a further SQL condition on `attempts a`. */
export async function readWritings(
  session: PostgresSession,
  schema: string,
  where: string,
  values: unknown[],
): Promise<UnfinishedWriting[]> {
  const which = { where: `a.writing IS NOT NULL AND ${where}` };
  const read = await readAttemptRows(session, schema, which, values);
  return read.map(({ row, attempt }) => writingOf(withJob(attempt, row), row));
}

/** Returns errors of the database as `FatalFailure`, and any other error unchanged, because it is a bug. */
export function asFatalDatabaseFailure(error: unknown): unknown {
  if (error instanceof UnusableSchema)
    return new FatalFailure({ kind: 'output-unwritable', text: error.message });
  if (!(error instanceof PostgresFailure)) return error;
  return new FatalFailure({
    kind: 'output-unwritable',
    text: `${error.message}; fix that, then start the run again`,
  });
}

/** Takes over what runners that died left behind while this run goes on. */
export class Orphans implements OtherRunners {
  readonly #context: Pick<GroupContext, 'db' | 'schema' | 'run'>;
  readonly #lease: Lease;
  readonly #read: <T>(work: () => Promise<T>) => Promise<T>;
  /** Keys of attempts. */
  #left: number[] = [];
  #wake: (() => void) | undefined;
  #isTaking = false;

  /** `read` waits while the database does not answer. */
  constructor(
    { lease, ...context }: Pick<GroupContext, 'db' | 'schema' | 'run' | 'lease'>,
    read: <T>(work: () => Promise<T>) => Promise<T>,
  ) {
    this.#context = context;
    this.#lease = lease;
    this.#read = read;
    lease.on({
      onAdopted: (attempts) => {
        this.#left.push(...attempts);
        this.#wake?.();
      },
    });
  }

  /** True if some of them are not in flight here yet. */
  get isBusy(): boolean {
    return this.#isTaking || this.#left.length > 0;
  }

  async takeOver(signal: AbortSignal): Promise<TakenOver | undefined> {
    this.#isTaking = false;
    // The start of the run finds what was left before the first call.
    this.#lease.isAdopting = !signal.aborted;
    while (this.#left.length === 0) {
      if (signal.aborted) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      this.#lease.isAdopting = !signal.aborted;
    }
    this.#isTaking = true;
    const keys = this.#left.splice(0);
    const { db, schema, run } = this.#context;
    const where = 'a.owner = $1 AND a.attempt = ANY($2)';
    return {
      writing: await this.#read(() => readWritings(db, schema, where, [run, keys])),
      intended: await this.#read(() => readIntended(db, schema, where, [run, keys])),
      submitted: () => this.#read(() => readSubmitted(db, schema, where, [run, keys])),
    };
  }

  listen(listener: Parameters<OtherRunners['listen']>[0]): void {
    this.#lease.on(listener);
  }
}
