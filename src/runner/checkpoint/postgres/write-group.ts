/** Writes records of a runner, in groups that succeed or fail as a whole, and writes them back after a failover. */
import type { Outcome } from '../../../lib/postgres/grouped-writes.ts';
import { PostgresFailure, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import { assertAttemptMove, type Attempt, type AttemptState } from '../../core/attempt.ts';
import { nameKey } from '../../core/naming.ts';
import { ListCutOff } from '../../core/batch-plan.ts';
import { suspectCrashes } from '../../core/retry-policy.ts';
import { replacedSuffix } from '../../core/scene.ts';
import { allowedSubmissions } from '../../core/spending.ts';
import { sharedId } from '../attempt-records.ts';
import { checksumOf } from '../damage.ts';
import { readIntended, readSharedSpending } from './read-shared.ts';
import type { GroupAnswer, NameOwner } from './group-function.ts';
import type { Claimed, GroupContext, Of, Write } from './lease.ts';
import type { Found, Seen } from './recall.ts';
import { isBatchGone, migrate } from './shared-schema.ts';

/** The commit function of `GroupedWrites`. Throws the `FatalFailure` of a lost lease, and errors of the database. */
export async function writeGroup(context: GroupContext, group: Write[], number: number): Promise<Outcome[]> {
  const { db, lease, recall } = context;
  for (let tries = 1; tries <= maxTries; tries++) {
    lease.assertHeld();
    try {
      if (recall.isBehind) await writeBack(context);
      const outcomes = await writeOnce(context, group, number);
      if (outcomes !== undefined) return outcomes;
    } catch (error) {
      if (!isBatchGone(error)) throw error;
      // The batch began in what the database has lost.
      await migrate(db, context.schemaName);
    }
    recall.isBehind = true;
  }
  throw notWhole();
}

/** One try may create the batch, one may write it back, and one writes the group. */
const maxTries = 3;

/** Returns undefined if the database has gone back. */
async function writeOnce(
  context: GroupContext,
  group: Write[],
  number: number,
): Promise<Outcome[] | undefined> {
  const { db, lease, limits, recall } = context;
  const isLimited = limits.jobs !== undefined || limits.cost !== undefined;
  const asked = lease.mustWaitForOthers ? group.map(claimingNothing) : group;
  const lists = listsOf(context, asked);
  const answer =
    isLimited && asked.some((write) => write.do === 'claim')
      ? await db.transaction(async (session) => {
          await session.query(`SELECT 1 FROM ${context.schema}.account FOR UPDATE`);
          return call(
            context,
            session,
            listsOf(context, await withinBudget(context, session, asked)),
            number,
          );
        })
      : await call(context, db, lists, number);
  if (answer.isBehind) return undefined;
  if (answer.isLost) throw lease.lose();
  const outcomes = await outcomesOf(context, group, answer);
  const { own, version, batchClaimed } = answer;
  if (own !== undefined) {
    recall.keep(number, lists, outcomes.claimed);
    recall.seen = { own, version, claimed: batchClaimed };
  }
  return outcomes.all;
}

function claimingNothing(write: Write): Write {
  return write.do === 'claim' ? { ...write, max: 0 } : write;
}

async function call(
  { schema, run, recall: { token, seen } }: GroupContext,
  session: PostgresSession,
  lists: Lists,
  number: number,
): Promise<GroupAnswer> {
  const [row] = await session.query<{ answer: GroupAnswer }>(
    `SELECT ${schema}.write_group($1, $2, $3) AS answer`,
    [run, number, JSON.stringify({ ...lists, seen: { token, ...seen } })],
  );
  if (row === undefined) throw new Error('the database has answered nothing');
  return row.answer;
}

/** Limits claims to what all runners together may still submit. */
async function withinBudget(
  { schema, limits, pricing }: GroupContext,
  session: PostgresSession,
  group: Write[],
): Promise<Write[]> {
  const { inFlight, ...spending } = await readSharedSpending(session, schema, pricing);
  let allowed = allowedSubmissions(inFlight, spending, spending.times, limits, pricing);
  return group.map((write) => {
    if (write.do !== 'claim') return write;
    const max = Math.min(write.max, allowed);
    allowed -= max;
    return { ...write, max };
  });
}

async function outcomesOf(
  context: GroupContext,
  group: Write[],
  answer: GroupAnswer,
): Promise<{ all: Outcome[]; claimed: Attempt[] }> {
  const { db, schema } = context;
  const keys = answer.claimed.flat();
  const intended = keys.length === 0 ? [] : await readIntended(db, schema, 'a.attempt = ANY($1)', [keys]);
  const claims = [...answer.claimed];
  const all: Outcome[] = [];
  for (const write of group) all.push(await outcomeOf(context, write, answer, claims, intended));
  return { all, claimed: intended };
}

async function outcomeOf(
  context: GroupContext,
  write: Write,
  { isRepeated, submitted, taken, settled, owners, hasMore }: GroupAnswer,
  claims: number[][],
  intended: Attempt[],
): Promise<Outcome> {
  switch (write.do) {
    case 'claim': {
      const mine = new Set(claims.shift());
      const claimed: Claimed = { attempts: intended.filter(({ key }) => mine.has(key)), hasMore };
      return { result: claimed };
    }
    case 'submitted':
      if (submitted?.includes(write.attempt.key)) return { result: 'recorded' };
      return (await whyForbidden(context, write.attempt, 'submitted')) ?? shareId(context, write);
    case 'writing':
      return { result: taken?.includes(write.attempt.key) !== true };
    case 'settle': {
      const { attempt, settlement } = write;
      const isDone = isRepeated || settled?.includes(attempt.key) === true;
      return (isDone ? undefined : await whyForbidden(context, attempt, settlement.state)) ?? nothing;
    }
    case 'owner': {
      const owner = owners?.find(({ key, to }) => write.key === (to === null ? key : nameKey(to)));
      const result: NameOwner | undefined = owner && {
        sceneId: owner.sceneId,
        fingerprint: owner.fingerprint,
      };
      return { result };
    }
    case 'status':
    case 'hand':
    case 'drop':
      return nothing;
  }
}

const nothing: Outcome = { result: undefined };

/**
 * Explains why a write had no effect: another runner owns the attempt by now, or `attemptMoves` has no such move. Undefined if
 * the move is allowed. Loses the lease if the attempt is another runner's.
 */
async function whyForbidden(
  { db, schema, run, lease }: GroupContext,
  attempt: Attempt,
  to: AttemptState,
): Promise<Outcome | undefined> {
  const [row] = await db.query<{ state: AttemptState; owner: number }>(
    `SELECT state, owner FROM ${schema}.attempts WHERE attempt = $1`,
    [attempt.key],
  );
  if (row === undefined) throw lease.lose(forgottenText);
  if (row.owner !== run) throw lease.lose();
  try {
    assertAttemptMove(row.state, to);
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Marks a job id as shared, because another attempt already has it. */
async function shareId({ db, schema: s }: GroupContext, { attempt, job }: Of<'submitted'>): Promise<Outcome> {
  const place = [job.jobId, attempt.endpoint.baseUrl, attempt.endpoint.id];
  const atPlace = 'job_id = $1 AND base_url = $2 AND endpoint_id = $3';
  await db.transaction(async (session) => {
    await session.query(`SELECT ${s}.next_version()`);
    await session.query(
      `UPDATE ${s}.attempts SET checksum = '${sharedId}' WHERE ${atPlace} AND state = 'submitted'`,
      place,
    );
  });
  const [doubtful] = await db.query<{ id: string }>(
    `SELECT s.id FROM ${s}.attempts a JOIN ${s}.scenes s USING (scene) WHERE ${atPlace} AND a.state = 'saved'
       AND a.settled_at >= (SELECT intended_at FROM ${s}.attempts WHERE attempt = $4)`,
    [...place, attempt.key],
  );
  return { result: { doubtful: doubtful?.id } };
}

type Lists = Record<string, object[]>;

/** Converts the writes of a group to the lists that the database function takes, one for each kind. */
function listsOf({ hasPart }: GroupContext, group: Write[]): Lists {
  const of = <Kind extends Write['do']>(kind: Kind): Of<Kind>[] =>
    group.filter((write): write is Of<Kind> => write.do === kind);
  const [writings, settles] = [of('writing'), of('settle')];
  const lists = {
    status: of('status'),
    hand: of('hand'),
    drop: of('drop'),
    owner: of('owner'),
    submitted: of('submitted').map(submittedRow),
    writing: writings.map(({ attempt, settlement }) => ({
      attempt: attempt.key,
      writing: JSON.stringify(settlement),
    })),
    names: writings.flatMap(({ attempt, settlement }) =>
      settlement.pictures.map(({ file }) => ({ attempt: attempt.key, file_key: nameKey(file) })),
    ),
    settle: settles.map(settledRow),
    pictures: settles.flatMap(pictureRows),
    claim: of('claim').map(({ endpoint, ...claim }) => ({
      ...claim,
      ...endpoint,
      isPart: hasPart(),
      suspectDeaths: suspectCrashes,
    })),
  };
  // The function expects a list of pictures even if it is empty.
  const given = Object.entries(lists).filter(([name, rows]) => rows.length > 0 || name === 'pictures');
  return Object.fromEntries(given);
}

function submittedRow({ attempt, job }: Of<'submitted'>): object {
  const { baseUrl: url, id: endpoint } = attempt.endpoint;
  const kept = job.kept === undefined ? null : JSON.stringify(job.kept);
  const checksum = checksumOf(attempt, job.jobId, kept);
  return { attempt: attempt.key, ...job, url, endpoint, kept, checksum };
}

function settledRow({ attempt, settlement, next }: Of<'settle'>): object {
  const { state, scene, failure } = settlement;
  const sceneFailure = scene.state === 'failed' ? scene.failure : undefined;
  return {
    attempt: attempt.key,
    before: state === 'unanswered' || state === 'refused' ? 'intended' : 'submitted',
    state,
    at: settlement.at,
    completed_at: settlement.completedAt,
    status: settlement.status,
    polls: settlement.polls ?? 0,
    delay_time_ms: settlement.delayTimeMs,
    execution_time_ms: settlement.executionTimeMs,
    cost: settlement.cost?.amount,
    cost_from: settlement.cost?.at,
    failure_kind: failure?.kind,
    failure_text: failure?.text,
    failure_digest: failure?.digest,
    scene_state: scene.state,
    due_at: scene.state === 'waiting' ? Math.max(1, scene.dueAt) : 0,
    scene_failure_kind: sceneFailure?.kind,
    scene_failure_text: sceneFailure?.text,
    next_seed: next,
  };
}

function pictureRows({ attempt, settlement }: Of<'settle'>): object[] {
  return (settlement.pictures ?? []).map((picture, i) => ({
    ...picture,
    output: picture.output && JSON.stringify(picture.output),
    attempt: attempt.key,
    number: i + 1,
    name: attempt.isReplaced ? picture.file.replace(replacedSuffix(attempt.fingerprint), '') : picture.file,
    file_key: nameKey(picture.file),
  }));
}

/** Keys to skip, so that no key that somebody remembers is assigned again. A failover never loses so many. */
const skippedKeys = 100_000;

/**
 * Writes back what this runner remembers, after a failover that lost the latest commits. Every living runner
 * does so before it goes on. Resolves when everything is recorded again. Until all other runners have had the
 * time of a lease for the same, the database function lets nobody claim scenes. It may be interrupted
 * anywhere and begun again. Throws the `FatalFailure` of a lost lease.
 */
async function writeBack(context: GroupContext): Promise<void> {
  const { db, schema: s, run, recall, lease } = context;
  const { version } = recall.seen;
  const { lastGroup, isDead, own, was } = await db.transaction((session) => restoreRun(context, session));
  const lost = context.again.filter((each) => each.version > own);
  for (const { work } of lost)
    await work().catch((error: unknown) => {
      throw error instanceof ListCutOff ? lease.lose(`${cutOffText}: ${error.message}`) : error;
    });
  await lease.adoptAgain();
  // If an earlier call was interrupted, this also gets the answers to the groups that it wrote.
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
  recall.seen = (await raiseOwnVersion(context, 0)) ?? { own: 0, version: 0, claimed: 0 };
  for (const each of lost) each.version = recall.seen.own;
  recall.isBehind = false;
  recall.found = undefined;
  if (isDead) throw lease.lose();
  if (recall.hasForgotten(lastGroup)) throw lease.lose(forgottenText);
  if (conflicts > 0) throw lease.lose(conflictText(conflicts));
  lease.reportWrittenBack(wentBackText(version, was, writes));
}

/** Raises the version of the run's row and returns the batch's progress. Undefined if the row is missing or older than `atLeast`. */
export async function raiseOwnVersion(
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

/** Records the run again and renews its lease. Begins an epoch that invalidates earlier copies. */
async function restoreRun(
  { schema: s, run, recall, lease, row }: GroupContext,
  session: PostgresSession,
): Promise<Found & { own: number; was: number }> {
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
  // Remembered before the commit, because its answer may be lost.
  recall.found = {
    lastGroup: Math.min(known?.last ?? 0, recall.found?.lastGroup ?? Infinity),
    isDead: known?.dead === true || recall.found?.isDead === true,
  };
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
  return { ...recall.found, own: known?.own ?? 0, was: account.version };
}

/** Returns the failure `gone`, which makes callers wait, because the rest may still come, for example while a backup is restored. */
function notWhole(): PostgresFailure {
  return new PostgresFailure('gone', 'the shared checkpoint lacks a part of the batch', undefined);
}

const numberTakenText =
  'the shared checkpoint went back to an earlier state, and another run now has the number of this run; the jobs in flight of this run are not recorded. Check the jobs at the service, then run the same command again';

const cutOffText =
  'the shared checkpoint went back to an earlier state, which has a longer list than this run';

const forgottenText =
  'the shared checkpoint went back to an earlier state, and lost more than this run remembers: jobs that it submitted before are not recorded there; they count as unanswered, and their scenes are submitted again. If there is a newer copy of the database, put that back first. Run the same command again to continue, with --adopt if it finds pictures of these jobs';

function conflictText(conflicts: number): string {
  return `the shared checkpoint went back to an earlier state, and other runs have submitted scenes of this run again; its ${conflicts.toLocaleString('en')} submissions of these scenes are recorded as unanswered, the others continue. Run the same command again to join`;
}

function wentBackText(from: number, to: number, writes: number): string {
  return `the shared checkpoint went back to an earlier state (${Math.max(0, from - to).toLocaleString('en')} commits are missing), probably after a failover that lost the latest data: this run has written back its records (${writes.toLocaleString('en')}). Nothing new is submitted until the other runs have had time to do the same`;
}
