/** Reads attempts and records how they begin and end, within the caller's transaction; prepares the SQL. */
import {
  assertAttemptMove,
  type Attempt,
  type AttemptHistory,
  attemptMoves,
  type AttemptState,
  type Endpoint,
  type Held,
  type Idempotency,
  type NextScene,
  type SavedSettlement,
  type Settlement,
  type Submitted,
  type SubmittedJob,
  type UnfinishedWriting,
} from '../core/attempt.ts';
import { nameKey } from '../core/naming.ts';
import type { SavedPicture } from '../core/picture.ts';
import { replacedSuffix, sentColumns, sentInput } from '../core/scene.ts';
import type { AdoptedScene } from '../core/provenance.ts';
import { failureRules, isFailureKind } from '../core/failure.ts';
import type { AcceptedJob } from '../pipeline/ports.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { DamagedCheckpoint, checksumOf, isInputOf, storedJson, storedSeed } from './damage.ts';
import { disorderlyExitCodes } from '../core/ending.ts';
import type { Database } from '../../lib/sqlite/database.ts';

/** Records a new attempt of the scene as intended, and marks the scene active. */
export function intend(
  sql: Statements,
  sceneKey: number,
  { run, endpoint, at }: { run: number; endpoint: Endpoint; at: number },
): Attempt {
  const { lastInsertRowid } = sql.intend.run({ sceneKey, run, at, ...endpoint });
  sql.activate.run({ sceneKey });
  const row = sql.attemptRow.get({ attempt: Number(lastInsertRowid) });
  if (row === undefined) throw new Error('an attempt that was just recorded is not there');
  return readAttempt(sql, row);
}

/**
 * Records the job id of a submitted attempt. If another attempt at the endpoint already has that id, records
 * nothing but that the id is shared. `doubtful` is then the scene that was saved from that job since this
 * attempt began, if any.
 */
export function recordSubmitted(
  sql: Statements,
  attempt: Attempt,
  { jobId, status, at, kept }: Omit<AcceptedJob, 'idempotencyMs'>,
): 'recorded' | { doubtful: string | undefined } {
  assertMove(sql, attempt, 'submitted');
  const place = { jobId, ...attempt.endpoint };
  if (sql.jobOf.get(place) !== undefined) {
    sql.recordShared.run(place);
    return { doubtful: sql.savedMeanwhile.get({ ...place, attempt: attempt.key })?.sceneId };
  }
  const stored = kept === undefined ? null : JSON.stringify(kept);
  const checksum = checksumOf(attempt, jobId, stored);
  sql.recordSubmitted.run({ attempt: attempt.key, jobId, status, at, kept: stored, checksum });
  return 'recorded';
}

/** Settles the attempt and moves its scene. `next`: id of the seed to send next, if the scene is still active. */
export function settle(sql: Statements, attempt: Attempt, settlement: Settlement, next?: string): void {
  const { state, at, failure, delayTimeMs, executionTimeMs } = settlement;
  assertMove(sql, attempt, state);
  sql.settle.run({
    attempt: attempt.key,
    state,
    at,
    completedAt: settlement.completedAt ?? null,
    status: settlement.status ?? null,
    polls: settlement.polls ?? 0,
    delayTimeMs: delayTimeMs ?? null,
    executionTimeMs: executionTimeMs ?? null,
    cost: settlement.cost?.amount ?? null,
    costFrom: settlement.cost?.at ?? null,
    failureKind: failure?.kind ?? null,
    failureText: failure?.text ?? null,
    failureDigest: failure?.digest ?? null,
  });
  for (const [i, picture] of (settlement.pictures ?? []).entries()) addPicture(sql, attempt, i + 1, picture);
  const isMoved = moveScene(sql, attempt, settlement.scene);
  if (isMoved && next !== undefined) sql.sendSeed.run({ id: next });
}

