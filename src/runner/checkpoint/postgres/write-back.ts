/** After a failover that lost the latest commits, each living runner writes back what it remembers before it goes on. */
import { PostgresFailure, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import { ListCutOff } from '../../core/plan.ts';
import type { GroupAnswer } from './group-function.ts';
import type { GroupContext } from './group-context.ts';
import type { Seen } from './recall.ts';

/** Keys to skip, so that no key that somebody remembers is given again. A failover never loses so many. */
const skippedKeys = 100_000;

/**
 * Resolves when everything is recorded again. Until all other runners have had the time of a lease for the
 * same, the database function lets nobody claim scenes. It may be interrupted anywhere and begun again.
 * Throws the `FatalFailure` of a lost lease.
 */
export async function writeBack(context: GroupContext): Promise<void> {
  const { db, schema: s, run, recall, lease } = context;
  const { version } = recall.seen;
  const { lastGroup, own, was, isDead } = await db.transaction((session) => restoreRun(context, session));
  const lost = context.again.filter((each) => each.version > own);
  for (const { work } of lost)
    await work().catch((error: unknown) => {
      throw error instanceof ListCutOff ? lease.lose(`${cutOffText}: ${error.message}`) : error;
    });
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
  recall.seen = (await showOwn(context, 0)) ?? { own: 0, version: 0, claimed: 0 };
  for (const each of lost) each.version = recall.seen.own;
  recall.isBehind = false;
  if (isDead) throw lease.lose();
  if (recall.hasForgotten(lastGroup)) throw lease.lose(forgottenText);
  if (conflicts > 0) throw lease.lose(conflictText(conflicts));
  lease.reportWrittenBack(wentBackText(version, was, writes));
}

/**
 * Updates the run's own row and returns the progress of the batch. Undefined if the row has less than
 * `atLeast`, because the batch has gone back.
 */
export async function showOwn(
  { db, schema: s, run }: Pick<GroupContext, 'db' | 'schema' | 'run'>,
  atLeast: number,
): Promise<Seen | undefined> {
  const [seen] = await db.query<Seen & Record<string, unknown>>(
    `UPDATE ${s}.runners r SET version = greatest(r.version, c.version) FROM ${s}.account c
     WHERE run = $1 AND r.version >= $2 RETURNING r.version AS own, c.version, c.claimed`,
    [run, atLeast],
  );
  return seen;
}

/**
 * Records the run again and renews its lease. Begins an epoch in which no earlier copy is valid, unless
 * another run has just done so.
 */
async function restoreRun(
  { schema: s, run, recall, lease, row }: GroupContext,
  session: PostgresSession,
): Promise<{ lastGroup: number; own: number; was: number; isDead: boolean }> {
  const [account] = await session.query<{ version: number }>(`SELECT version FROM ${s}.account FOR UPDATE`);
  if (account === undefined) throw notWhole();
  const [known] = await session.query<{
    token: string | null;
    dead: boolean | null;
    last: number | null;
    own: number | null;
  }>(
    `SELECT u.idempotency_key AS token, r.is_dead AS dead, r.last_group AS last, r.version AS own
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
    `UPDATE ${s}.account SET epoch = CASE WHEN claims_from > now() THEN epoch ELSE gen_random_uuid()::text END, claimed_seen = greatest(claimed_seen, $1),
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
  const { last, own, dead } = known ?? {};
  return { lastGroup: last ?? 0, own: own ?? 0, was: account.version, isDead: dead === true };
}

/** Returns a failure that callers wait for, because the rest may still come, for example while a backup is restored. */
export function notWhole(): PostgresFailure {
  return new PostgresFailure('gone', 'the shared checkpoint lacks a part of the batch', undefined);
}

const numberTakenText =
  'the shared checkpoint went back to an earlier state, and another run now has the number of this run; the jobs in flight of this run are not recorded. Check the jobs at the service, then run the same command again';

const cutOffText =
  'the shared checkpoint went back to an earlier state, which has a longer list than this run';

export const forgottenText =
  'the shared checkpoint went back to an earlier state, and lost more than this run remembers: jobs that it submitted before are not recorded there; they count as unanswered, and their scenes are submitted again. If there is a newer copy of the database, put that back first. Run the same command again to continue, with --adopt if it finds pictures of these jobs';

function conflictText(conflicts: number): string {
  return `the shared checkpoint went back to an earlier state, and other runs have submitted scenes of this run again; its ${conflicts.toLocaleString('en')} submissions of these scenes are recorded as unanswered, the others continue. Run the same command again to join`;
}

function wentBackText(from: number, to: number, writes: number): string {
  return `the shared checkpoint went back to an earlier state (${Math.max(0, from - to).toLocaleString('en')} commits are missing), probably after a failover that lost the latest data: this run has written back its records (${writes.toLocaleString('en')}). Nothing new is submitted until the other runs have had time to do the same`;
}
