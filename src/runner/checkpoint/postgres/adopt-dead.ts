/** Gives what runners that died had in flight to another one. */
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';

/**
 * Gives `run` what dead runners had, in one transaction, so that it is another's or still its own; answers with the keys of
 * attempts and the version of the batch. What a runner had in hand is held against the scenes, unless it has ended in order.
 */
export async function adoptDead(
  session: PostgresSession,
  s: string,
  run: number,
): Promise<{ taken: number[]; version: number }> {
  const dead = await session.query<{ run: number; died: boolean }>(
    `SELECT run, lease_until > '-infinity' AS died FROM ${s}.runners
     WHERE NOT is_dead AND lease_until < now() AND run <> $1 FOR UPDATE SKIP LOCKED`,
    [run],
  );
  if (dead.length === 0) return { taken: [], version: 0 };
  const [next] = await session.query<{ version: number }>(`SELECT ${s}.next_version() AS version`);
  const version = next?.version ?? 0;
  await session.query(`UPDATE ${s}.runners SET version = $2 WHERE run = $1`, [run, version]);
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

/** All that it was given and has in flight. */
export async function readAdopted(session: PostgresSession, s: string, run: number): Promise<number[]> {
  const own = await session.query<{ attempt: number }>(
    `SELECT attempt FROM ${s}.attempts WHERE owner = $1 AND run <> $1 AND (state IN ('intended', 'submitted') OR writing IS NOT NULL)`,
    [run],
  );
  return own.map(({ attempt }) => attempt);
}
