/** The job store: keeps every accepted job in SQLite, on disk before it is acknowledged. */
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { type Database, openForWriting } from '../../lib/sqlite/database.ts';
import { GroupCommit } from '../../lib/sqlite/group-commit.ts';
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import { JobReserve, reserveIn } from './data-folder.ts';
import { JobClock, JobExpiry } from './job-expiry.ts';
import { JobDurations, JobHistory } from './job-history.ts';
import { JobTransitions } from './job-transitions.ts';
import { type Idempotency, isReached, type JobState, defaultTerms, type JobTerms } from '../model/job.ts';
import { JobReads } from './job-reads.ts';
import { BulkJobs, JobStreams, JobWork } from './job-work.ts';
import { jobSchema } from './job-schema.ts';
import { KeyUsage } from './key-usage.ts';
import { JobSignals } from './job-signals.ts';
import type { Replica } from '../replication/committed-pages.ts';
import type { SharedFiles } from '../replication/page-store.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import { LongTexts, longText } from './long-texts.ts';

export interface JobStoreOptions {
  /** Time for which an ended job is kept, in ms. */
  retentionMs: number;
  /** System clock, epoch ms. */
  now: () => number;
  /** Monotonic clock, ms; `now` by default. */
  elapsed?: () => number;
  /** Maximum size of the unread stream of a job, in bytes. */
  maxUnreadBytes?: number;
  /** Disk space reserved for ending jobs and deleting expired ones when the disk is full, in bytes; 0 by default. */
  reserveBytes?: number;
  /** True if the disk is already full at the start. No job starts until there is space. */
  isDiskFull?: boolean;
  onProblem?: (text: string) => void;
  /** Makes the replica that makes commits durable if several processes share the service. */
  logOf?: (db: Database) => Replica;
  /** Shared store of long texts, if several processes share the service. */
  texts?: SharedFiles;
}

/**
 * Number of log pages after which SQLite copies its log into the database, which blocks the event loop. Jobs are
 * spread over the whole file, so a log of many changes holds most pages several times and only the last copy
 * counts. 4,000 pages are 16 MB.
 */
const pagesBetweenCheckpoints = 4_000;

/** An accepted job: a new one, or the job of an earlier identical submission. */
export interface Accepted {
  id: string;
  state: JobState;
  isNew: boolean;
}

/** Conditions under which a job is not accepted; none by default. */
export interface QueueLimits<Refusal> {
  maxQueued?: number;
  /** Returns why the key may not add this job. It is called again inside the transaction that adds the job. */
  refuse?: () => Refusal | undefined;
}

/** Opens the job store and gives access to its parts. Promises resolve when the change is on disk. */
export class JobStore {
  readonly reads: JobReads;
  readonly work: JobWork;
  readonly signals = new JobSignals();
  readonly streams: JobStreams;
  readonly bulk: BulkJobs;
  readonly expiry: JobExpiry;
  readonly history: JobHistory;
  readonly usage: KeyUsage;
  readonly durations = new JobDurations();
  readonly clock: JobClock;
  /** Disk reserve, for other writers that end jobs. */
  readonly reserve: JobReserve;
  readonly #db: Database;
  readonly #commit: GroupCommit;
  /** Receives a copy of all writes, if several processes share the service. */
  readonly replica: Replica | undefined;
  readonly #tidied: Promise<void>;
  readonly #transitions: JobTransitions;
  readonly #texts: LongTexts;
  /** False until the jobs of a crashed service are back in the queue. A full disk delays this. */
  #isTidy = false;

