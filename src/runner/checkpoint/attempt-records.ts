/** Reads attempts and records how they begin and end; each within a transaction of the caller. */
import {
  assertAttemptMove,
  attemptMoves,
  type Attempt,
  type AttemptState,
  type Endpoint,
  type Held,
  type Idempotency,
  type AttemptHistory,
  type SubmittedJob,
  type Submitted,
} from '../core/attempt.ts';
import { nameKey } from '../core/naming.ts';
import type { SavedPicture } from '../core/picture.ts';
import { replacedSuffix, sentColumns, sentInput } from '../core/scene.ts';
import type { AdoptedScene } from '../core/adoption.ts';
import type { NextScene, Settlement, SavedSettlement, UnfinishedWriting } from '../core/settlement.ts';
import { failureRules, isFailureKind } from '../core/failure.ts';
import type { AcceptedJob } from '../pipeline/ports.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { DamagedCheckpoint, checksumOf, isInputOf, storedJson, storedSeed } from './damage.ts';
import { type Reads, type Statements, sharedId, type AttemptRow, type HistoryRow } from './statements.ts';

/** Of the scene with this key, in the run with that. */
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

/** Not recorded where the id is another job's already: `doubtful` is the scene that job's picture may have gone to. */
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

/** `next`: the seed that is sent after that, where its scene is still the one that it was. */
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
    failureKind: failure?.kind ?? null,
    failureText: failure?.text ?? null,
    failureDigest: failure?.digest ?? null,
  });
  for (const [i, picture] of (settlement.pictures ?? []).entries()) addPicture(sql, attempt, i + 1, picture);
  const isMoved = moveScene(sql, attempt, settlement.scene);
  if (isMoved && next !== undefined) sql.sendSeed.run({ id: next });
}

/** When it was submitted is unknown. Returns whether no other attempt has its job. */
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

/** Not where it was withdrawn meanwhile. */
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

/** Throws where the table of moves has no such move, or the checkpoint no such attempt. */
function assertMove(sql: Statements, attempt: Attempt, to: AttemptState): void {
  const row = sql.stateOf.get({ attempt: attempt.key });
  if (row === undefined || !Object.hasOwn(attemptMoves, row.state))
    throw new DamagedCheckpoint(`it has no attempt ${attempt.number} of scene ${attempt.sceneId} any more`);
  assertAttemptMove(row.state, to);
}

/** Throws `DamagedCheckpoint` where the input is another than the one that the scene was recorded with. */
export function readAttempt(sql: Reads, row: AttemptRow): Attempt {
  return attemptOf(row, row.number === 1 ? [] : readHistory(sql, row));
}

/** `history`: of the scene's earlier attempts, oldest first. Throws as above. */
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
    // Picture names take the seed from it where the service returns none.
    columns: sentColumns(columns, seed),
    isReplaced: row.isReplaced === 1,
    endpoint: { baseUrl, id, version },
    before: historyOf(history),
    deaths,
    ...(row.isWithdrawn === 1 && { isWithdrawn: true }),
    ...(idempotencyKey !== null && { idempotency: idempotencyOf(row, idempotencyKey) }),
  };
}

function idempotencyOf(row: AttemptRow, runsKey: string): Idempotency {
  const { key, intendedAt, idempotencyMs: shownMs } = row;
  return { key: `${runsKey}-${key}`, intendedAt, ...(shownMs !== null && { shownMs }) };
}

/** As above, and where the job is not the one that was recorded for the scene. */
export function readSubmittedAttempt(sql: Reads, row: AttemptRow): Submitted {
  return withJob(readAttempt(sql, row), row);
}

export function withJob(attempt: Attempt, row: AttemptRow): Submitted {
  return { ...attempt, job: jobOf(attempt, row) };
}

function jobOf(attempt: Attempt, row: AttemptRow): SubmittedJob {
  const { number, sceneId, endpoint } = attempt;
  const { jobId, submittedAt, checksum, kept } = row;
  if (jobId === null || submittedAt === null)
    throw new DamagedCheckpoint(`attempt ${number} of scene ${sceneId} has no job`);
  const job = { endpoint, jobId, submittedAt, ...heldOf(row) };
  if (checksum === sharedId) return { ...job, isShared: true };
  if (checksum !== null && checksum !== checksumOf(attempt, jobId, kept))
    throw new DamagedCheckpoint(`job ${jobId} is not the one that was recorded for scene ${sceneId}`);
  return kept === null ? job : { ...job, kept: storedJson(kept, `job ${jobId}`) as Record<string, string> };
}

/** An attempt in flight has a failure only if its result waits for a setting. */
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

/** Attempts that a person ended are no evidence about the scene. */
function isCounted({ failureKind }: HistoryRow): boolean {
  const rule = Object.entries(failureRules).find(([kind]) => kind === failureKind)?.[1];
  return rule?.next !== 'put-back';
}