/** Records adopted pictures as a saved attempt. Returns false, and leaves out the job, if it is known already. */
export function recordAdopted(
  sql: Statements,
  { sceneKey, endpoint, jobId, pictures }: AdoptedScene,
  { run, at }: { run: number; at: number },
): boolean {
  const attempt = intend(sql, sceneKey, { run, endpoint, at });
  const isTaken = jobId !== null && sql.jobOf.get({ jobId, ...endpoint }) !== undefined;
  sql.recordAdopted.run({ attempt: attempt.key, jobId: isTaken ? null : jobId });
  settle(sql, attempt, { state: 'saved', at, pictures, scene: { state: 'saved' } });
  return !isTaken;
}

function addPicture(sql: Statements, attempt: Attempt, number: number, picture: SavedPicture): void {
  const { file, seed, label, output, ...facts } = picture;
  const name = attempt.isReplaced ? file.replace(replacedSuffix(attempt.fingerprint), '') : file;
  sql.addPicture.run({
    ...facts,
    attempt: attempt.key,
    number,
    name,
    file,
    key: nameKey(file),
    seed: seed ?? null,
    label: label ?? null,
    output: output ? JSON.stringify(output) : null,
  });
}

/** Returns false, and changes nothing, if the scene is no longer active, such as after it was withdrawn. */
function moveScene(sql: Statements, attempt: Attempt, scene: NextScene): boolean {
  const failure = scene.state === 'failed' ? scene.failure : undefined;
  const { changes } = sql.moveScene.run({
    attempt: attempt.key,
    state: scene.state,
    dueAt: scene.state === 'waiting' ? Math.max(1, scene.dueAt) : 0,
    failureKind: failure?.kind ?? null,
    failureText: failure?.text ?? null,
  });
  return changes > 0;
}

/** Throws `DamagedCheckpoint` if the attempt is missing, and an error if `attemptMoves` has no such move. */
function assertMove(sql: Statements, attempt: Attempt, to: AttemptState): void {
  const row = sql.stateOf.get({ attempt: attempt.key });
  if (row === undefined || !Object.hasOwn(attemptMoves, row.state))
    throw new DamagedCheckpoint(`it has no attempt ${attempt.number} of scene ${attempt.sceneId}`);
  assertAttemptMove(row.state, to);
}

/** Returns an attempt with its scene's history. Throws `DamagedCheckpoint`, also for a wrong fingerprint. */
export function readAttempt(sql: Reads, row: AttemptRow): Attempt {
  return attemptOf(row, row.number === 1 ? [] : readHistory(sql, row));
}

/** Builds an attempt from its row. `history`: earlier attempts, oldest first. Throws as `readAttempt` does. */
export function attemptOf(row: AttemptRow, history: HistoryRow[]): Attempt {
  const input = storedJson(row.input, sceneOf(row)) as JsonObject;
  if (!isInputOf(row.fingerprint, input))
    throw new DamagedCheckpoint(`the input of ${sceneOf(row)} is not the one that was recorded`);
  const columns = storedJson(row.columns, sceneOf(row)) as JsonObject;
  const seed = storedSeed(row.seed, sceneOf(row));
  const { key, sceneId, fingerprint, number, deaths, baseUrl, id, version, idempotencyKey } = row;
  return {
    key,
    sceneId,
    fingerprint,
    number,
    input: sentInput(input, seed),
    // Picture names take their seed from the columns if the service returns none.
    columns: sentColumns(columns, seed),
    isReplaced: row.isReplaced === 1,
    endpoint: { baseUrl, id, version },
    before: historyOf(history),
    crashes: deaths,
    ...(row.isWithdrawn === 1 && { isWithdrawn: true }),
    ...(idempotencyKey !== null && { idempotency: idempotencyOf(row, idempotencyKey) }),
  };
}

function idempotencyOf(row: AttemptRow, runsKey: string): Idempotency {
  const { key, intendedAt, idempotencyMs: shownMs } = row;
  return { key: `${runsKey}-${key}`, intendedAt, ...(shownMs !== null && { shownMs }) };
}

/** Returns an attempt with its job. Throws as `readAttempt` does, and if the job id does not match its checksum. */
export function readSubmittedAttempt(sql: Reads, row: AttemptRow): Submitted {
  return withJob(readAttempt(sql, row), row);
}