  /** Opens or creates the store, requeues jobs of a crashed service, and deletes expired ones. */
  constructor(path: string, options: JobStoreOptions) {
    const db = openJobStore(path);
    const replica = options.logOf?.(db);
    const { now: wall, elapsed = wall } = options;
    this.clock = new JobClock(db, { wall, elapsed }, replica !== undefined);
    const { now } = this.clock;
    this.history = new JobHistory(now);
    this.usage = new KeyUsage(db);
    const transitions = new JobTransitions(db, now, (job, ended) => {
      this.streams.forget(job);
      this.history.noteEnd(ended);
      this.durations.noteEnd(ended);
    });
    const commit = new GroupCommit(db, undefined, replica);
    const texts = new LongTexts(dirname(path), options.texts);
    const { reserveBytes: bytes = 0, onProblem = () => undefined } = options;
    const { isDiskFull: isFull } = options;
    const reserve = new JobReserve({ path: reserveIn(dirname(path)), bytes, onProblem, isFull });
    const pieces = { db, commit, reserve, transitions, texts, signals: this.signals, replica };
    this.expiry = new JobExpiry(pieces, options.retentionMs, now);
    this.reads = new JobReads(pieces, this.expiry);
    this.reserve = reserve;
    this.#db = db;
    this.#transitions = transitions;
    this.#commit = commit;
    this.replica = replica;
    this.#texts = texts;
    this.streams = new JobStreams(pieces, options.maxUnreadBytes);
    this.work = new JobWork(pieces, this.reads);
    this.bulk = new BulkJobs(pieces);
    try {
      this.#begin();
      this.#tidied = texts.deleteAllBut(new Set(transitions.sql.files.all().map(({ file }) => file)));
    } catch (error) {
      this.#commit.close();
      this.#db.close();
      throw error;
    }
  }

