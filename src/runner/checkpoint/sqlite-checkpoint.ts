/** The journal of a batch in SQLite: implements the road's `Checkpoint` port. */
import type { Attempt, Endpoint, SubmittedAttempt } from '../core/attempt.ts';
import { FatalFailure } from '../core/failure.ts';
import { nameKey } from '../core/naming.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import type { Part } from '../core/part.ts';
import type { MadeAt, Plan } from '../core/plan.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { BatchSpending } from '../core/spending.ts';
import type { RecordedPicture } from '../core/verification.ts';
import type { AdoptedScene, FoundScene } from '../core/adoption.ts';
import type { SavedSettlement, Settlement, UnfinishedWriting } from '../core/settlement.ts';
import type { Checkpoint, ManifestScenes, PictureMove } from '../pipeline/ports.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { GroupCommit, type CommitMarker } from '../../lib/sqlite/group-commit.ts';
import {
  choosePart,
  readPartCounts,
  rememberPart,
  dueOfPart,
  dueScenes,
  type DueScenes,
} from './due-scenes.ts';
import { asDamage, checksumOf } from './damage.ts';
import { asFatalFailure, writersWithReserve, type Writers, describeRemoved } from './storage-failures.ts';
import {
  readAttempt,
  readSubmittedAttempt,
  readWriting,
  assertMove,
  intend,
  recordAdopted,
  settle,
} from './attempt-records.ts';
import type { CrashMarkers } from './crash-markers.ts';
import { readCounts, readSpending } from './read-totals.ts';
import { readMadeAt } from './read-for-plan.ts';
import { readListedScenes, readNextScenes } from './list-scenes.ts';
import { reconcile } from './reconcile.ts';
import { readPicturesOfSaved } from './recorded-pictures.ts';
import { prepareStatements, type Statements } from './statements.ts';

export class SqliteCheckpoint implements Checkpoint {
  readonly #db: Database;
  readonly #commits: GroupCommit;
  readonly #sql: Statements;
  readonly #run: number;
  readonly #crashMarkers: CrashMarkers;
  readonly #writers: Writers;
  /** Undefined where no part was chosen. */
  #part: DueScenes | undefined;
  readonly #due: DueScenes;
  /** Of a row that was left out for it. */
  #damage: unknown;

  /**
   * `run` is the key of the run that attempts are recorded under. `freeRoom` is asked for room on a full disk, and
   * tells whether there is some now.
   */
  constructor(
    db: Database,
    run: number,
    crashMarkers: CrashMarkers,
    freeRoom: () => boolean = () => false,
    marker?: CommitMarker,
  ) {
    this.#writers = writersWithReserve(freeRoom);
    this.#crashMarkers = crashMarkers;
    this.#db = db;
    this.#commits = new GroupCommit(db, marker);
    this.#sql = prepareStatements(db);
    this.#due = dueScenes(db);
    this.#run = run;
  }

  async reconcile(manifest: ManifestScenes, signal: AbortSignal, part?: Part): Promise<Plan | undefined> {
    const work = async (): Promise<Plan> => {
      const plan = await reconcile(this.#db, manifest, signal);
      if (part === undefined) rememberPart(this.#db, undefined);
      else await choosePart(this.#db, part, signal);
      return plan;
    };
    try {
      const plan = await this.#writers.planned(() => this.#commits.writeAlone(work));
      this.#part = part && dueOfPart(this.#db);
      return plan;
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  }

  async recover(): Promise<Attempt[]> {
    const intended = await this.#write(() => {
      for (const mark of [...this.#crashMarkers.left(), ...this.#sql.intendedIn.all()])
        this.#sql.countDeath.run(mark);
      return this.#sound(this.#sql.intended.all(), (row) => readAttempt(this.#sql, row));
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
    return this.#read(() =>
      this.#sound(this.#sql.submitted.all(), (row) => readSubmittedAttempt(this.#sql, row)),
    );
  }

  async assertSound(): Promise<void> {
    if (this.#damage !== undefined) throw this.#damage;
  }

  claim(max: number, endpoint: Endpoint, at: number, dueBy = at): Promise<Attempt[]> {
    return this.#intend(() => this.#next.take(max, dueBy), endpoint, at);
  }

  async claimSuspect(endpoint: Endpoint, at: number): Promise<Attempt | undefined> {
    const [suspect] = await this.#intend(() => this.#next.suspect(), endpoint, at);
    return suspect;
  }

  nextDue(): Promise<{ at: number; isSuspect: boolean } | undefined> {
    return this.#read(() => {
      const at = this.#next.nextAt();
      if (at !== undefined) return { at, isSuspect: false };
      return this.#next.suspect().length === 0 ? undefined : { at: 0, isSuspect: true };
    });
  }

  recordSubmitted(
    attempt: Attempt,
    job: { jobId: string; status: string; at: number },
  ): Promise<'recorded' | { doubtful: string | undefined }> {
    return this.#writeHeard(() => {
      assertMove(this.#sql, attempt, 'submitted');
      const { jobId } = job;
      const place = { jobId, ...attempt.endpoint };
      if (this.#sql.jobOf.get(place) !== undefined) {
        this.#sql.recordShared.run(place);
        return { doubtful: this.#sql.savedMeanwhile.get({ ...place, attempt: attempt.key })?.sceneId };
      }
      this.#sql.recordSubmitted.run({
        attempt: attempt.key,
        ...job,
        checksum: checksumOf({ ...attempt, jobId }),
      });
      return 'recorded';
    });
  }

  recordStatus(attempt: Attempt, seen: { status: string; isExecuting: boolean; at: number }): Promise<void> {
    return this.#write(() => {
      const executingAt = seen.isExecuting ? seen.at : null;
      this.#sql.recordStatus.run({ attempt: attempt.key, status: seen.status, executingAt });
    });
  }

