/** Writes what a runner records, many at a time and all or none: only while the runner is alive to the others. */
import { assertAttemptMove, type Attempt, type AttemptState, type Endpoint } from '../../core/attempt.ts';
import { nameKey } from '../../core/naming.ts';
import { suspectDeaths } from '../../core/retry.ts';
import { replacedSuffix } from '../../core/scene.ts';
import type { SavedSettlement, Settlement } from '../../core/settlement.ts';
import { roomFor, type Pricing, type SpendingLimits } from '../../core/spending.ts';
import type { Postgres, PostgresSession } from '../../../lib/postgres/postgres.ts';
import type { Outcome } from '../../../lib/postgres/grouped-writes.ts';
import { checksumOf } from '../damage.ts';
import { sharedId } from '../statements.ts';
import { readIntended } from './attempt-rows.ts';
import type { GroupAnswer } from './group-function.ts';
import type { Lease } from './lease.ts';
import { readSharedSpending } from './read-shared.ts';

export type Write =
  | { do: 'claim'; max: number; endpoint: Endpoint; at: number; dueBy: number; isSuspect: boolean }
  | { do: 'submitted'; attempt: Attempt; job: { jobId: string; status: string; at: number } }
  | { do: 'status'; attempt: number; status: string; executingAt: number | null }
  | { do: 'hand'; attempt: number; isInHand: boolean }
  | { do: 'writing'; attempt: Attempt; settlement: SavedSettlement }
  | { do: 'drop'; attempt: number }
  | { do: 'settle'; attempt: Attempt; settlement: Settlement };

type Of<Kind extends Write['do']> = Write & { do: Kind };

/** What a claim results in. */
export interface Claimed {
  attempts: Attempt[];
  /** Whether scenes that were never submitted are left. */
  hasMore: boolean;
}

export interface GroupContext {
  db: Postgres;
  /** Quoted. */
  schema: string;
  run: number;
  lease: Lease;
  limits: SpendingLimits;
  pricing: Pricing | undefined;
  /** Whether only the scenes that `parts` has of the run are claimed. */
  hasPart: () => boolean;
}

/** For `GroupedWrites`. Throws the `FatalFailure` of a lease that is lost, and what the database says. */
export async function writeGroup(context: GroupContext, group: Write[], number: number): Promise<Outcome[]> {
  const { db, lease, limits } = context;
  lease.assertHeld();
  const isLimited = limits.jobs !== undefined || limits.cost !== undefined;
  const answer =
    isLimited && group.some((write) => write.do === 'claim')
      ? await db.transaction(async (session) => {
          await session.query(`SELECT 1 FROM ${context.schema}.account FOR UPDATE`);
          return call(context, session, await withinBudget(context, session, group), number);
        })
      : await call(context, db, group, number);
  if (answer.isLost) throw lease.lose();
  return outcomesOf(context, group, answer);
}

async function call(
  { schema, run, hasPart }: GroupContext,
  session: PostgresSession,
  group: Write[],
  number: number,
): Promise<GroupAnswer> {
  const of = <Kind extends Write['do']>(kind: Kind): Of<Kind>[] =>
    group.filter((write): write is Of<Kind> => write.do === kind);
  const [writings, settles] = [of('writing'), of('settle')];
  const lists = {
    status: of('status'),
    hand: of('hand'),
    drop: of('drop'),
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
      suspectDeaths,
    })),
  };
  // Of pictures there may be none where something is settled.
  const given = Object.entries(lists).filter(([name, rows]) => rows.length > 0 || name === 'pictures');
  const [row] = await session.query<{ answer: GroupAnswer }>(
    `SELECT ${schema}.write_group($1, $2, $3) AS answer`,
    [run, number, JSON.stringify(Object.fromEntries(given))],
  );
  if (row === undefined) throw new Error('the database has answered nothing');
  return row.answer;
}

/** Claims no more than all runners together may submit. */
async function withinBudget(
  { schema, limits, pricing }: GroupContext,
  session: PostgresSession,
  group: Write[],
): Promise<Write[]> {
  const { inFlight, ...spending } = await readSharedSpending(session, schema);
  let room = roomFor(inFlight, spending, spending.times, limits, pricing);
  return group.map((write) => {
    if (write.do !== 'claim') return write;
    const max = Math.min(write.max, room);
    room -= max;
    return { ...write, max };
  });
}

async function outcomesOf(context: GroupContext, group: Write[], answer: GroupAnswer): Promise<Outcome[]> {
  const { db, schema } = context;
  const keys = answer.claimed.flat();
  const intended = keys.length === 0 ? [] : await readIntended(db, schema, 'a.attempt = ANY($1)', [keys]);
  const claims = [...answer.claimed];
  const outcomes: Outcome[] = [];
  for (const write of group) outcomes.push(await outcomeOf(context, write, answer, claims, intended));
  return outcomes;
}

async function outcomeOf(
  context: GroupContext,
  write: Write,
  { isRepeated, submitted, taken, settled, hasMore }: GroupAnswer,
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
    case 'status':
    case 'hand':
    case 'drop':
      return nothing;
  }
}

const nothing: Outcome = { result: undefined };

/** It is another runner's by now, or the table of moves does not have it. */
async function whyForbidden(
  { db, schema, run, lease }: GroupContext,
  attempt: Attempt,
  to: AttemptState,
): Promise<Outcome | undefined> {
  const [row] = await db.query<{ state: AttemptState; owner: number }>(
    `SELECT state, owner FROM ${schema}.attempts WHERE attempt = $1`,
    [attempt.key],
  );
  if (row === undefined || row.owner !== run) throw lease.lose();
  try {
    assertAttemptMove(row.state, to);
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Another attempt has that job id. */
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

function submittedRow({ attempt, job }: Of<'submitted'>): object {
  const { baseUrl: url, id: endpoint } = attempt.endpoint;
  const checksum = checksumOf({ ...attempt, jobId: job.jobId });
  return { attempt: attempt.key, ...job, url, endpoint, checksum };
}

function settledRow({ attempt, settlement }: Of<'settle'>): object {
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
    failure_kind: failure?.kind,
    failure_text: failure?.text,
    failure_digest: failure?.digest,
    scene_state: scene.state,
    due_at: scene.state === 'waiting' ? Math.max(1, scene.dueAt) : 0,
    scene_failure_kind: sceneFailure?.kind,
    scene_failure_text: sceneFailure?.text,
  };
}

function pictureRows({ attempt, settlement }: Of<'settle'>): object[] {
  return (settlement.pictures ?? []).map((picture, i) => ({
    ...picture,
    attempt: attempt.key,
    number: i + 1,
    name: attempt.isReplaced ? picture.file.replace(replacedSuffix(attempt.fingerprint), '') : picture.file,
    file_key: nameKey(picture.file),
  }));
}
