/** When the time of a job in the store is over, and what deletes it then, from the disk as well. */
import type { JobMetadata, prepareJobStatements } from './job-statements.ts';
import type { StorePieces } from './store-pieces.ts';

/** Few enough that deleting large results never holds the service up for long. */
const deletionsAtOnce = 25;

/** While nobody waits for the service. */
const deletionsBetweenServices = 1_000;

/** Of their streams, on the same grounds. */
const partsAtOnce = 500;

/** A store of which so much is in use is small enough to be rewritten in an instant. */
const maxRebuildBytes = 64 * 1024 * 1024;

/** All that a rewrite moves is sent to where the store is shared. */
const sharedRebuildMs = 60 * 60_000;

/** Jobs, or parts of their streams; what of it stands in files is deleted afterwards. */
interface Deleted {
  count: number;
  texts: { file: string | null }[];
}

export class JobExpiry {
  readonly #store: StorePieces;
  readonly #sql: ReturnType<typeof prepareJobStatements>;
  readonly #retentionMs: number;
  readonly #now: () => number;
  #mayHoldDeletedData = true;
  #rebuiltAt = performance.now();
  /** True if a reader, such as a backup, kept the log from being emptied. */
  #isLogLeft = false;

  /** `retentionMs`: how long a settled job is kept. `now`: that of `JobClock`, epoch ms. */
  constructor(store: StorePieces, retentionMs: number, now: () => number) {
    this.#store = store;
    this.#sql = store.transitions.sql;
    this.#retentionMs = retentionMs;
    this.#now = now;
  }

  /** How long a submission is surely known by its key: its job may end at once. */
  get idempotencyMs(): number {
    const { since } = this.#sql.idempotentSince.get() ?? { since: 0 };
    return Math.max(0, Math.min(this.#retentionMs, this.#now() - since));
  }

  /** Knows submissions from now on if the store is a backup that was put back. Belongs into a transaction. */
  restartIdempotency(): void {
    this.#sql.restartIdempotency.run({ now: this.#now() });
  }

  isExpired({ endedAt }: Pick<JobMetadata, 'endedAt'>): boolean {
    return endedAt !== null && endedAt <= this.#newestEnd();
  }

  /**
   * Deletes a little of the jobs whose time is over and returns how much; call until 0, then `scrub`. What a power cut
   * brings back is still over.
   */
  async deleteSome(): Promise<number> {
    if (this.#sql.expired.get({ until: this.#newestEnd() }) === undefined) return 0;
    return this.#write(() => this.#delete(deletionsAtOnce));
  }

  /** Deletes a job that has ended, whose time is not over; does nothing where there is none. */
  async deleteEnded(id: string): Promise<void> {
    const sql = this.#sql;
    await this.#write(() => {
      const job = sql.metadata.get(id);
      if (job === undefined || job.endedAt === null) return { count: 0, texts: [] };
      this.#mayHoldDeletedData = true;
      const of = [sql.deleteParts, sql.deleteInput, sql.deleteJob];
      return { count: 1, texts: of.flatMap((statement) => statement.all(job.number)) };
    });
  }

  async #write(work: () => Deleted): Promise<number> {
    const { commit, reserve, texts, replica } = this.#store;
    // The texts may be somebody else's by now.
    const write = () => (replica === undefined ? commit.writeUnsynced(work) : commit.write(work));
    const deleted = await reserve.spend(write);
    await texts.delete(deleted.texts);
    return deleted.count;
  }

  /** Deletes the files of jobs whose time is over, and writes nothing: the jobs themselves take room to be deleted. */
  deleteFiles(): void {
    this.#store.texts.deleteNow(this.#sql.expiredFiles.all({ until: this.#newestEnd() }));
  }

  /** All of them and what they left behind, while there is no service. */
  deleteAll(): void {
    for (let count = 1; count > 0;) {
      const deleted = this.#delete(deletionsBetweenServices);
      this.#store.texts.deleteNow(deleted.texts);
      ({ count } = deleted);
    }
    this.scrub(true);
  }

  /**
   * Removes what deleted jobs left behind: their copies in the write-ahead log, and the copies of texts that SQLite
   * leaves in a page when it moves rows to another, which `secure_delete` does not reach. The latter takes a rewrite
   * of the store, so it is done to small stores while they are idle, at start and at the end.
   */
  scrub(isIdle = this.#sql.open.get() === undefined): void {
    const { db, replica, reserve } = this.#store;
    const pages = this.#pragma('page_count') - this.#pragma('freelist_count');
    const bytes = pages * this.#pragma('page_size');
    const isTime = replica === undefined || performance.now() - this.#rebuiltAt > sharedRebuildMs;
    // A rewrite takes as much room again.
    const hasRoom = bytes <= maxRebuildBytes && !reserve.isFull;
    if (this.#mayHoldDeletedData && isIdle && isTime && hasRoom) {
      db.exec('VACUUM');
      this.#rebuiltAt = performance.now();
      this.#mayHoldDeletedData = false;
    }
    if (replica !== undefined) replica.truncate();
    else this.#emptyLog();
  }

  /** True if something deleted is left in the write-ahead log, and `scrub` has to be called again. */
  get isScrubDue(): boolean {
    return this.#isLogLeft;
  }

  /** Waits for no reader: a backup reads for seconds, and everybody would wait with it. */
  #emptyLog(): void {
    const { db } = this.#store;
    const busyMs = this.#pragma('busy_timeout');
    db.pragma('busy_timeout = 0');
    this.#isLogLeft = this.#pragma('wal_checkpoint(TRUNCATE)') !== 0;
    db.pragma(`busy_timeout = ${busyMs}`);
  }

  #delete(max: number): Deleted {
    const sql = this.#sql;
    const some = { until: this.#newestEnd(), max };
    const parts = sql.deleteExpiredParts.all({ ...some, maxParts: partsAtOnce });
    const inputs = parts.length < partsAtOnce ? sql.deleteExpiredInputs.all(some) : [];
    const jobs = parts.length < partsAtOnce ? sql.deleteExpired.all(some) : [];
    const count = parts.length + jobs.length;
    if (count > 0) this.#mayHoldDeletedData = true;
    return { count, texts: [...parts, ...inputs, ...jobs] };
  }

  /** Jobs that ended at this instant or before are over. */
  #newestEnd(): number {
    return Math.floor(this.#now()) - this.#retentionMs;
  }

  #pragma(name: string): number {
    return Number(this.#store.db.pragma(name, { simple: true }));
  }
}
