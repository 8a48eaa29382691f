/** Writes what a runner records, many writes at a time and all or none, as long as the runner counts as alive. */
import { assertAttemptMove, type Attempt, type AttemptState } from '../../core/attempt.ts';
import { nameKey } from '../../core/naming.ts';
import { allowedSubmissions } from '../../core/spending.ts';
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';
import type { Outcome } from '../../../lib/postgres/grouped-writes.ts';
import { sharedId } from '../attempt-records.ts';
import { readIntended } from './attempt-rows.ts';
import type { GroupAnswer, NameOwner } from './group-function.ts';
import { listsOf, type Lists } from './group-lists.ts';
import { readSharedSpending } from './read-shared.ts';
import { isMissing, migrate } from './schema.ts';
import { forgottenText, notWhole, writeBack } from './write-back.ts';
import type { Claimed, GroupContext, Of, Write } from './group-context.ts';

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
      if (!isMissing(error)) throw error;
      // The batch began in what the database has lost.
      await migrate(db, context.schemaName);
    }
    recall.isBehind = true;
  }
  throw notWhole();
}

/** Tries to create the batch, to write it back, and to write the group. */
const maxTries = 3;

/** Returns undefined if the database has gone back. */
async function writeOnce(
  context: GroupContext,
  group: Write[],
  number: number,
): Promise<Outcome[] | undefined> {
  const { db, lease, limits, recall } = context;
  const isLimited = limits.jobs !== undefined || limits.cost !== undefined;
  const asked = lease.isToGiveOthersTime ? group.map(claimingNothing) : group;
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

/** Explains why a write had no effect: another runner owns the attempt by now, or `attemptMoves` has no such move. */
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

/** Marks a job id that another attempt has already as shared. */
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