export function withJob(attempt: Attempt, row: AttemptRow): Submitted {
  return { ...attempt, job: jobOf(attempt, row) };
}

function jobOf(attempt: Attempt, row: AttemptRow): SubmittedJob {
  const { number, sceneId, endpoint } = attempt;
  const { jobId, submittedAt, executingAt, checksum, kept } = row;
  if (jobId === null || submittedAt === null)
    throw new DamagedCheckpoint(`attempt ${number} of scene ${sceneId} has no job`);
  const job = {
    endpoint,
    jobId,
    submittedAt,
    ...(executingAt !== null && { executingAt }),
    ...heldOf(row),
  };
  if (checksum === sharedId) return { ...job, isShared: true };
  if (checksum !== null && checksum !== checksumOf(attempt, jobId, kept))
    throw new DamagedCheckpoint(`job ${jobId} is not the one that was recorded for scene ${sceneId}`);
  return kept === null ? job : { ...job, kept: storedJson(kept, `job ${jobId}`) as Record<string, string> };
}

/** Returns why the result of a finished job is held. An attempt in flight has a failure only in that case. */
function heldOf(row: AttemptRow): { held?: Held } {
  const { failureKind: kind, failureText: text, failureDigest: answer, completedAt } = row;
  if (kind === null || text === null || completedAt === null || !isFailureKind(kind)) return {};
  return { held: { kind, text, completedAt, ...(answer !== null && { answer }) } };
}

function sceneOf({ sceneId }: AttemptRow): string {
  return `scene ${sceneId}`;
}

export function writingOf(attempt: Submitted, row: AttemptRow): UnfinishedWriting {
  const settlement = storedJson(row.writing ?? '', sceneOf(row)) as SavedSettlement;
  return { attempt, isInFlight: row.state === 'submitted', settlement };
}

function readHistory(sql: Reads, { sceneKey, number }: AttemptRow): HistoryRow[] {
  return sql.history.all({ sceneKey, number });
}

function historyOf(history: HistoryRow[]): AttemptHistory {
  const earlier = history.filter(isCounted);
  const failed = earlier.filter(({ state }) => state === 'failed');
  return {
    failed: failed.length,
    unanswered: earlier.filter(({ state }) => state === 'unanswered').length,
    expired: earlier.filter(({ state }) => state === 'expired').length,
    failedKinds: failed.map(({ failureKind }) => failureKind ?? ''),
    digests: failed.flatMap(({ failureDigest }) => failureDigest ?? []),
  };
}

/** True if the attempt is evidence about its scene. An attempt that a person ended is none. */
function isCounted({ failureKind }: HistoryRow): boolean {
  const rule = Object.entries(failureRules).find(([kind]) => kind === failureKind)?.[1];
  return rule?.next !== 'put-back';
}

/** An attempt joined with its scene and its run, as one flat row. JSON is text, and absent values are null. */
export type AttemptRow = Pick<Attempt, 'key' | 'sceneId' | 'fingerprint' | 'number'> &
  Pick<Idempotency, 'intendedAt'> &
  Endpoint &
  Record<'input' | 'columns', string> &
  Record<'seed' | 'writing' | 'jobId' | 'kept' | 'checksum' | 'idempotencyKey', string | null> &
  Record<'failureKind' | 'failureText' | 'failureDigest', string | null> &
  Record<'submittedAt' | 'executingAt' | 'completedAt' | 'idempotencyMs', number | null> &
  Record<'isReplaced' | 'isWithdrawn', 0 | 1> & { sceneKey: number; deaths: number; state: AttemptState };

export type HistoryRow = Pick<AttemptRow, 'state' | 'failureKind' | 'failureDigest'>;

/** Stored in place of the checksum if the service returned the attempt's job id for another submission too. */
export const sharedId = 'shared';

