/** The journal of a batch in SQLite: implements the road's `Checkpoint` port. */
import type { Attempt, Endpoint, SubmittedAttempt } from '../core/attempt.ts';
import { nameKey } from '../core/naming.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import type { Part } from '../core/part.ts';
import type { LackingFile } from '../core/named-file.ts';
import type { MadeAt, Plan } from '../core/plan.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { BatchSpending } from '../core/spending.ts';
import type { RecordedPicture } from '../core/verification.ts';
import type { AdoptedScene, FoundScene } from '../core/adoption.ts';
import type { SavedSettlement, Settlement, UnfinishedWriting } from '../core/settlement.ts';
import type { AcceptedJob, Checkpoint, ManifestScenes, PictureMove, Removal } from '../pipeline/ports.ts';
import { Sqlite } from '../../lib/sqlite/better-sqlite3.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import type { CommitMarker } from '../../lib/sqlite/group-commit.ts';
import { choosePart, readPartCounts, dueOfPart, dueScenes, type DueScenes } from './due-scenes.ts';
import { asDamage } from './damage.ts';
import { asFatalFailure, Journal } from './journal.ts';
import {
  readAttempt,
  readSubmittedAttempt,
  readWriting,
  intend,
  recordAdopted,
  recordSubmitted,
  settle,
} from './attempt-records.ts';
import type { CrashMarkers } from './crash-markers.ts';
import { readCounts, readSpending } from './read-totals.ts';
import { readMadeAt } from './read-for-plan.ts';
import { readListedScenes, readNextScenes } from './list-scenes.ts';
import { reconcile } from './reconcile.ts';
import { readLacking } from './lacking-files.ts';
import { readPicturesOfSaved } from './recorded-pictures.ts';
import { prepareStatements, type Statements } from './statements.ts';

export class SqliteCheckpoint implements Checkpoint {
  readonly #db: Database;
  readonly #journal: Journal;
  readonly #sql: Statements;
  readonly #run: number;
  readonly #crashMarkers: CrashMarkers;
  /** Undefined where no part was chosen. */
  #part: DueScenes | undefined;
  readonly #due: DueScenes;
  /** Whether the list was found to read otherwise than before, though its scenes may be the same. */
  isListEdited = false;

  /** `run` is the key of the run that attempts are recorded under; `freeRoom` and `marker` as for `Journal`. */
  constructor(
    db: Database,
    run: number,
    crashMarkers: CrashMarkers,
    freeRoom: () => boolean = () => false,
    marker?: CommitMarker,
  ) {
    this.#crashMarkers = crashMarkers;
    this.#db = db;
    this.#journal = new Journal(db, freeRoom, marker);
    this.#sql = prepareStatements(db);
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
      return plan;
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  }

  async recover(): Promise<Attempt[]> {
    const intended = await this.#journal.write(() => {
      for (const mark of [...this.#crashMarkers.left(), ...this.#sql.intendedIn.all()])
        this.#sql.countDeath.run(mark);
      return this.#journal.sound(this.#sql.intended.all(), (row) => readAttempt(this.#sql, row));
    });
    this.#crashMarkers.forgetLeft();
    return intended;
  }

  markInProgress({ key }: Attempt): Promise<void> {
    return withDiskFailure(this.#db.name, async () =>
      this.#crashMarkers.take({ run: this.#run, attempt: key }),
    );
  }

  clearInProgress({ key }: Attempt): Promise<void> {
    return withDiskFailure(this.#db.name, async () =>
      this.#crashMarkers.drop({ run: this.#run, attempt: key }),
    );
  }

  openAttempts(): Promise<SubmittedAttempt[]> {
    return this.#journal.read(() =>
      this.#journal.sound(this.#sql.submitted.all(), (row) => readSubmittedAttempt(this.#sql, row)),
    );
  }

  intendedAttempts(): Promise<Attempt[]> {
    return this.#journal.read(() =>
      this.#journal.sound(this.#sql.intended.all(), (row) => readAttempt(this.#sql, row)),
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

  recordStatus(attempt: Attempt, seen: { status: string; isExecuting: boolean; at: number }): Promise<void> {
    return this.#journal.write(() => {
      const executingAt = seen.isExecuting ? seen.at : null;
      this.#sql.recordStatus.run({ attempt: attempt.key, status: seen.status, executingAt });
    });
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
      this.#journal.sound(this.#sql.unfinishedWriting.all(), (row) => readWriting(this.#sql, row)),
    );
  }

  dropWriting({ key }: Attempt): Promise<void> {
    return this.#journal.write(() => void this.#sql.dropWriting.run({ attempt: key }));
  }

  settle(attempt: Attempt, settlement: Settlement): Promise<void> {
    return this.#journal.writeResult(() => settle(this.#sql, attempt, settlement));
  }

  nextScenes(max: number): Promise<Pick<FoundScene, 'id' | 'columns'>[]> {
    return this.#journal.read(() => readNextScenes(this.#db, max));
  }

  async listedScenes(): Promise<AsyncIterable<FoundScene>> {
    return readListedScenes(this.#db);
  }

  adopt(adopted: AdoptedScene[], at: number): Promise<void> {
    return this.#journal.write(() => {
      const found = adopted.filter((scene) => recordAdopted(this.#sql, scene, { run: this.#run, at }));
      // Their submissions were presumably among the lost ones, and are not counted twice.
      this.#sql.countFound.run({ found: found.length });
      this.#next.dropSettled();
    });
  }

  ownerOf(file: string): Promise<{ sceneId: string; fingerprint: string } | undefined> {
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

  async savedPictures(): Promise<Iterable<RecordedPicture>> {
    return readPicturesOfSaved(this.#db);
  }

  spending(): Promise<BatchSpending> {
    return this.#journal.read(() => readSpending(this.#db));
  }

  madeAt(): Promise<MadeAt[]> {
    return this.#journal.read(() => readMadeAt(this.#db));
  }

  lackingFiles(): Promise<LackingFile[]> {
    return this.#journal.read(() => readLacking(this.#db));
  }

  counts(): Promise<SceneCounts> {
    return this.#journal.read(() => readCounts(this.#db));
  }

  removed(): Promise<Removal | undefined> {
    return this.#journal.read(() => this.#journal.removed());
  }

  partCounts(): Promise<SceneCounts | undefined> {
    return this.#journal.read(() => this.#part && readPartCounts(this.#db));
  }

  /** To be called before the database is closed. */
  close(): void {
    this.#journal.close();
  }

  get #next(): DueScenes {
    return this.#part ?? this.#due;
  }

  /** None where one is damaged or files are gone; what is committed in the same group, such as the id of a paid job, is kept. */
  async #intend(scenes: () => number[], endpoint: Endpoint, at: number): Promise<Attempt[]> {
    const mark = { run: this.#run, endpoint, at };
    const within = this.#db.transaction(() => scenes().map((scene) => intend(this.#sql, scene, mark)));
    const intended = await this.#journal.write(() => {
      try {
        this.#journal.assertNotRemoved();
        return within();
      } catch (error) {
        // A disk that is full, say, takes back the whole group itself.
        if (error instanceof Sqlite.SqliteError && asDamage(error) === undefined) throw error;
        return asFatalFailure(error);
      }
    });
    if (!Array.isArray(intended)) throw intended;
    return intended as Attempt[];
  }
}
