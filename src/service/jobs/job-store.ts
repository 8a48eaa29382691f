/** The job store: every job the service has accepted, on disk before it is acknowledged. */
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { type Database, openForWriting } from '../../lib/sqlite/database.ts';
import { GroupCommit } from '../../lib/sqlite/group-commit.ts';
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import { JobReserve, reserveIn } from './job-reserve.ts';
import { JobClock } from './job-clock.ts';
import { JobDurations } from './job-durations.ts';
import { JobHistory } from './job-history.ts';
import { JobExpiry } from './job-expiry.ts';
import { JobTransitions } from './job-transitions.ts';
import { type Idempotency, type JobState, defaultTerms, type JobTerms } from '../model/job.ts';
import { JobReads } from './job-reads.ts';
import { BulkJobs } from './bulk-jobs.ts';
import { jobSchema } from './job-schema.ts';
import { KeyUsage } from './key-usage.ts';
import { JobSignals } from './job-signals.ts';
import { JobStreams } from './job-streams.ts';
import { JobWork } from './job-work.ts';
import type { Replica } from '../replication/replica.ts';
import type { SharedFiles } from '../replication/shared-files.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import { LongTexts, longText } from './long-texts.ts';

export interface JobStoreOptions {
  /** How long a settled job is kept. */
  retentionMs: number;
  /** System clock, epoch ms. */
  now: () => number;
  /** Monotonic clock, ms; `now` by default. */
  elapsed?: () => number;
  /** How much of a job's stream is kept for those who have not read it. */
  maxUnreadBytes?: number;
  /** Room that is kept on the disk for ending jobs, and deleting what is over, when it is full; 0 by default. */
  reserveBytes?: number;
  /** True if the disk is full: no job is begun until there is room. */
  isDiskFull?: boolean;
  /** Receives a message for each problem with the disk. */
  onProblem?: (text: string) => void;
  /** What makes commits last, where the disk does not. */
  logOf?: (db: Database) => Replica;
  /** Where other processes find long texts. */
  texts?: SharedFiles;
}

/**
 * The event loop waits for the disk while the log is brought into the store. Jobs lie all over the store, so that the
 * log of many changes holds most pages several times and only the last counts: this is 16 MB of it.
 */
const pagesBetweenCheckpoints = 4_000;

/** A job that is in the store, since now or since its submission came before. */
export interface Accepted {
  id: string;
  state: JobState;
  isNew: boolean;
}

/** When a job is not accepted; none by default. */
export interface QueueLimits<Refusal> {
  /** Jobs that wait at the endpoint. */
  maxQueued?: number;
  /** Returns why its key may have no such job besides; asked again as it is written. */
  refuse?: () => Refusal | undefined;
}