/** Returns SQL that selects `AttemptRow`s; the caller appends a condition. `schema`: table prefix. */
export function selectAttempts(schema = ''): string {
  return `
    SELECT a.attempt AS key, a.state, a.writing, a.scene AS "sceneKey", s.id AS "sceneId", s.fingerprint, a.number, s.input, s.seed, s.columns, s.deaths,
      CAST(s.state = 'withdrawn' AND EXISTS (SELECT 1 FROM ${schema}scenes l WHERE l.id = s.id AND l.state <> 'withdrawn') AS integer) AS "isReplaced",
      CAST(s.state = 'withdrawn' AS integer) AS "isWithdrawn", a.intended_at AS "intendedAt",
      r.idempotency_key AS "idempotencyKey", r.idempotency_ms AS "idempotencyMs", a.kept,
      a.base_url AS "baseUrl", a.endpoint_id AS id, a.version, a.job_id AS "jobId", a.submitted_at AS "submittedAt", a.executing_at AS "executingAt", a.checksum,
      a.failure_kind AS "failureKind", a.failure_text AS "failureText", a.failure_digest AS "failureDigest", a.completed_at AS "completedAt"
    FROM ${schema}attempts a JOIN ${schema}scenes s USING (scene) JOIN ${schema}runs r USING (run)`;
}

export type Statements = ReturnType<typeof prepareAttemptWrites>;
export type Reads = ReturnType<typeof prepareReads>;

export function prepareAttemptWrites(db: Database) {
  return {
    ...prepareReads(db),
    intend: db.prepare<[object]>(`
      INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, intended_at)
      SELECT scene, attempts + 1, @run, 'intended', @baseUrl, @id, @version, @at FROM scenes WHERE scene = @sceneKey`),
    activate: db.prepare<[object]>(`
      UPDATE scenes SET state = 'active', attempts = attempts + 1, due_at = 0, failure_kind = NULL, failure_text = NULL
      WHERE scene = @sceneKey`),
    recordSubmitted: db.prepare<[object]>(`
      UPDATE attempts SET state = 'submitted', job_id = @jobId, status = @status, submitted_at = @at,
        checksum = @checksum, kept = @kept
      WHERE attempt = @attempt`),
    recordIdempotency: db.prepare<[object]>(`
      UPDATE runs SET idempotency_ms = @idempotencyMs
      WHERE run = @run AND idempotency_ms IS NOT @idempotencyMs`),
    recordShared: db.prepare<[object]>(`
      UPDATE attempts SET checksum = '${sharedId}'
      WHERE job_id = @jobId AND base_url = @baseUrl AND endpoint_id = @id AND state = 'submitted'`),
    recordAdopted: db.prepare<[object]>(
      "UPDATE attempts SET state = 'submitted', job_id = @jobId WHERE attempt = @attempt",
    ),
    recordStatus: db.prepare<[object]>(`
      UPDATE attempts SET status = @status, executing_at = coalesce(executing_at, @executingAt)
      WHERE attempt = @attempt`),
    recordHeld: db.prepare<[object]>(`
      UPDATE attempts SET failure_kind = @kind, failure_text = @text, failure_digest = @answer, completed_at = @completedAt
      WHERE attempt = @attempt`),
    beginWriting: db.prepare<[object]>(
      "UPDATE attempts SET writing = @writing WHERE attempt = @attempt AND state = 'submitted'",
    ),
    dropWriting: db.prepare<[object]>('UPDATE attempts SET writing = NULL WHERE attempt = @attempt'),
    settle: db.prepare<[object]>(`
      UPDATE attempts SET state = @state, settled_at = @at, completed_at = @completedAt, status = coalesce(@status, status),
        polls = polls + @polls, delay_time_ms = @delayTimeMs, execution_time_ms = @executionTimeMs,
        cost = @cost, cost_from = @costFrom, failure_kind = @failureKind, failure_text = @failureText, failure_digest = @failureDigest,
        writing = NULL
      WHERE attempt = @attempt`),
    countCrash: db.prepare<[object]>(`
      UPDATE scenes SET deaths = deaths + 1, died_in = @run
      WHERE scene = (SELECT scene FROM attempts WHERE attempt = @attempt) AND coalesce(died_in, 0) < @run`),
    addPicture: db.prepare<[object]>(`
      INSERT INTO pictures (attempt, number, name, file, file_key, width, height, bytes, sha256, seed, label, output)
      VALUES (@attempt, @number, @name, @file, @key, @width, @height, @bytes, @sha256, @seed, @label, @output)`),
    moveScene: db.prepare<[object]>(`
      UPDATE scenes SET state = @state, due_at = @dueAt, failure_kind = @failureKind, failure_text = @failureText
      WHERE scene = (SELECT scene FROM attempts WHERE attempt = @attempt) AND state = 'active'`),
    sendSeed: db.prepare<[object]>(
      "UPDATE scenes SET state = 'waiting', due_at = 1 WHERE id = @id AND state = 'unneeded' AND due_at = 0",
    ),
    countFound: db.prepare<[object]>(
      'UPDATE commits SET lost_submissions = max(0, lost_submissions - @found)',
    ),
    recordMoved: db.prepare<[object]>(
      'UPDATE pictures SET file = @to, file_key = @fileKey, move_to = NULL WHERE picture = @key',
    ),
  };
}

