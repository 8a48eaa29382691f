/** Reads attempts of a shared batch, with their scenes and their history. */
import type { Attempt, Submitted } from '../../core/attempt.ts';
import type { UnfinishedWriting } from '../../core/settlement.ts';
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';
import {
  attemptOf,
  withJob,
  writingOf,
  selectAttempts,
  type AttemptRow,
  type HistoryRow,
} from '../attempt-records.ts';

/** `where` is a condition on `attempts a`, and `order` its sort order. */
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

export async function readIntended(
  session: PostgresSession,
  schema: string,
  where: string,
  values: unknown[],
): Promise<Attempt[]> {
  const read = await readAttemptRows(session, schema, { where: `a.state = 'intended' AND ${where}` }, values);
  return read.map(({ attempt }) => attempt);
}

/** Reads the oldest submission first. */
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
