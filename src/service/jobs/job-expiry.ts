/** Finds jobs whose retention is over by an even clock, and deletes them and their traces on disk. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { JobMetadata, prepareJobStatements } from './job-statements.ts';
import type { StorePieces } from './job-transitions.ts';

/** Few enough that deleting large results does not block the service for long. */
const deletionsAtOnce = 25;

/** Batch size while the service is not serving. */
const deletionsBetweenServices = 1_000;

/** Maximum number of stream parts deleted at once. Keeps the service responsive. */
const partsAtOnce = 500;

/** Maximum size of the used pages of a store that is rewritten. Larger rewrites would take too long. */
const maxRebuildBytes = 64 * 1024 * 1024;

/** Minimum time between rewrites of a shared store: all moved pages are sent to the database that it is shared in. */
const sharedRebuildMs = 60 * 60_000;

/** Number of deleted jobs or stream parts. The files in `texts` are deleted afterwards. */
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
  /** True if a reader, such as a backup, kept the log from being truncated. */
  #isLogLeft = false;

  /** `retentionMs`: how long an ended job is kept. `now`: clock of `JobClock`, epoch ms. */
  constructor(store: StorePieces, retentionMs: number, now: () => number) {
    this.#store = store;
    this.#sql = store.transitions.sql;
    this.#retentionMs = retentionMs;
    this.#now = now;
  }

  /** Ms for which a repeated submission is surely recognised; at most the retention. */
  get idempotencyMs(): number {
    const { since } = this.#sql.idempotentSince.get() ?? { since: 0 };
    return Math.max(0, Math.min(this.#retentionMs, this.#now() - since));
  }

  /** Counts recognised submissions from now on if the store is a restored backup. Call this inside a transaction. */
  restartIdempotency(): void {
    this.#sql.restartIdempotency.run({ now: this.#now() });
  }

  isExpired({ endedAt }: Pick<JobMetadata, 'endedAt'>): boolean {
    return endedAt !== null && endedAt <= this.#newestEnd();
  }

  /** Deletes a few expired jobs and returns their number. Call until it returns 0, then `scrub`. */
  async deleteSome(): Promise<number> {
    if (this.#sql.expired.get({ until: this.#newestEnd() }) === undefined) return 0;
    return this.#write(() => this.#delete(deletionsAtOnce));
  }

  /** Deletes an ended job before its retention is over. Does nothing if there is no such ended job. */
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
    // In a shared store, another process may lead and need the files: only a durable commit rules this out.
    const write = () => (replica === undefined ? commit.writeUnsynced(work) : commit.write(work));
    const deleted = await reserve.spend(write);
    await texts.delete(deleted.texts);
    return deleted.count;
  }

  /** Deletes the files of expired jobs. Writes nothing to the database, as deleting rows needs disk space. */
  deleteFiles(): void {
    this.#store.texts.deleteNow(this.#sql.expiredFiles.all({ until: this.#newestEnd() }));
  }

  /** Deletes all expired jobs and their traces, while the service is not serving. */
  deleteAll(): void {
    for (let count = 1; count > 0;) {
      const deleted = this.#delete(deletionsBetweenServices);
      this.#store.texts.deleteNow(deleted.texts);
      ({ count } = deleted);
    }
    this.scrub(true);
  }

  /**
   * Removes traces of deleted jobs: their copies in the write-ahead log, and copies that SQLite leaves in a page
   * when it moves rows elsewhere, which `secure_delete` misses. The latter needs a rewrite of the store, so it is
   * done only for small stores while they are idle, at the start and at the end.
   */
  scrub(isIdle = this.#sql.open.get() === undefined): void {
    const { db, replica, reserve } = this.#store;
    const pages = this.#pragma('page_count') - this.#pragma('freelist_count');
    const bytes = pages * this.#pragma('page_size');
    const isTime = replica === undefined || performance.now() - this.#rebuiltAt > sharedRebuildMs;
    // A rewrite needs as much disk space again.
    const hasRoom = bytes <= maxRebuildBytes && !reserve.isFull;
    if (this.#mayHoldDeletedData && isIdle && isTime && hasRoom) {
      db.exec('VACUUM');
      this.#rebuiltAt = performance.now();
      this.#mayHoldDeletedData = false;
    }
    if (replica !== undefined) replica.truncate();
    else this.#emptyLog();
  }

  /** True if deleted data remains in the write-ahead log, so `scrub` must be called again. */
  get isScrubDue(): boolean {
    return this.#isLogLeft;
  }

  /** Does not wait for readers: a backup reads for seconds, and all requests would wait with it. */
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

  /** Returns the latest end time (epoch ms) of an expired job. */
  #newestEnd(): number {
    return Math.floor(this.#now()) - this.#retentionMs;
  }

  #pragma(name: string): number {
    return Number(this.#store.db.pragma(name, { simple: true }));
  }
}

interface SystemClocks {
  /** System clock, epoch ms. */
  wall: () => number;
  /** Monotonic clock, ms. */
  elapsed: () => number;
}

/** Smaller differences between the two clocks are rounding errors. */
const minStepMs = 1_000;

/** Clock that measures the ages of jobs. It runs evenly even if the system clock is set or the machine sleeps. */
export class JobClock {
  readonly #clocks: SystemClocks;
  readonly #isShared: boolean;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #anchor: number;
  /** Difference between the system clock and this one in ms, as stored. */
  #keptAheadMs: number;

  /** Continues from the stored difference to the system clock; `isShared`: not stored, as machines differ. */
  constructor(db: Database, clocks: SystemClocks, isShared: boolean) {
    this.#clocks = clocks;
    this.#isShared = isShared;
    this.#sql = prepareStatements(db);
    this.#keptAheadMs = isShared ? 0 : (this.#sql.kept.get()?.aheadMs ?? 0);
    this.#anchor = clocks.wall() - this.#keptAheadMs - clocks.elapsed();
  }

  /** Returns the time in whole epoch ms. It never jumps. */
  readonly now = (): number => Math.floor(this.#anchor + this.#clocks.elapsed());

  /** Movement of the system clock in ms since it was last stored; 0 if it runs evenly. */
  get stepMs(): number {
    const ms = this.#isShared ? 0 : this.#aheadMs - this.#keptAheadMs;
    return Math.abs(ms) < minStepMs ? 0 : ms;
  }

  /** Stores the difference to the system clock for the next start. Call this inside a transaction. */
  keepStep(): void {
    const aheadMs = this.#aheadMs;
    this.#sql.keep.run(aheadMs);
    this.#keptAheadMs = aheadMs;
  }

  /** Follows the system clock again if the store has no jobs. Call this inside a transaction. */
  restartIfUnused(): void {
    if (this.#keptAheadMs === 0 || this.#sql.hasJobs.get() !== undefined) return;
    this.#anchor = this.#clocks.wall() - this.#clocks.elapsed();
    this.keepStep();
  }

  get #aheadMs(): number {
    return Math.round(this.#clocks.wall() - this.#anchor - this.#clocks.elapsed());
  }
}

function prepareStatements(db: Database) {
  return {
    kept: db.prepare<[], { aheadMs: number }>('SELECT aheadMs FROM clock'),
    keep: db.prepare<[ms: number]>('UPDATE clock SET aheadMs = ?'),
    hasJobs: db.prepare<[], { one: 1 }>('SELECT 1 AS one FROM job LIMIT 1'),
  };
}
