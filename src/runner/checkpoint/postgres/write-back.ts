/** After a failover that lost the latest commits: each living runner writes back what it remembers, before it goes on. */
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';
import type { GroupAnswer } from './group-function.ts';
import type { GroupContext } from './group-context.ts';

/** No key is given again that somebody remembers: there never are so many in what is lost. */
const skippedKeys = 100_000;

/**
 * Resolves when all is on record again. Until every other runner has had the time of a lease for the same, the function in
 * the database gives out no scenes. It may be interrupted anywhere and begun again. Throws the `FatalFailure` of a lease that is lost.
 */
export async function writeBack(context: GroupContext): Promise<void> {
  const { db, schema: s, run, recall, lease } = context;
  const { version } = recall.seen;
  const { lastGroup, was, isDead } = await db.transaction((session) => takeUp(context, session));
  for (const again of context.again) await again();
  await lease.adoptAgain();
  let conflicts = 0;
  let writes = 0;
  for (const group of recall.after(lastGroup)) {
    const [row] = await db.query<{ answer: GroupAnswer }>(`SELECT ${s}.write_group($1, $2, $3) AS answer`, [
      run,
      group.number,
      JSON.stringify({ pictures: [], ...group.lists }),
    ]);
    conflicts += row?.answer.conflicts ?? 0;
    writes += group.writes;
  }
  const [now] = await db.query<{ own: number; version: number; claimed: number }>(
    `SELECT r.version AS own, c.version, c.claimed FROM ${s}.runners r, ${s}.account c WHERE run = $1`,
    [run],
  );
  recall.seen = now ?? { own: 0, version: 0, claimed: 0 };
  recall.isBehind = false;
  if (isDead) throw lease.lose();
  if (conflicts > 0) throw lease.lose(conflictText(conflicts));
  lease.tellWrittenBack(wentBackText(version, was, writes));
}

/** The run is on record and alive, and the batch begins an epoch in which no copy of before is believed. */
async function takeUp(
  { schema: s, run, recall, lease, row }: GroupContext,
  session: PostgresSession,
): Promise<{ lastGroup: number; was: number; isDead: boolean }> {
  const [account] = await session.query<{ version: number }>(`SELECT version FROM ${s}.account FOR UPDATE`);
  const [known] = await session.query<{ token: string | null; dead: boolean | null; last: number | null }>(
    `SELECT u.idempotency_key AS token, r.is_dead AS dead, r.last_group AS last
     FROM ${s}.runs u LEFT JOIN ${s}.runners r USING (run) WHERE run = $1`,
    [run],
  );
  if (known !== undefined && known.token !== recall.token) throw lease.lose(numberTakenText);
  await session.query(
    `INSERT INTO ${s}.runs (run, pid, host, program, started_at, boot, process_started, idempotency_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (run) DO NOTHING`,
    [run, row.pid, row.host, row.program, row.startedAt, row.boot, row.started, recall.token],
  );
  await session.query(
    `INSERT INTO ${s}.runners (run, lease_until) VALUES ($1, now() + $2 * interval '1 ms')
     ON CONFLICT (run) DO UPDATE SET lease_until = excluded.lease_until, is_dead = false`,
    [run, lease.ms],
  );
  await session.query(
    `UPDATE ${s}.account SET epoch = gen_random_uuid()::text, claimed_seen = greatest(claimed_seen, $1),
       claims_from = now() + $2 * interval '1 ms'`,
    [recall.seen.claimed, lease.ms],
  );
  for (const [table, key] of [
    ['attempts', 'attempt'],
    ['pictures', 'picture'],
    ['runs', 'run'],
  ] as const)
    await session.query(
      `SELECT setval(q, greatest(nextval(q), (SELECT coalesce(max(${key}), 0) FROM ${s}.${table}), $1) + $1)
       FROM (SELECT pg_get_serial_sequence('${s}.${table}', '${key}')::regclass AS q) AS of`,
      [table === 'runs' ? 1 : skippedKeys],
    );
  return { lastGroup: known?.last ?? 0, was: account?.version ?? 0, isDead: known?.dead === true };
}

const numberTakenText =
  'the shared checkpoint went back to an earlier state, and another run has got the number of this one there; what this run had in flight is not on record. Look at the jobs at the service, then run the same command again';

function conflictText(conflicts: number): string {
  return `the shared checkpoint went back to an earlier state, and others have submitted again what this run had in flight; its ${conflicts} submissions of these are on record as unanswered, all others go on. Run the same command again to join in`;
}

function wentBackText(from: number, to: number, writes: number): string {
  return `the shared checkpoint went back to an earlier state (${Math.max(0, from - to)} commits are gone), as after a failover that lost its last moments: this run has written back what it knows (${writes} records). Nothing new is submitted until the other runs have had the time for that, too`;
}
