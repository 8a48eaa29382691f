/** The job book: every job the service has accepted, on disk before anybody is told. */
import { randomUUID } from 'node:crypto';
import { type Database, openForWriting } from '../sqlite/database.ts';
import { GroupCommit } from '../sqlite/group-commit.ts';
import { assertJobMove, type JobState } from './job-moves.ts';
import { jobSchema } from './job-schema.ts';
import {
  type JobChange,
  type JobRecord,
  type JobStanding,
  prepareJobStatements,
  type TakenJob,
} from './job-statements.ts';

/** How a job ended; `output` is JSON text. */
export type JobOutcome = { state: 'COMPLETED'; output: string } | { state: 'FAILED'; error: string };

export interface JobBookOptions {
  /** How long a settled job is kept. */
  retentionMs: number;
  /** Wall clock, epoch ms. */
  now: () => number;
}

/** Few enough that deleting large results never holds the service up for long. */
const deletionsAtOnce = 25;

/** A book up to this size is small enough to be rewritten in an instant. */
const maxRebuildBytes = 64 * 1024 * 1024;

/** Promises resolve when what they changed is on the disk; reading never waits. */
export class JobBook {
  readonly #db: Database;
  readonly #commit: GroupCommit;
  readonly #sql: ReturnType<typeof prepareJobStatements>;
  readonly #options: JobBookOptions;
  #mayHoldRemains = true;

  /** Opens or makes the book: what a dead service was working on is back in the queue, what is over is gone. */
  constructor(path: string, options: JobBookOptions) {
    this.#options = options;
    this.#db = openForWriting(path, jobSchema);
    // Deleted texts are overwritten with zeros, and nothing is spilled to files elsewhere.
    this.#db.pragma('secure_delete = ON');
    this.#db.pragma('temp_store = MEMORY');
    this.#sql = prepareJobStatements(this.#db);
    this.#commit = new GroupCommit(this.#db);
    try {
      this.#tidyUp();
    } catch (error) {
      this.#commit.close();
      this.#db.close();
      throw error;
    }
  }

  /** Queues a job behind all others of its endpoint and returns its id; `input` is JSON text of an object. */
  accept(endpointId: string, input: string): Promise<string> {
    return this.#commit.write(() => {
      const id = randomUUID();
      const now = this.#now();
      this.#sql.insert.run({ id, endpointId, now, input });
      return id;
    });
  }

  /** Marks up to `max` jobs as in progress, longest in the queue first, and hands them out. */
  take(endpointId: string, max: number): Promise<TakenJob[]> {
    return this.#commit.write(() => {
      const jobs = this.#sql.nextInQueue.all({ endpointId, max });
      for (const { id } of jobs) this.#move(id, 'IN_PROGRESS', { startedAt: this.#now() });
      return jobs;
    });
  }

  /** Does nothing to a job that was cancelled in the meantime. */
  settle(id: string, outcome: JobOutcome): Promise<void> {
    return this.#commit.write(() => {
      if (this.#sql.standing.get(id)?.state === 'CANCELLED') return;
      this.#move(id, outcome.state, { ...outcome, endedAt: this.#now() });
    });
  }

  /** Ends a job that is not over yet, and returns its state; undefined where there is none, as for `find`. */
  cancel(endpointId: string, id: string): Promise<JobState | undefined> {
    return this.#commit.write(() => {
      const job = this.#sql.standing.get(id);
      if (job === undefined || !this.#isThere(job, endpointId)) return undefined;
      if (job.endedAt !== null) return job.state;
      this.#move(id, 'CANCELLED', { endedAt: this.#now() });
      return 'CANCELLED';
    });
  }

  isInProgress(id: string): boolean {
    return this.#sql.standing.get(id)?.state === 'IN_PROGRESS';
  }

  /** How many jobs of the endpoint are in each state or ended in it, and how often one was put back into the queue. */
  tally(endpointId: string): Partial<Record<JobState | 'retried', number>> {
    return Object.fromEntries(this.#sql.tally.all(endpointId).map(({ what, jobs }) => [what, jobs]));
  }

  /** The job, unless there is none of this id at the endpoint or its time is over. */
  find(endpointId: string, id: string): JobRecord | undefined {
    const job = this.#sql.find.get(id);
    return job !== undefined && this.#isThere(job, endpointId) ? job : undefined;
  }

  /** Deletes a few of the jobs whose time is over and returns how many; call until 0, then `scrub`. */
  deleteSomeExpired(): number {
    const { changes } = this.#sql.deleteExpired.run({
      until: this.#newestExpiredEnd(),
      max: deletionsAtOnce,
    });
    if (changes > 0) this.#mayHoldRemains = true;
    return changes;
  }

  /**
   * Removes what deleted jobs left behind: their copies in the write-ahead log, and the copies of texts that SQLite
   * leaves in a page when it moves rows to another, which `secure_delete` does not reach. The latter takes a rewrite
   * of the book, so it is done to small books while they are idle, at start and at the end.
   */
  scrub(isIdle = this.#sql.open.get() === undefined): void {
    const bytes = this.#pragma('page_count') * this.#pragma('page_size');
    if (this.#mayHoldRemains && isIdle && bytes <= maxRebuildBytes) {
      this.#db.exec('VACUUM');
      this.#mayHoldRemains = false;
    }
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** Commits what was asked for so far, at once; resolves when those who wait for it have been told. */
  flush(): Promise<void> {
    return this.#commit.flush();
  }

  /** Commits, puts what is in progress back into the queue and deletes what is over; the file is closed in any case. */
  close(): void {
    try {
      this.#commit.close();
      this.#tidyUp();
    } finally {
      this.#db.close();
    }
  }

  /** Between two services: nobody works on anything. */
  #tidyUp(): void {
    this.#putBackRunning();
    while (this.deleteSomeExpired() > 0);
    this.scrub(true);
  }

  #putBackRunning(): void {
    const queuedAt = this.#now();
    this.#db.transaction(() => {
      for (const { id } of this.#sql.running.all()) this.#move(id, 'IN_QUEUE', { queuedAt });
    })();
  }

  #move(id: string, to: JobState, change: JobChange): void {
    const from = this.#sql.standing.get(id)?.state;
    if (from === undefined) throw new Error(`the book holds no job ${id} that could become ${to}`);
    assertJobMove(from, to);
    const nothing = { queuedAt: null, startedAt: null, endedAt: null, output: null, error: null };
    this.#sql.move.run({ ...nothing, ...change, id, state: to });
  }

  #isThere(job: JobStanding, endpointId: string): boolean {
    return job.endpointId === endpointId && (job.endedAt === null || job.endedAt > this.#newestExpiredEnd());
  }

  /** Jobs that ended at this instant or before are over. */
  #newestExpiredEnd(): number {
    return this.#now() - this.#options.retentionMs;
  }

  #now(): number {
    return Math.floor(this.#options.now());
  }

  #pragma(name: string): number {
    return Number(this.#db.pragma(name, { simple: true }));
  }
}
