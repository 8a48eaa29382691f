/** The job book: every job the service has accepted, on disk before anybody is told. */
import { type Database, openForWriting } from '../sqlite/database.ts';
import { GroupCommit } from '../sqlite/group-commit.ts';
import { JobExpiry, type JobExpiryParts } from './job-expiry.ts';
import { JobLedger, type JobOfWorker, type JobTaker } from './job-ledger.ts';
import type { JobState } from './job-moves.ts';
import { JobReads } from './job-reads.ts';
import { JobRounds } from './job-rounds.ts';
import { jobSchema } from './job-schema.ts';
import { JobSignals } from './job-signals.ts';
import type { TakenJob } from './job-statements.ts';
import { JobStreams } from './job-streams.ts';
import { defaultTerms, type JobTerms } from './job-terms.ts';

export type { JobOfWorker, JobTaker } from './job-ledger.ts';

/** How a job ended; `output` is JSON text, or stands in a file of this name. */
export type JobOutcome =
  | { state: 'COMPLETED'; output: string }
  | { state: 'COMPLETED'; outputFile: string }
  | { state: 'FAILED'; error: string };

export interface JobBookOptions extends Pick<JobExpiryParts, 'retentionMs' | 'now' | 'deleteFiles'> {
  /** How much of a job's stream is kept for those who have not read it. */
  maxUnreadBytes?: number;
}

/**
 * The event loop waits for the disk while the log is brought into the book. Jobs lie all over the book, so that the
 * log of many changes holds most pages several times and only the last counts: this is 16 MB of it.
 */
const pagesBetweenCheckpoints = 4_000;

/** Promises resolve when what they changed is on the disk. */
export class JobBook extends JobReads {
  readonly signals = new JobSignals();
  readonly streams: JobStreams;
  readonly rounds: JobRounds;
  readonly #db: Database;
  readonly #commit: GroupCommit;
  readonly #ledger: JobLedger;

  /** Opens or makes the book: what a dead service was working on is back in the queue, what is over is gone. */
  constructor(path: string, options: JobBookOptions) {
    const db = openBook(path);
    const ledger = new JobLedger(db, options.now, (job) => this.streams.forget(job));
    const commit = new GroupCommit(db);
    super({ sql: ledger.sql, expiry: new JobExpiry({ ...options, db, commit, sql: ledger.sql }) });
    this.#db = db;
    this.#ledger = ledger;
    this.#commit = commit;
    const parts = { ledger, commit, signals: this.signals };
    this.streams = new JobStreams({ ...parts, maxUnreadBytes: options.maxUnreadBytes });
    this.rounds = new JobRounds(parts);
    try {
      this.#tidyUp('the service ended without warning while it ran');
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
   * Queues a job behind all others of its endpoint and returns its id; undefined where as many as `maxQueued` wait.
   * `input` is JSON text of an object.
   */
  async accept(
    endpointId: string,
    input: string,
    given: Partial<JobTerms> = {},
    maxQueued = Infinity,
  ): Promise<string | undefined> {
    const terms = { ...defaultTerms, ...given };
    const id = await this.#commit.write(() => {
      if (this.queueLength(endpointId) >= maxQueued) return undefined;
      return this.#ledger.add(endpointId, input, terms);
    });
    if (id !== undefined) this.signals.queued(endpointId);
    return id;
  }