export function prepareReads(db: Database) {
  const attemptRow = selectAttempts();
  return {
    attemptRow: db.prepare<[object], AttemptRow>(`${attemptRow} WHERE a.attempt = @attempt`),
    intended: db.prepare<[], AttemptRow>(`${attemptRow} WHERE a.state = 'intended'`),
    submitted: db.prepare<[], AttemptRow>(
      `${attemptRow} WHERE a.state = 'submitted' ORDER BY a.submitted_at`,
    ),
    unfinishedWriting: db.prepare<[], AttemptRow>(
      `${attemptRow} WHERE a.writing IS NOT NULL ORDER BY a.attempt`,
    ),
    history: db.prepare<[object], HistoryRow>(`
      SELECT state, failure_kind AS failureKind, failure_digest AS failureDigest FROM attempts a WHERE scene = @sceneKey AND number < @number
        AND number > (SELECT counted_from FROM scenes s WHERE s.scene = a.scene) ORDER BY number`),
    // A run that ended in order left its attempts to be sent again. They do not count as a crash.
    intendedIn: db.prepare<[object], { attempt: number; run: number }>(`
      SELECT attempt, run FROM attempts JOIN runs USING (run) WHERE state = 'intended' AND run <> @by
        AND (exit_code IS NULL OR exit_code IN (${disorderlyExitCodes.join()}))`),
    jobOf: db.prepare<[object]>(
      'SELECT 1 FROM attempts WHERE job_id = @jobId AND base_url = @baseUrl AND endpoint_id = @id',
    ),
    savedMeanwhile: db.prepare<[object], { sceneId: string }>(`
      SELECT s.id AS sceneId FROM attempts a JOIN scenes s USING (scene)
      WHERE job_id = @jobId AND base_url = @baseUrl AND endpoint_id = @id AND a.state = 'saved'
        AND a.settled_at >= (SELECT intended_at FROM attempts WHERE attempt = @attempt)`),
    stateOf: db.prepare<[object], { state: AttemptState }>(
      'SELECT state FROM attempts WHERE attempt = @attempt',
    ),
    ownerOf: db.prepare<[object], { sceneId: string; fingerprint: string; file: string }>(`
      SELECT s.id AS sceneId, s.fingerprint, p.file FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)
      WHERE p.file_key = @key`),
    takers: db.prepare<[], { sceneId: string; fingerprint: string; to: string }>(`
      SELECT s.id AS sceneId, s.fingerprint, p.move_to AS "to"
      FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene) WHERE p.move_to IS NOT NULL`),
    pendingMoves: db.prepare<[], { key: number; from: string; to: string; name: string }>(`
      SELECT p.picture AS key, p.file AS "from", p.move_to AS "to", p.name
      FROM pictures p WHERE p.move_to IS NOT NULL ORDER BY p.move_to = p.name, p.picture`),
  };
}
