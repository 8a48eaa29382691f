/** The journal of a batch in SQLite. Implements the pipeline's `Checkpoint` port. */
import type {
  Attempt,
  Endpoint,
  JobAtService,
  SavedSettlement,
  Settlement,
  Submitted,
  UnfinishedWriting,
} from '../core/attempt.ts';
import { nameKey } from '../core/naming.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import type { Part } from '../core/scene.ts';
import type { Plan } from '../core/batch-plan.ts';
import type { BatchSpending } from '../core/spending.ts';
import type { AdoptedScene } from '../core/provenance.ts';
import type {
  AcceptedJob,
  Checkpoint,
  CheckpointFile,
  ManifestScenes,
  PictureMove,
  Removal,
  NameOwner,
} from '../pipeline/ports.ts';
import { type Database, Sqlite } from '../../lib/sqlite/database.ts';
import type { CommitMarker } from '../../lib/sqlite/group-commit.ts';
import { rememberFoundWith } from './batch-identity.ts';
import { choosePart, type DueScenes } from './due-scenes.ts';
import { asDamage } from './damage.ts';
import { asFatalFailure, Journal } from './journal.ts';
import {
  readAttempt,
  readSubmittedAttempt,
  writingOf,
  intend,
  recordAdopted,
  recordSubmitted,
  settle,
  prepareAttemptWrites,
  type Statements,
} from './attempt-records.ts';
import type { CrashMarkers } from './batch-lock.ts';
import { readSpending } from './read-totals.ts';
import { deferSeedsNow, RecordedBatch } from './recorded-batch.ts';
import { reconcile } from './reconcile.ts';
import { suspectCrashes } from '../core/retry-policy.ts';

export class SqliteCheckpoint extends RecordedBatch implements Checkpoint, CheckpointFile {
  readonly #db: Database;
  readonly #journal: Journal;
  readonly #sql: Statements;
  readonly #run: number;
  readonly #crashMarkers: CrashMarkers;
  /** Undefined if the whole batch is rendered. */
  #part: DueScenes | undefined;
  readonly #due: DueScenes;
  /** True if rows of the list have changed, even if its scenes are the same. */
  isListEdited = false;

  /** `run`: key of the run under which attempts are recorded. `freeRoom` and `marker`: as for `Journal`. */
  constructor(
    db: Database,
    run: number,
    crashMarkers: CrashMarkers,
    freeRoom: () => boolean = () => false,
    marker?: CommitMarker,
  ) {
    super();
    this.#crashMarkers = crashMarkers;
    this.#db = db;
    this.#journal = new Journal(db, freeRoom, marker);
    this.#sql = prepareAttemptWrites(db);
    this.#due = dueScenes(db);
    this.#run = run;
  }

  async reconcile(manifest: ManifestScenes, signal: AbortSignal, part?: Part): Promise<Plan | undefined> {
    const work = async (): Promise<Plan> => {
      const { isEdited, ...plan } = await reconcile(this.#db, manifest, signal);
      this.isListEdited = isEdited;
      await choosePart(this.#db, part, signal);
      return plan;
    };
    try {
      const plan = await this.#journal.writeAlone(work);
      this.#part = part && dueOfPart(this.#db);
      this.hasPart = part !== undefined;
      return plan;
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  }

  async recover(): Promise<Attempt[]> {
    const intended = await this.#journal.write(() => {
      for (const mark of [...this.#crashMarkers.left(), ...this.#sql.intendedIn.all({ by: this.#run })])
        this.#sql.countCrash.run(mark);
      return this.#journal.readUndamaged(this.#sql.intended.all(), (row) => readAttempt(this.#sql, row));
    });
    this.#crashMarkers.forgetLeft();
    return intended;
  }

  setInProgress({ key }: Attempt, isInProgress: boolean): Promise<void> {
    const mark = { run: this.#run, attempt: key };
    return withDiskFailure(this.#db.name, async () =>
      isInProgress ? this.#crashMarkers.take(mark) : this.#crashMarkers.drop(mark),
    );
  }

  openAttempts(): Promise<Submitted[]> {
    return this.#journal.read(() =>
      this.#journal.readUndamaged(this.#sql.submitted.all(), (row) => readSubmittedAttempt(this.#sql, row)),
    );
  }

  async assertSound(): Promise<void> {
    this.#journal.assertSound();
  }

  claim(max: number, endpoint: Endpoint, at: number, dueBy = at): Promise<Attempt[]> {
    return this.#intend(() => this.#next.take(max, dueBy), endpoint, at);
  }

  async claimSuspect(endpoint: Endpoint, at: number): Promise<Attempt | undefined> {
    const [suspect] = await this.#intend(() => this.#next.suspect(), endpoint, at);
    return suspect;
  }

  nextDue(): Promise<{ at: number; isSuspect: boolean } | undefined> {
    return this.#journal.read(() => {
      const at = this.#next.nextAt();
      if (at !== undefined) return { at, isSuspect: false };
      return this.#next.suspect().length === 0 ? undefined : { at: 0, isSuspect: true };
    });
  }

  recordSubmitted(
    attempt: Attempt,
    { idempotencyMs, ...job }: AcceptedJob,
  ): Promise<'recorded' | { doubtful: string | undefined }> {
    return this.#journal.writeResult(() => {
      if (idempotencyMs !== undefined) this.#sql.recordIdempotency.run({ run: this.#run, idempotencyMs });
      return recordSubmitted(this.#sql, attempt, job);
    });
  }

