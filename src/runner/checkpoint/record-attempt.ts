/** Writes down the beginning and the end of an attempt; each within a transaction of the caller's. */
import {
  assertAttemptMove,
  attemptMoves,
  type Attempt,
  type AttemptState,
  type Endpoint,
} from '../core/attempt.ts';
import { nameKey } from '../core/naming.ts';
import type { SavedPicture } from '../core/picture.ts';
import { replacedSuffix } from '../core/scene.ts';
import type { AdoptedScene, NextScene, Settlement } from '../pipeline/ports.ts';
import { DamagedCheckpoint } from './damage.ts';
import { readAttempt } from './read-attempt.ts';
import type { Statements } from './statements.ts';

/** Of the scene with this key, in the run with that. */
export function intend(
  sql: Statements,
  scene: number,
  { run, endpoint, at }: { run: number; endpoint: Endpoint; at: number },
): Attempt {
  const { lastInsertRowid } = sql.intend.run({ scene, run, at, ...endpoint });
  sql.activate.run({ scene });
  const row = sql.attemptRow.get({ attempt: Number(lastInsertRowid) });
  if (row === undefined) throw new Error('an attempt that was just recorded is not there');
  return readAttempt(sql, row);
}

export function settle(sql: Statements, attempt: Attempt, settlement: Settlement): void {
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
  moveScene(sql, attempt, settlement.scene);
}

/** Its submission is none of ours: nobody knows when that was. Returns whether its job was on no record. */
export function recordAdopted(
  sql: Statements,
  { scene, endpoint, jobId, pictures }: AdoptedScene,
  { run, at }: { run: number; at: number },
): boolean {
  const attempt = intend(sql, scene, { run, endpoint, at });
  const isTaken = jobId !== null && sql.jobOf.get({ jobId, ...endpoint }) !== undefined;
  sql.recordAdopted.run({ attempt: attempt.key, jobId: isTaken ? null : jobId });
  settle(sql, attempt, { state: 'saved', at, pictures, scene: { state: 'saved' } });
  return !isTaken;
}

function addPicture(sql: Statements, attempt: Attempt, number: number, picture: SavedPicture): void {
  const { file, seed, ...facts } = picture;
  const name = attempt.isReplaced ? file.replace(replacedSuffix(attempt.fingerprint), '') : file;
  sql.addPicture.run({
    ...facts,
    attempt: attempt.key,
    number,
    name,
    file,
    key: nameKey(file),
    seed: seed ?? null,
  });
}

function moveScene(sql: Statements, attempt: Attempt, scene: NextScene): void {
  const failure = scene.state === 'failed' ? scene.failure : undefined;
  sql.moveScene.run({
    attempt: attempt.key,
    state: scene.state,
    dueAt: scene.state === 'waiting' ? Math.max(1, scene.dueAt) : 0,
    failureKind: failure?.kind ?? null,
    failureText: failure?.text ?? null,
  });
}

/** Throws where the table of moves has no such move, or the checkpoint no such attempt. */
export function assertMove(sql: Statements, attempt: Attempt, to: AttemptState): void {
  const row = sql.stateOf.get({ attempt: attempt.key });
  if (row === undefined || !Object.hasOwn(attemptMoves, row.state))
    throw new DamagedCheckpoint(`it has no attempt ${attempt.number} of scene ${attempt.sceneId} any more`);
  assertAttemptMove(row.state, to);
}