  /** The database and its commits, for tables beside the jobs. */
  get file(): { db: Database; commit: GroupCommit } {
    return { db: this.#db, commit: this.#commit };
  }

  /**
   * Queues a job at its endpoint. Returns undefined if `maxQueued` jobs wait, or the refusal. If
   * its idempotency key was used before, returns the earlier job, or `another body` if the body differs. `input` is
   * JSON text of an object.
   */
  async accept<Refusal = never>(
    endpointId: string,
    input: Text,
    given: Partial<JobTerms> = {},
    { maxQueued = Infinity, refuse = () => undefined }: QueueLimits<Refusal> = {},
  ): Promise<Accepted | 'another body' | Refusal | undefined> {
    const terms = { ...defaultTerms, ...given };
    const isFull = (): boolean => this.reads.queueLength(endpointId) >= maxQueued;
    // A long input is written to a file before the transaction: refuse it before that.
    if (input.length >= longText && terms.idempotency === null) {
      const refused = refuse();
      if (refused !== undefined || isFull()) return refused;
    }
    let before: Accepted | 'another body' | Refusal | undefined;
    const id = (terms.isSync ? 'sync-' : '') + randomUUID();
    const isAccepted = await this.#texts.withStored('inputs', input, (stored) =>
      this.#commit.write(() => {
        // If two submissions with one key are concurrent, the second finds the first here, and resolves no sooner.
        before = terms.idempotency === null ? undefined : this.#acceptedBefore(terms.idempotency);
        before ??= refuse();
        if (before !== undefined || isFull()) return false;
        this.#transitions.add(id, endpointId, input, stored, terms);
        return true;
      }),
    );
    if (!isAccepted) return before;
    this.signals.queued(endpointId);
    return { id, state: 'IN_QUEUE', isNew: true };
  }

  #acceptedBefore({ key, body }: Idempotency): Accepted | 'another body' | undefined {
    const { sql } = this.#transitions;
    const job = sql.submitted.get(key);
    if (job === undefined) return undefined;
    if (this.reads.isVisible(job, job.endpointId))
      return job.body.equals(body) ? { id: job.id, state: job.state, isNew: false } : 'another body';
    // The earlier job has expired and is not deleted yet: its key is free for the next job.
    sql.forgetKey.run(key);
    return undefined;
  }

  /** Pauses or resumes an endpoint. While it is paused, also after a restart, workers get none of its jobs. */
  async pause(endpointId: string, isPaused: boolean): Promise<void> {
    await this.#commit.write(() => this.#transitions.queue.pause(endpointId, isPaused));
    if (!isPaused) this.signals.queued(endpointId);
  }

  /** Number of running jobs whose workers end together with this process. */
  get runningHere(): number {
    return this.#isTidy ? this.#transitions.sql.running.all({ isPulled: 0 }).length : 0;
  }

  /** Gives no more jobs to workers, because the service is about to end. */
  stopAssigning(): void {
    this.#transitions.queue.isStopped = true;
  }

  /** Cancels a job unless it has ended, and returns its state. Undefined if there is no such job. */
  async cancel(endpointId: string, id: string): Promise<JobState | undefined> {
    const state = await this.#writeFromReserve(() => {
      const job = this.#transitions.sql.metadata.get(id);
      if (job === undefined || !this.reads.isVisible(job, endpointId)) return undefined;
      if (job.endedAt !== null) return job.state;
      this.#transitions.end(id, 'CANCELLED');
      return 'CANCELLED';
    });
    if (state === 'CANCELLED') this.signals.changed(id);
    return state;
  }

  /**
   * Queues a failed or timed-out job again, and returns its earlier state. Undefined if there is no such job.
   * `refuse` gets the size of the input in bytes and may refuse the retry: its result is returned then.
   */
  async retry<Refusal = never>(
    endpointId: string,
    id: string,
    refuse: (bytes: number) => Refusal | undefined = () => undefined,
  ): Promise<JobState | 'without credentials' | Refusal | undefined> {
    let unread: { file: string | null }[] = [];
    const was = await this.#commit.write(() => {
      const job = this.#transitions.sql.metadata.get(id);
      if (job === undefined || !this.reads.isVisible(job, endpointId)) return undefined;
      if (isReached('retry', job.state)) {
        // The credentials were deleted when the job ended, so results would go to another place than before.
        if (this.#transitions.sql.hadS3Config.get(job.number) !== undefined) return 'without credentials';
        const refused = refuse(job.inputBytes);
        if (refused !== undefined) return refused;
        const file = this.#transitions.sql.find.get(id)?.payloadFile ?? null;
        this.#transitions.queueAgain(id, job);
        unread = [{ file }, ...this.#transitions.sql.deleteParts.all(job.number)];
      }
      return job.state;
    });
    await this.#texts.delete(unread);
    if (typeof was === 'string' && isReached('retry', was)) {
      this.signals.changed(id);
      this.signals.queued(endpointId);
    }
    return was;
  }

  /** Stores how far the system clock has moved since the last call, for the next start. Returns it in ms. */
  async keepClockStep(): Promise<number> {
    const { stepMs } = this.clock;
    if (stepMs !== 0) await this.#writeFromReserve(() => this.clock.keepStep());
    return stepMs;
  }

  /** Resolves when all commits so far are durable, and files that a crashed service left behind are deleted. */
  async settled(): Promise<void> {
    await this.#tidied;
    await this.replica?.settled();
  }

  /** Requeues the jobs of own workers, and commits all writes. Resolves after their promises. */
  async settle(): Promise<void> {
    const requeued = this.#commit.write(() => this.#requeueRunning(undefined));
    await this.#commit.flush();
    await requeued;
  }

  /** Commits, requeues running jobs and deletes expired ones. Closes the file even if that fails. */
  close(): void {
    try {
      this.#commit.close();
      // With a replica, another process may lead by now: this copy must not change any more.
      if (this.replica === undefined) this.#tidyUp(undefined);
    } finally {
      this.#db.close();
      // Waiting requests must learn that nothing more comes.
      this.signals.all();
    }
  }

  #writeFromReserve<T>(work: () => T): Promise<T> {
    return this.reserve.spend(() => this.#commit.write(work));
  }

  /** Accepts jobs again if the disk was full and has space by now. Returns true if it does. */
  refill(): boolean {
    if (!this.reserve.refill()) return false;
    if (!this.#isTidy) this.#begin();
    return true;
  }

  /** Deletes files of expired jobs first if the disk is full. Writes that do not fit are done once there is space. */
  #begin(): void {
    if (this.reserve.isFull) this.expiry.deleteFiles();
    try {
      this.#tidyUp('the service ended without warning while it ran');
      this.#isTidy = true;
    } catch (error) {
      if (!this.reserve.isFull || !isDiskFull(error)) throw error;
    }
  }

  /** Requeues running jobs, except remote ones, and deletes expired ones. With `crash`, a requeue is a retry. */
  #tidyUp(crash: string | undefined): void {
    this.#db.transaction(() => this.#requeueRunning(crash))();
    this.expiry.deleteAll();
    this.#db.transaction(() => {
      this.clock.restartIfUnused();
      this.expiry.restartIdempotency();
    })();
  }

  #requeueRunning(crash: string | undefined): void {
    for (const { id } of this.#transitions.sql.running.all({ isPulled: 0 })) {
      const job = this.#transitions.sql.metadata.get(id);
      if (job !== undefined) this.#transitions.requeue(id, job, crash);
    }
  }
}

function openJobStore(path: string): Database {
  const db = openForWriting(path, jobSchema);
  // Overwrites deleted texts with zeros, and writes no temporary files.
  db.pragma('secure_delete = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma(`wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
  return db;
}