  hasJob({ endpoint, jobId }: JobAtService): Promise<boolean> {
    return this.#journal.read(() => this.#sql.jobOf.get({ jobId, ...endpoint }) !== undefined);
  }

  recordStatus({ key }: Attempt, seen: Parameters<Checkpoint['recordStatus']>[1]): Promise<void> {
    const { status, isExecuting, at, held } = seen;
    return this.#journal.write(() => {
      this.#sql.recordStatus.run({ attempt: key, status, executingAt: isExecuting ? at : null });
      if (held !== undefined) this.#sql.recordHeld.run({ attempt: key, answer: null, ...held });
    });
  }

  recordFoundWith(settings: string): Promise<void> {
    return this.#journal.write(() => rememberFoundWith(this.#db, settings));
  }

  beginWriting({ key }: Attempt, settlement: SavedSettlement): Promise<boolean> {
    const writing = JSON.stringify(settlement);
    return this.#journal.writeUnsynced(() => {
      this.#sql.beginWriting.run({ attempt: key, writing });
      return true;
    });
  }

  unfinishedWriting(): Promise<UnfinishedWriting[]> {
    return this.#journal.read(() =>
      this.#journal.readUndamaged(this.#sql.unfinishedWriting.all(), (row) =>
        writingOf(readSubmittedAttempt(this.#sql, row), row),
      ),
    );
  }

  dropWriting({ key }: Attempt): Promise<void> {
    return this.#journal.write(() => void this.#sql.dropWriting.run({ attempt: key }));
  }

  settle(attempt: Attempt, settlement: Settlement): Promise<void> {
    const next = this.nextSeedAfter(this.#db, attempt, settlement);
    return this.#journal.writeResult(() => settle(this.#sql, attempt, settlement, next));
  }

  adopt(adopted: AdoptedScene[], at: number): Promise<void> {
    return this.#journal.write(() => {
      const found = adopted.filter((scene) => recordAdopted(this.#sql, scene, { run: this.#run, at }));
      // Their submissions were probably among the lost ones, and must not count twice.
      this.#sql.countFound.run({ found: found.length });
      deferSeedsNow(this.#db);
      this.#next.dropSettled();
    });
  }

  ownerOf(file: string): Promise<NameOwner | undefined> {
    const key = nameKey(file);
    return this.#journal.read(
      () => this.#sql.ownerOf.get({ key }) ?? this.#sql.takers.all().find(({ to }) => nameKey(to) === key),
    );
  }

  pendingMoves(): Promise<PictureMove[]> {
    return this.#journal.read(() => this.#sql.pendingMoves.all());
  }

  recordMoved(move: PictureMove): Promise<void> {
    return this.#journal.write(() => {
      this.#sql.recordMoved.run({ key: move.key, to: move.to, fileKey: nameKey(move.to) });
    });
  }

  spending(at?: string): Promise<BatchSpending> {
    return this.#journal.read(() => readSpending(this.#db, at));
  }

  removed(): Promise<Removal | undefined> {
    return this.#journal.read(() => this.#journal.removed());
  }

  close(): void {
    this.#journal.close();
  }

  protected recorded<T>(read: (db: Database) => T): Promise<T> {
    return this.#journal.read(() => read(this.#db));
  }

  get #next(): DueScenes {
    return this.#part ?? this.#due;
  }

  /**
   * Records an intended attempt of each scene, or none if a row is damaged or files are gone. Other writes of
   * the group commit, such as the id of a paid job.
   */
  async #intend(scenes: () => number[], endpoint: Endpoint, at: number): Promise<Attempt[]> {
    const mark = { run: this.#run, endpoint, at };
    const within = this.#db.transaction(() => scenes().map((scene) => intend(this.#sql, scene, mark)));
    const intended = await this.#journal.write(() => {
      try {
        this.#journal.assertNotRemoved();
        return within();
      } catch (error) {
        // Such errors, for example a full disk, undo the whole group anyway.
        if (error instanceof Sqlite.SqliteError && asDamage(error) === undefined) throw error;
        return asFatalFailure(error);
      }
    });
    if (!Array.isArray(intended)) throw intended;
    return intended as Attempt[];
  }
}