/** Promises resolve when what they changed is on the disk. */
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
  /** For whatever else ends jobs. */
  readonly reserve: JobReserve;
  readonly #db: Database;
  readonly #commit: GroupCommit;
  /** Where what is written here goes as well. */
  readonly replica: Replica | undefined;
  readonly #tidied: Promise<void>;
  readonly #transitions: JobTransitions;
  readonly #texts: LongTexts;
  /** False until what a dead service left in progress is back in the queue, which a full disk delays. */
  #isTidy = false;

  /**
   * Opens or makes the store, with its long texts in sidecar folders: what a dead service was working on is back in the
   * queue, what is over is gone.
   */
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

  /** For tables beside the jobs, in the same file and the same commits. */
  get file(): { db: Database; commit: GroupCommit } {
    return { db: this.#db, commit: this.#commit };
  }

  /**
   * Queues a job behind all others of its endpoint; undefined where as many as `maxQueued` wait, or the refusal. Where it was submitted
   * before, that job is returned, or that its body was another. `input` is JSON text of an object.
   */
  async accept<Refusal = never>(
    endpointId: string,
    input: Text,
    given: Partial<JobTerms> = {},
    { maxQueued = Infinity, refuse = () => undefined }: QueueLimits<Refusal> = {},
  ): Promise<Accepted | 'another body' | Refusal | undefined> {
    const terms = { ...defaultTerms, ...given };
    const isFull = (): boolean => this.reads.queueLength(endpointId) >= maxQueued;
    // What is long is written before it is its turn.
    if (input.length >= longText && terms.idempotency === null) {
      const refused = refuse();
      if (refused !== undefined || isFull()) return refused;
    }
    let before: Accepted | 'another body' | Refusal | undefined;
    const id = (terms.isSync ? 'sync-' : '') + randomUUID();
    const isAccepted = await this.#texts.withStored('inputs', input, (stored) =>
      this.#commit.write(() => {
        // Of two at once the second finds the first, and is on the disk no sooner than that.
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
    // It is over and not deleted yet: its key is that of the next one.
    sql.forgetKey.run(key);
    return undefined;
  }

  /** Has workers take no more jobs of an endpoint, also after a new start, until it goes on. */
  async pause(endpointId: string, isPaused: boolean): Promise<void> {
    await this.#commit.write(() => this.#transitions.queue.pause(endpointId, isPaused));
    if (!isPaused) this.signals.queued(endpointId);
  }

  /** How many jobs run in this process, which ends them by its end. */
  get runningHere(): number {
    return this.#isTidy ? this.#transitions.sql.running.all({ isPulled: 0 }).length : 0;
  }

  /** From now on no worker is given a job: the service is about to end. */
  stopGiving(): void {
    this.#transitions.queue.isStopped = true;
  }

  /** Ends a job that is not over yet, and returns its state; undefined where there is none, as for `find`. */
  async cancel(endpointId: string, id: string): Promise<JobState | undefined> {
    const state = await this.#stop(() => {
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
   * Puts a job that failed or timed out into the queue anew, and returns what it was; undefined as for `find`. `refuse` may refuse a job
   * whose input has so many bytes; what it returns is returned then.
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
      if (job.state === 'FAILED' || job.state === 'TIMED_OUT') {
        // Its results would go elsewhere than they were to.
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
    if (was === 'FAILED' || was === 'TIMED_OUT') {
      this.signals.changed(id);
      this.signals.queued(endpointId);
    }
    return was;
  }

  /** Returns how far the system clock has moved since this was asked last, and keeps it for the next start. */
  async keepClockStep(): Promise<number> {
    const { stepMs } = this.clock;
    if (stepMs !== 0) await this.#stop(() => this.clock.keepStep());
    return stepMs;
  }

  /** Resolves when all that was committed so far lasts, and what a dead service wrote in vain is gone. */
  async settled(): Promise<void> {
    await this.#tidied;
    await this.replica?.settled();
  }

  /** Puts what is in progress back into the queue and commits what was asked for; resolves when those who wait for it have been told. */
  async settle(): Promise<void> {
    const requeued = this.#commit.write(() => this.#requeueRunning(undefined));
    await this.#commit.flush();
    await requeued;
  }

  /** Commits, puts what is in progress back into the queue and deletes what is over; the file is closed in any case. */
  close(): void {
    try {
      this.#commit.close();
      // Where others lead by now, what is here is nobody's.
      if (this.replica === undefined) this.#tidyUp(undefined);
    } finally {
      this.#db.close();
      // Whoever waits still learns that nothing comes.
      this.signals.all();
    }
  }

  /** Writes also on a full disk. */
  #stop<T>(work: () => T): Promise<T> {
    return this.reserve.spend(() => this.#commit.write(work));
  }

  /** Takes jobs on again if the disk was full and has room by now; returns whether it does. */
  refill(): boolean {
    if (!this.reserve.refill()) return false;
    if (!this.#isTidy) this.#begin();
    return true;
  }

  /** On a full disk, what is over goes first; what cannot be written is done once there is room. */
  #begin(): void {
    if (this.reserve.isFull) this.expiry.deleteFiles();
    try {
      this.#tidyUp('the service ended without warning while it ran');
      this.#isTidy = true;
    } catch (error) {
      if (!this.reserve.isFull || !isDiskFull(error)) throw error;
    }
  }

  /** Between two services: nobody works on anything but workers elsewhere. `death` is what ended the one before. */
  #tidyUp(death: string | undefined): void {
    this.#db.transaction(() => this.#requeueRunning(death))();
    this.expiry.deleteAll();
    this.#db.transaction(() => {
      this.clock.restartIfUnused();
      this.expiry.restartIdempotency();
    })();
  }

  #requeueRunning(death: string | undefined): void {
    for (const { id } of this.#transitions.sql.running.all({ isPulled: 0 })) {
      const job = this.#transitions.sql.metadata.get(id);
      if (job !== undefined) this.#transitions.requeue(id, job, death);
    }
  }
}

function openJobStore(path: string): Database {
  const db = openForWriting(path, jobSchema);
  // Deleted texts are overwritten with zeros, and nothing is spilled to files elsewhere.
  db.pragma('secure_delete = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma(`wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
  return db;
}