  beginWriting({ key }: Attempt, settlement: SavedSettlement): Promise<void> {
    const writing = JSON.stringify(settlement);
    const work = (): void => void this.#sql.beginWriting.run({ attempt: key, writing });
    return this.#writers.planned(() => this.#commits.writeUnsynced(work));
  }

  unfinishedWriting(): Promise<UnfinishedWriting[]> {
    return this.#read(() =>
      this.#sound(this.#sql.unfinishedWriting.all(), (row) => readWriting(this.#sql, row)),
    );
  }

  dropWriting({ key }: Attempt): Promise<void> {
    return this.#write(() => void this.#sql.dropWriting.run({ attempt: key }));
  }

  settle(attempt: Attempt, settlement: Settlement): Promise<void> {
    return this.#writeHeard(() => settle(this.#sql, attempt, settlement));
  }

  nextScenes(max: number): Promise<Pick<FoundScene, 'id' | 'columns'>[]> {
    return this.#read(() => readNextScenes(this.#db, max));
  }

  async listedScenes(): Promise<AsyncIterable<FoundScene>> {
    return readListedScenes(this.#db);
  }

  adopt(adopted: AdoptedScene[], at: number): Promise<void> {
    return this.#write(() => {
      const found = adopted.filter((scene) => recordAdopted(this.#sql, scene, { run: this.#run, at }));
      // They were among these, as far as anybody can tell: on record again, they are not counted twice.
      this.#db
        .prepare<[number]>('UPDATE commits SET lost_submissions = max(0, lost_submissions - ?)')
        .run(found.length);
      if (this.#part === undefined) return;
      this.#db.exec(
        "DELETE FROM temp.part_fresh WHERE scene IN (SELECT scene FROM scenes WHERE state <> 'waiting')",
      );
    });
  }

  ownerOf(file: string): Promise<{ sceneId: string; fingerprint: string } | undefined> {
    const key = nameKey(file);
    return this.#read(() => {
      const owner = this.#sql.ownerOf.get({ key });
      return owner ?? this.#sql.takers.all().find(({ to }) => nameKey(to) === key);
    });
  }

  pendingMoves(): Promise<PictureMove[]> {
    return this.#read(() => this.#sql.pendingMoves.all());
  }

  recordMoved(move: PictureMove): Promise<void> {
    return this.#write(() => {
      this.#sql.recordMoved.run({ key: move.key, to: move.to, fileKey: nameKey(move.to) });
    });
  }

  async savedPictures(): Promise<Iterable<RecordedPicture>> {
    return readPicturesOfSaved(this.#db);
  }

  spending(): Promise<BatchSpending> {
    return this.#read(() => readSpending(this.#db));
  }

  madeAt(): Promise<MadeAt[]> {
    return this.#read(() => readMadeAt(this.#db));
  }

  counts(): Promise<SceneCounts> {
    return this.#read(() => readCounts(this.#db));
  }

  removed(): Promise<string | undefined> {
    return this.#read(() => this.#removed());
  }

  partCounts(): Promise<SceneCounts | undefined> {
    return this.#read(() => this.#part && readPartCounts(this.#db));
  }

  /** To be called before the database is closed. */
  close(): void {
    this.#commits.close();
  }

  get #next(): DueScenes {
    return this.#part ?? this.#due;
  }

  #removed(): string | undefined {
    return this.#db.memory ? undefined : describeRemoved(this.#db.name, () => readCounts(this.#db).active);
  }

  /** Nothing is sent on the word of a journal that nobody will find again. */
  #assertStillThere(): void {
    const text = this.#removed();
    if (text !== undefined) throw new FatalFailure({ kind: 'output-unwritable', text });
  }

  /** Where a scene is damaged, none of them; what is committed with them, such as the id of a paid job, is kept. */
  async #intend(scenes: () => number[], endpoint: Endpoint, at: number): Promise<Attempt[]> {
    const mark = { run: this.#run, endpoint, at };
    const within = this.#db.transaction(() => scenes().map((scene) => intend(this.#sql, scene, mark)));
    const intended = await this.#write(() => {
      this.#assertStillThere();
      try {
        return within();
      } catch (error) {
        if (asDamage(error) === undefined) throw error;
        return asFatalFailure(error);
      }
    });
    if (!Array.isArray(intended)) throw intended;
    return intended as Attempt[];
  }

  /** The others; what was damaged is remembered. */
  #sound<Row, T>(rows: Row[], read: (row: Row) => T): T[] {
    return rows.flatMap((row) => {
      try {
        return [read(row)];
      } catch (error) {
        if (asDamage(error) === undefined) throw error;
        this.#damage ??= asFatalFailure(error);
        return [];
      }
    });
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writers.planned(() => this.#commits.write(work));
  }

  #writeHeard<T>(work: () => T): Promise<T> {
    return this.#writers.heard(() => this.#commits.write(work));
  }

  async #read<T>(work: () => T): Promise<T> {
    try {
      return await Promise.resolve(work());
    } catch (error) {
      throw asFatalFailure(error);
    }
  }
}
