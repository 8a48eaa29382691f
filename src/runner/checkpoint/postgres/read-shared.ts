/** Reads that go to the database directly, because they cannot wait for the local copy. */
import { nameKey } from '../../core/naming.ts';
import {
  addBrought,
  nothingBrought,
  type BatchSpending,
  type Brought,
  type Pricing,
} from '../../core/spending.ts';
import type { PictureMove } from '../../pipeline/ports.ts';
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';
import {
  broughtColumns,
  forgottenOf,
  forgottenQuery,
  latestTimesQuery,
  spentColumns,
} from '../read-totals.ts';

/** Reads the spending of all runners. `inFlight`: attempts that they have sent or are about to send. */
export async function readSharedSpending(
  session: PostgresSession,
  s: string,
  pricing: Pricing | undefined,
): Promise<BatchSpending & { inFlight: number }> {
  const [row] = await session.query<
    Record<'jobs' | 'executed' | 'untold' | 'untimed' | 'lost' | 'open', number>
  >(
    `SELECT jobs, executed_ms AS executed, untold, untimed, lost,
       (SELECT count(*) FROM ${s}.attempts WHERE state IN ('intended', 'submitted')) AS open FROM ${s}.account`,
  );
  const times = await session.query<{ ms: number }>(latestTimesQuery(`${s}.`));
  const isByPicture = (pricing?.perPicture ?? pricing?.perMegapixel) !== undefined;
  return {
    jobs: row?.jobs ?? 0,
    executedMs: row?.executed ?? 0,
    untold: row?.untold ?? 0,
    untimed: row?.untimed ?? 0,
    ...(isByPicture
      ? await readSharedPictures(session, s, row?.lost ?? 0)
      : { rendered: (row?.jobs ?? 0) - (row?.open ?? 0), brought: nothingBrought }),
    inFlight: row?.open ?? 0,
    times: times.map(({ ms }) => ms).toSorted((a, b) => a - b),
  };
}

/** Sums the pictures of the batch; reads every row. */
async function readSharedPictures(
  session: PostgresSession,
  s: string,
  lost: number,
): Promise<Pick<BatchSpending, 'rendered' | 'brought'>> {
  const [row] = await session.query<{ rendered: number } & Brought>(
    `SELECT (SELECT coalesce(sum(${spentColumns().rendered}), 0) FROM ${s}.attempts) AS rendered, ${broughtColumns}
     FROM ${s}.pictures WHERE label IS NULL`,
  );
  const [forgotten] = await session.query<{ value: string }>(forgottenQuery(`${s}.`));
  const { rendered, ...brought } = row ?? { rendered: 0, ...nothingBrought };
  return { rendered: lost + rendered, brought: addBrought(brought, forgottenOf(forgotten?.value)) };
}

export function readMoves(session: PostgresSession, s: string): Promise<PictureMove[]> {
  return session.query<PictureMove & Record<string, unknown>>(
    `SELECT picture AS key, file AS "from", move_to AS "to" FROM ${s}.pictures
     WHERE move_to IS NOT NULL ORDER BY move_to = name, picture`,
  );
}

/** Call within a transaction. */
export async function recordMove(session: PostgresSession, s: string, move: PictureMove): Promise<void> {
  await session.query(`SELECT ${s}.next_version()`);
  await session.query(
    `UPDATE ${s}.pictures SET file = $2, file_key = $3, move_to = NULL WHERE picture = $1 AND move_to = $2`,
    [move.key, move.to, nameKey(move.to)],
  );
}