interface Found {
  sceneKey: number;
}

function dueScenes(db: Database): DueScenes {
  const { retries, suspect } = prepareShared(db, '');
  const fresh = db.prepare<[object], Found>(
    "SELECT scene AS sceneKey FROM scenes WHERE state = 'waiting' AND due_at = 0 ORDER BY position LIMIT @max",
  );
  const next = db.prepare<[], { due_at: number }>(
    `SELECT due_at FROM scenes WHERE state = 'waiting' AND deaths < ${suspectCrashes} ORDER BY due_at LIMIT 1`,
  );
  return {
    take: (max, dueBy) => {
      const first = retries.all({ at: dueBy, max });
      return [...first, ...fresh.all({ max: max - first.length })].map(({ sceneKey }) => sceneKey);
    },
    suspect: () => suspect.all().map(({ sceneKey }) => sceneKey),
    nextAt: () => next.get()?.due_at,
    dropSettled: () => undefined,
  };
}

/** Finds due scenes of `temp.part`. Taken scenes leave `temp.part_fresh`, so finding the next scans nothing. */
function dueOfPart(db: Database): DueScenes {
  const { retries, suspect } = prepareShared(db, inPart);
  const fresh = db.prepare<[object], Found & { n: number }>(
    'SELECT n, scene AS sceneKey FROM temp.part_fresh ORDER BY n LIMIT @max',
  );
  const drop = db.prepare<[number]>('DELETE FROM temp.part_fresh WHERE n <= ?');
  const nextRetry = db.prepare<[], { due_at: number }>(
    `SELECT due_at FROM scenes WHERE state = 'waiting' AND due_at > 0 AND deaths < ${suspectCrashes} ${inPart}
     ORDER BY due_at LIMIT 1`,
  );
  return {
    take: (max, dueBy) => {
      const first = retries.all({ at: dueBy, max });
      const more = fresh.all({ max: max - first.length });
      const last = more.at(-1);
      if (last !== undefined) drop.run(last.n);
      return [...first, ...more].map(({ sceneKey }) => sceneKey);
    },
    suspect: () => suspect.all().map(({ sceneKey }) => sceneKey),
    nextAt: () => (fresh.get({ max: 1 }) === undefined ? nextRetry.get()?.due_at : 0),
    dropSettled: () =>
      void db.exec(
        "DELETE FROM temp.part_fresh WHERE scene IN (SELECT scene FROM scenes WHERE state <> 'waiting')",
      ),
  };
}

const inPart = 'AND scene IN (SELECT scene FROM temp.part)';

/** `which`: a further SQL condition on the scenes. */
function prepareShared(db: Database, which: string) {
  return {
    retries: db.prepare<[object], Found>(
      `SELECT scene AS sceneKey FROM scenes
       WHERE state = 'waiting' AND due_at > 0 AND due_at <= @at AND deaths < ${suspectCrashes} ${which}
       ORDER BY due_at LIMIT @max`,
    ),
    suspect: db.prepare<[], Found>(
      `SELECT scene AS sceneKey FROM scenes WHERE deaths >= ${suspectCrashes} AND state = 'waiting' ${which} LIMIT 1`,
    ),
  };
}
