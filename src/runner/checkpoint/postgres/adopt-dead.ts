/** Gives the jobs of runners that died to another runner. */
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';

/** Returns SQL on `runners`: the lease is over, or the runner was declared dead and still has something in flight. */
const isDead = (s: string): string =>
  `(NOT is_dead AND lease_until < now() OR is_dead AND EXISTS (
     SELECT 1 FROM ${s}.attempts WHERE owner = runners.run AND (state IN ('intended', 'submitted') OR writing IS NOT NULL)))`;

/**
 * Gives `run` what dead runners had in flight, in one transaction, so that each attempt has one owner.
 * Returns the keys of the attempts and the version of the batch. `ofOwners`: take only from the owners of
 * these attempts. Attempts that a crashed runner was working on count as crashes of their scenes, unless the
 * runner ended in order. Undefined if `run` itself was declared dead, because nobody would take over what it
 * took.
 */
export async function adoptDead(
  session: PostgresSession,
  s: string,
  run: number,
  ofOwners?: number[],
): Promise<{ taken: number[]; version: number } | undefined> {
  const isToTake = `run <> $1 AND ${isDead(s)}
    AND ($2::bigint[] IS NULL OR run IN (SELECT owner FROM ${s}.attempts WHERE attempt = ANY($2)))`;
  const found = await session.query(`SELECT 1 FROM ${s}.runners WHERE ${isToTake} LIMIT 1`, [run, ofOwners]);
  if (found.length === 0) return { taken: [], version: 0 };
  // Takes the version before any runner's row, because writers lock the rows in this order.
  const [next] = await session.query<{ version: number }>(`SELECT ${s}.next_version() AS version`);
  const version = next?.version ?? 0;
  const [own] = await session.query<{ dead: boolean }>(
    `UPDATE ${s}.runners SET version = $2 WHERE run = $1 RETURNING is_dead AS dead`,
    [run, version],
  );
  // The database has gone back to before the run. The next write of the run notices that.
  if (own === undefined) return { taken: [], version: 0 };
  if (own.dead) return undefined;
  const dead = await session.query<{ run: number; died: boolean }>(
    `SELECT run, lease_until > '-infinity' AS died FROM ${s}.runners WHERE ${isToTake} FOR UPDATE`,
    [run, ofOwners],
  );
  const runs = dead.map((row) => row.run);
  const died = dead.filter((row) => row.died).map((row) => row.run);
  await session.query(`UPDATE ${s}.runners SET is_dead = true WHERE run = ANY($1)`, [runs]);
  await session.query(
    `UPDATE ${s}.scenes s SET deaths = deaths + 1, died_in = a.owner FROM ${s}.attempts a
     WHERE a.scene = s.scene AND a.owner = ANY($1) AND (a.state = 'intended' AND a.run = a.owner OR a.state IN ('intended', 'submitted') AND a.in_hand)
       AND coalesce(s.died_in, 0) < a.owner`,
    [died],
  );
  const taken = await session.query<{ attempt: number }>(
    `UPDATE ${s}.attempts SET owner = $2, in_hand = false
     WHERE owner = ANY($1) AND (state IN ('intended', 'submitted') OR writing IS NOT NULL) RETURNING attempt`,
    [runs, run],
  );
  await session.query(`DELETE FROM ${s}.parts WHERE run = ANY($1)`, [runs]);
  return { taken: taken.map(({ attempt }) => attempt), version };
}

/** Returns all that `run` was given and that is still in flight. */
export async function readAdopted(session: PostgresSession, s: string, run: number): Promise<number[]> {
  const own = await session.query<{ attempt: number }>(
    `SELECT attempt FROM ${s}.attempts WHERE owner = $1 AND run <> $1 AND (state IN ('intended', 'submitted') OR writing IS NOT NULL)`,
    [run],
  );
  return own.map(({ attempt }) => attempt);
}
