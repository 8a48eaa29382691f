/** The journal of a batch in SQLite: implements the road's `Checkpoint` port. */
import Sqlite from 'better-sqlite3';
import {
  assertAttemptMove,
  type Attempt,
  type AttemptState,
  type Endpoint,
  type SubmittedAttempt,
} from '../core/attempt.ts';
import { Trouble } from '../core/failure.ts';
import { nameKey } from '../core/naming.ts';
import type { Plan } from '../core/plan.ts';
import { replacedSuffix } from '../core/scene.ts';
import type { Checkpoint, ManifestScenes, PictureMove, SceneCounts, Settlement } from '../pipeline/ports.ts';
import type { Database } from '../sqlite/database.ts';
import { GroupCommit } from '../sqlite/group-commit.ts';
import { readAttempt, readSubmittedAttempt } from './read-attempt.ts';
import { readCounts } from './read-counts.ts';
import { reconcile } from './reconcile.ts';
import { prepareStatements, type Statements } from './statements.ts';

export class SqliteCheckpoint implements Checkpoint {
  readonly #db: Database;
  readonly #commits: GroupCommit;
  readonly #sql: Statements;
  readonly #run: number;

  /** `run` is the key of the run that attempts are recorded under (`startRun`). */
  constructor(db: Database, run: number) {
    this.#db = db;
    this.#commits = new GroupCommit(db);
    this.#sql = prepareStatements(db);
    this.#run = run;
  }

  reconcile(manifest: ManifestScenes, _at: number): Promise<Plan> {
    return this.#write(() => reconcile(this.#db, manifest));
  }

  recover(at: number): Promise<number> {
    return this.#write(() => {
      const dead = this.#sql.intended.all().map((row) => readAttempt(this.#sql, row));
      for (const attempt of dead) {
        const scene = { state: 'waiting', dueAt: at } as const;
        this.#settle(attempt, { state: 'unanswered', at, scene, failure: diedWhileSending });
      }
      return dead.length;
    });
  }

  openAttempts(): Promise<SubmittedAttempt[]> {
    return this.#read(() => this.#sql.submitted.all().map((row) => readSubmittedAttempt(this.#sql, row)));
  }

  claim(max: number, endpoint: Endpoint, at: number): Promise<Attempt[]> {
    return this.#write(() => {
      const retries = this.#sql.dueRetries.all({ at, max });
      const fresh = this.#sql.dueFresh.all({ max: max - retries.length });
      return [...retries, ...fresh].map(({ scene }) => this.#intend(scene, endpoint, at));
    });
  }

  nextDueAt(): Promise<number | undefined> {
    return this.#read(() => this.#sql.nextDue.get()?.due_at);
  }

  recordSubmitted(attempt: Attempt, job: { jobId: string; status: string; at: number }): Promise<void> {
    return this.#write(() => {
      this.#assertMove(attempt, 'submitted');
      this.#sql.recordSubmitted.run({ attempt: attempt.key, ...job });
    });
  }

  recordStatus(attempt: Attempt, seen: { status: string; isExecuting: boolean; at: number }): Promise<void> {
    return this.#write(() => {
      const executingAt = seen.isExecuting ? seen.at : null;
      this.#sql.recordStatus.run({ attempt: attempt.key, status: seen.status, executingAt });
    });
  }

  settle(attempt: Attempt, settlement: Settlement): Promise<void> {
    return this.#write(() => this.#settle(attempt, settlement));
  }

  ownerOf(file: string): Promise<{ sceneId: string; fingerprint: string } | undefined> {
    return this.#read(() => this.#sql.ownerOf.get({ key: nameKey(file) }));
  }

  pendingMoves(): Promise<PictureMove[]> {
    return this.#read(() => this.#sql.pendingMoves.all());
  }

  recordMoved(move: PictureMove): Promise<void> {
    return this.#write(() => {
      this.#sql.recordMoved.run({ key: move.key, to: move.to, fileKey: nameKey(move.to) });
    });
  }

  counts(): Promise<SceneCounts> {
    return this.#read(() => readCounts(this.#db));
  }

  #intend(scene: number, endpoint: Endpoint, at: number): Attempt {
    const { lastInsertRowid } = this.#sql.intend.run({ scene, run: this.#run, at, ...endpoint });
    this.#sql.activate.run({ scene });
    const row = this.#sql.attemptRow.get({ attempt: Number(lastInsertRowid) });
    if (row === undefined) throw new Error('an attempt that was just recorded is not there');
    return readAttempt(this.#sql, row);
  }

  #settle(attempt: Attempt, settlement: Settlement): void {
    this.#assertMove(attempt, settlement.state);
    const {
      state,
      at,
      status,
      failure,
      pictures = [],
      polls,
      scene,
      delayTimeMs,
      executionTimeMs,
    } = settlement;
    this.#sql.settle.run({
      attempt: attempt.key,
      state,
      at,
      completedAt: pictures.length > 0 ? at : null,
      status: status ?? null,
      polls: polls ?? 0,
      delayTimeMs: delayTimeMs ?? null,
      executionTimeMs: executionTimeMs ?? null,
      failureKind: failure?.kind ?? null,
      failureText: failure?.text ?? null,
    });
    for (const [i, { file, width, height, bytes, sha256, seed }] of pictures.entries()) {
      const picture = {
        attempt: attempt.key,
        number: i + 1,
        file,
        key: nameKey(file),
        width,
        height,
        bytes,
        sha256,
      };
      const name = attempt.isReplaced ? file.replace(replacedSuffix(attempt.fingerprint), '') : file;
      this.#sql.addPicture.run({ ...picture, name, seed: seed ?? null });
    }
    const given = scene.state === 'failed' ? scene.failure : undefined;
    this.#sql.moveScene.run({
      attempt: attempt.key,
      state: scene.state,
      dueAt: scene.state === 'waiting' ? Math.max(1, scene.dueAt) : 0,
      failureKind: given?.kind ?? null,
      failureText: given?.text ?? null,
    });
  }

  #assertMove(attempt: Attempt, to: AttemptState): void {
    const row = this.#sql.stateOf.get({ attempt: attempt.key });
    if (row === undefined) throw new Error(`attempt ${attempt.key} is not in the checkpoint`);
    assertAttemptMove(row.state, to);
  }

  async #write<T>(work: () => T): Promise<T> {
    try {
      return await this.#commits.write(work);
    } catch (error) {
      throw asTrouble(error);
    }
  }

  async #read<T>(work: () => T): Promise<T> {
    return Promise.resolve(work());
  }
}

const diedWhileSending = {
  kind: 'unanswered',
  text: 'the program ended between recording this submission and hearing of it: it may have been sent',
} as const;

/** SQLite's complaints about the disk are expected trouble; all others are bugs. */
function asTrouble(error: unknown): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  if (!/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB)/.test(error.code)) return error;
  const text = `the checkpoint cannot be written (${error.message}); what is saved is safe, and jobs in flight are collected by the next run`;
  return new Trouble({ kind: 'output-unwritable', text });
}