  /**
   * Marks jobs as in progress, longest in the queue first, one for each of the takers while there are any and, after
   * the first, while their inputs are no longer than `maxInputs` characters together.
   */
  async take(endpointId: string, takers: readonly JobTaker[], maxInputs = Infinity): Promise<TakenJob[]> {
    if (this.queueLength(endpointId) === 0) return [];
    const taken = await this.#commit.write(() => {
      const jobs = this.#ledger.nextInQueue(endpointId, takers.length, maxInputs);
      return jobs.flatMap((job, index) => {
        const taker = takers[index];
        if (taker === undefined) return [];
        this.#ledger.begin(job.id, taker);
        return [{ ...job, workerId: taker.workerId }];
      });
    });
    for (const { id } of taken) this.signals.moved(id);
    return taken;
  }

  /**
   * Ends a job by what its worker says. False, and nothing done, where it has ended in the meantime or is another
   * worker's by now. A job that was put back because its worker was silent, and waits, takes its result after all.
   */
  async settle({ id, workerId }: JobOfWorker, outcome: JobOutcome, log?: string): Promise<boolean> {
    const isHeard = await this.#commit.write(() => {
      const job = this.#ledger.sql.standing.get(id);
      if (job === undefined || job.endedAt !== null || job.workerId !== workerId) return false;
      if (job.state === 'IN_QUEUE') this.#ledger.begin(id, { workerId, isPulled: true });
      const { state, ...brought } = outcome;
      this.#ledger.end(id, state, { ...brought, ...(log !== undefined && { log }) });
      return true;
    });
    if (isHeard) this.signals.moved(id);
    return isHeard;
  }

  /**
   * Puts the job of a worker that died back into the queue, or fails it where that has happened too often. With
   * `isCounted` false it never reached the worker. Undefined where it is not the worker's job.
   */
  async putBack(
    given: JobOfWorker,
    why: string,
    { isCounted, log }: { isCounted: boolean; log?: string | undefined } = { isCounted: true },
  ): Promise<JobState | undefined> {
    const { id } = given;
    const now = await this.#commit.write(() => {
      const job = this.#ledger.heldBy(given);
      if (job === undefined) return undefined;
      const state = this.#ledger.putBack(id, job, isCounted ? why : undefined, log);
      return { state, endpointId: job.endpointId };
    });
    if (now === undefined) return undefined;
    this.signals.moved(id);
    if (now.state === 'IN_QUEUE') this.signals.queued(now.endpointId);
    return now.state;
  }

  /** Keeps what a worker says of a job that it is at; `message` is JSON text. */
  async setProgress(job: JobOfWorker, message: string): Promise<void> {
    await this.#commit.write(() => {
      if (this.isInProgress(job)) this.#ledger.sql.setProgress.run({ id: job.id, progress: message });
    });
  }

  /** Ends a job that is not over yet, and returns its state; undefined where there is none, as for `find`. */
  async cancel(endpointId: string, id: string): Promise<JobState | undefined> {
    const state = await this.#commit.write(() => {
      const job = this.#ledger.sql.standing.get(id);
      if (job === undefined || !this.isThere(job, endpointId)) return undefined;
      if (job.endedAt !== null) return job.state;
      this.#ledger.end(id, 'CANCELLED');
      return 'CANCELLED';
    });
    if (state === 'CANCELLED') this.signals.moved(id);
    return state;
  }

  /** Puts a job that failed or timed out into the queue anew, and returns what it was; undefined as for `find`. */
  async retry(endpointId: string, id: string): Promise<JobState | undefined> {
    const was = await this.#commit.write(() => {
      const job = this.#ledger.sql.standing.get(id);
      if (job === undefined || !this.isThere(job, endpointId)) return undefined;
      if (job.state === 'FAILED' || job.state === 'TIMED_OUT') {
        this.#ledger.queueAnew(id, job);
        this.#ledger.sql.deleteParts.run(job.number);
      }
      return job.state;
    });
    if (was === 'FAILED' || was === 'TIMED_OUT') {
      this.signals.moved(id);
      this.signals.queued(endpointId);
    }
    return was;
  }

  /** The files that hold outputs of jobs. */
  resultFiles(): Set<string> {
    return new Set(this.#ledger.sql.resultFiles.all().map(({ outputFile }) => outputFile));
  }

  /** Commits what was asked for so far, at once; resolves when those who wait for it have been told. */
  flush(): Promise<void> {
    return this.#commit.flush();
  }

  /** Commits, puts what is in progress back into the queue and deletes what is over; the file is closed in any case. */
  close(): void {
    try {
      this.#commit.close();
      this.#tidyUp(undefined);
    } finally {
      this.#db.close();
    }
  }

  /** Between two services: nobody works on anything but workers elsewhere. `death` is what ended the one before. */
  #tidyUp(death: string | undefined): void {
    this.#db.transaction(() => {
      for (const { id } of this.#ledger.sql.running.all({ isPulled: 0 })) {
        const job = this.#ledger.sql.standing.get(id);
        if (job !== undefined) this.#ledger.putBack(id, job, death);
      }
    })();
    this.expiry.deleteAll();
  }
}

function openBook(path: string): Database {
  const db = openForWriting(path, jobSchema);
  // Deleted texts are overwritten with zeros, and nothing is spilled to files elsewhere.
  db.pragma('secure_delete = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma(`wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
  return db;
}
