/** The job book: every job the service has accepted, on disk before anybody is told. */
import { randomUUID } from 'node:crypto';
import { type Database, openForWriting } from '../sqlite/database.ts';
import { GroupCommit } from '../sqlite/group-commit.ts';
import { JobExpiry, type JobExpiryParts } from './job-expiry.ts';
import { assertJobMove, type JobState } from './job-moves.ts';
import { jobSchema } from './job-schema.ts';
import { JobSignals } from './job-signals.ts';
import {
  type DueJob,
  type JobChange,
  type JobRecord,
  type JobStanding,
  prepareJobStatements,
  type TakenJob,
} from './job-statements.ts';
import { defaultTerms, type JobTerms } from './job-terms.ts';
import { summaryOf } from './job-summary.ts';
import { prepareWebhookStatements } from './webhook-statements.ts';

/** How a job ended; `output` is JSON text, or stands in a file of this name. */
export type JobOutcome =
  | { state: 'COMPLETED'; output: string }
  | { state: 'COMPLETED'; outputFile: string }
  | { state: 'FAILED'; error: string };

export interface JobBookOptions extends Pick<JobExpiryParts, 'retentionMs' | 'now' | 'deleteFiles'> {
  /** How much of a job's stream is kept for those who have not read it. */
  maxUnreadBytes?: number;
}

/** Who works on a job. */
export interface JobTaker {
  workerId: string;
  /** Whether it asks over the network, so that it may outlive the service. */
  isPulled: boolean;
}

/** Few enough that other requests are not kept waiting. */
const changesAtOnce = 100;

/**
 * The event loop waits for the disk while the log is brought into the book. Jobs lie all over the book, so that the
 * log of many changes holds most pages several times and only the last counts: this is 16 MB of it.
 */
const pagesBetweenCheckpoints = 4_000;

/** Of a job's stream that nobody has read, in bytes: all of it is handed out as one text. */
const defaultMaxUnreadBytes = 100 * 1024 * 1024;

/** What a part takes beside its text. */
const partBytes = 100;

/** Promises resolve when what they changed is on the disk; reading never waits. */
export class JobBook {
  readonly signals = new JobSignals();
  readonly expiry: JobExpiry;
  readonly #db: Database;
  readonly #commit: GroupCommit;
  readonly #sql: ReturnType<typeof prepareJobStatements>;
  readonly #webhooks: ReturnType<typeof prepareWebhookStatements>;
  readonly #options: JobBookOptions;
  /** Of streams since this start, by the number of the job. */
  readonly #unreadBytes = new Map<number, number>();

  /** Opens or makes the book: what a dead service was working on is back in the queue, what is over is gone. */
  constructor(path: string, options: JobBookOptions) {
    this.#options = options;
    this.#db = openForWriting(path, jobSchema);
    // Deleted texts are overwritten with zeros, and nothing is spilled to files elsewhere.
    this.#db.pragma('secure_delete = ON');
    this.#db.pragma('temp_store = MEMORY');
    this.#db.pragma(`wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
    this.#sql = prepareJobStatements(this.#db);
    this.#webhooks = prepareWebhookStatements(this.#db);
    this.#commit = new GroupCommit(this.#db);
    this.expiry = new JobExpiry({ ...options, db: this.#db, commit: this.#commit, sql: this.#sql });
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

  /** As `acceptUpTo`, however many wait. */
  async accept(endpointId: string, input: string, given: Partial<JobTerms> = {}): Promise<string> {
    const id = await this.acceptUpTo(Infinity, endpointId, input, given);
    if (id === undefined) throw new Error('a queue without a bound is full');
    return id;
  }

  /**
   * Queues a job behind all others of its endpoint and returns its id; undefined where as many as `maxQueued` wait.
   * `input` is JSON text of an object.
   */
  async acceptUpTo(
    maxQueued: number,
    endpointId: string,
    input: string,
    given: Partial<JobTerms> = {},
  ): Promise<string | undefined> {
    const terms = { ...defaultTerms, ...given };
    const id = await this.#commit.write(() => {
      if (this.queueLength(endpointId) >= maxQueued) return undefined;
      const newId = (terms.isSync ? 'sync-' : '') + randomUUID();
      const { keyId, ttlMs, executionTimeoutMs, maxRetries } = terms;
      const { lastInsertRowid } = this.#sql.insert.run({
        id: newId,
        endpointId,
        now: this.#now(),
        keyId,
        ttlMs,
        executionTimeoutMs,
        maxRetries,
        isLowPriority: terms.isLowPriority ? 1 : 0,
        summary: summaryOf(input),
        input,
      });
      if (terms.webhook !== null) this.#webhooks.add.run(lastInsertRowid, terms.webhook);
      return newId;
    });
    if (id !== undefined) this.signals.queued(endpointId);
    return id;
  }

  /** How many of the endpoint's jobs wait. */
  queueLength(endpointId: string): number {
    return this.#sql.queued.get(endpointId)?.jobs ?? 0;
  }

  /**
   * Marks jobs as in progress, longest in the queue first, one for each of the takers while there are any and, after
   * the first, while their inputs are no longer than `maxInputs` characters together.
   */
  async take(endpointId: string, takers: readonly JobTaker[], maxInputs = Infinity): Promise<TakenJob[]> {
    if (this.queueLength(endpointId) === 0) return [];
    const taken = await this.#commit.write(() => {
      const jobs = this.#nextInQueue(endpointId, takers.length, maxInputs);
      return jobs.flatMap((job, index) => {
        const taker = takers[index];
        if (taker === undefined) return [];
        this.#begin(job.id, taker);
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
      const job = this.#sql.standing.get(id);
      if (job === undefined || job.endedAt !== null || job.workerId !== workerId) return false;
      if (job.state === 'IN_QUEUE') this.#begin(id, { workerId, isPulled: true });
      const ended = { ...outcome, endedAt: this.#now(), ...(log !== undefined && { log }) };
      this.#move(id, outcome.state, ended);
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
    { id, workerId }: JobOfWorker,
    why: string,
    { isCounted, log }: { isCounted: boolean; log?: string | undefined } = { isCounted: true },
  ): Promise<JobState | undefined> {
    const now = await this.#commit.write(() => {
      const job = this.#sql.standing.get(id);
      if (job === undefined || job.state !== 'IN_PROGRESS' || job.workerId !== workerId) return undefined;
      const state = this.#putBack(id, job, isCounted ? why : undefined, log);
      return { state, endpointId: job.endpointId };
    });
    if (now === undefined) return undefined;
    this.signals.moved(id);
    if (now.state === 'IN_QUEUE') this.signals.queued(now.endpointId);
    return now.state;
  }

  /** Keeps what a worker says of a job that it is at; `message` is JSON text. */
  async setProgress({ id, workerId }: JobOfWorker, message: string): Promise<void> {
    await this.#commit.write(() => {
      if (this.#isAt(id, workerId)) this.#sql.setProgress.run({ id, progress: message });
    });
  }

  /**
   * Adds to the stream of a job; `output` is JSON text. False, and nothing done, where it is not the worker's job or
   * more of the stream is unread already than is kept.
   */
  async addPart({ id, workerId }: JobOfWorker, output: string): Promise<boolean> {
    const isHeard = await this.#commit.write(() => {
      const job = this.#isAt(id, workerId);
      if (job === undefined) return false;
      const unread = (this.#unreadBytes.get(job.number) ?? 0) + Buffer.byteLength(output) + partBytes;
      if (unread > (this.#options.maxUnreadBytes ?? defaultMaxUnreadBytes)) return false;
      this.#sql.addPart.run({ job: job.number, output });
      this.#unreadBytes.set(job.number, unread);
      return true;
    });
    if (isHeard) this.signals.streamed(id);
    return isHeard;
  }

  /** Whether there is something new in the stream of a job. */
  hasParts(id: string): boolean {
    const job = this.#sql.standing.get(id);
    return job !== undefined && this.#sql.parts.get(job.number) !== undefined;
  }

  /** What is new in the stream of a job, as JSON texts; each is handed out once. */
  async drainParts(id: string): Promise<string[]> {
    const job = this.#sql.standing.get(id);
    if (job === undefined || !this.hasParts(id)) return [];
    return await this.#commit.write(() => {
      const parts = this.#sql.parts.all(job.number);
      this.#sql.deleteParts.run(job.number);
      this.#unreadBytes.delete(job.number);
      return parts.map(({ output }) => output);
    });
  }

  /** Ends a job that is not over yet, and returns its state; undefined where there is none, as for `find`. */
  async cancel(endpointId: string, id: string): Promise<JobState | undefined> {
    const state = await this.#commit.write(() => {
      const job = this.#sql.standing.get(id);
      if (job === undefined || !this.#isThere(job, endpointId)) return undefined;
      if (job.endedAt !== null) return job.state;
      this.#move(id, 'CANCELLED', { endedAt: this.#now() });
      return 'CANCELLED';
    });
    if (state === 'CANCELLED') this.signals.moved(id);
    return state;
  }

  /** Puts a job that failed or timed out into the queue anew, and returns what it was; undefined as for `find`. */
  async retry(endpointId: string, id: string): Promise<JobState | undefined> {
    const was = await this.#commit.write(() => {
      const job = this.#sql.standing.get(id);
      if (job === undefined || !this.#isThere(job, endpointId)) return undefined;
      if (job.state === 'FAILED' || job.state === 'TIMED_OUT') {
        const queuedAt = this.#now();
        this.#move(id, 'IN_QUEUE', {
          queuedAt,
          expiresAt: queuedAt + job.ttlMs,
          retries: 0,
          workerId: nobody,
        });
        this.#sql.deleteParts.run(job.number);
      }
      return job.state;
    });
    if (was === 'FAILED' || was === 'TIMED_OUT') {
      this.signals.moved(id);
      this.signals.queued(endpointId);
    }
    return was;
  }

  /** Cancels all that wait at the endpoint, and returns how many. */
  async purgeQueue(endpointId: string): Promise<number> {
    let removed = 0;
    for (let some: string[] | undefined; some === undefined || some.length > 0; removed += some.length) {
      // The disk is waited for once, at the end.
      some = await this.#commit.writeUnsynced(() => this.#cancelSome(endpointId));
      for (const id of some) this.signals.moved(id);
    }
    await this.#commit.write(() => undefined);
    return removed;
  }

  /** Cancels all of an endpoint's jobs that are not over. */
  async cancelAll(endpointId: string): Promise<void> {
    await this.purgeQueue(endpointId);
    const running = this.#sql.running.all({ isPulled: 0 }).concat(this.#sql.running.all({ isPulled: 1 }));
    const its = running.filter((job) => job.endpointId === endpointId);
    await Promise.all(its.map(({ id }) => this.cancel(endpointId, id)));
  }

  /** Puts what the service's own workers at an endpoint are at back into the queue; it does not count against the jobs. */
  async putBackOwn(endpointId: string): Promise<void> {
    const its = this.#sql.running.all({ isPulled: 0 }).filter((job) => job.endpointId === endpointId);
    const why = 'the endpoint was changed';
    await Promise.all(
      its.map(({ id, workerId }) =>
        this.putBack({ id, workerId: workerId ?? '' }, why, { isCounted: false }),
      ),
    );
  }

  /** Ends what has been worked on, or has waited, for too long; returns some of it: call until there is none. */
  async timeOutSome(): Promise<DueJob[]> {
    if (this.#sql.due.get({ now: this.#now(), max: 1 }) === undefined) return [];
    const due = await this.#commit.write(() => {
      const jobs = this.#sql.due.all({ now: this.#now(), max: changesAtOnce });
      for (const job of jobs)
        this.#move(job.id, 'TIMED_OUT', { endedAt: this.#now(), error: timeOutText(job) });
      return jobs;
    });
    for (const { id } of due) this.signals.moved(id);
    return due;
  }

  isInProgress({ id, workerId }: JobOfWorker): boolean {
    return this.#isAt(id, workerId) !== undefined;
  }

  /** Whether it ended by what this worker said of it. */
  wasSettledBy({ id, workerId }: JobOfWorker): boolean {
    const job = this.#sql.standing.get(id);
    return job?.workerId === workerId && (job.state === 'COMPLETED' || job.state === 'FAILED');
  }

  /** What workers elsewhere are at, as far as the book knows. */
  pulledJobs(): { id: string; endpointId: string; workerId: string | null }[] {
    return this.#sql.running.all({ isPulled: 1 });
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

  /** Whether there is a job of this id at the endpoint, as for `find`. */
  has(endpointId: string, id: string): boolean {
    const job = this.#sql.standing.get(id);
    return job !== undefined && this.#isThere(job, endpointId);
  }

  hasEnded(id: string): boolean {
    return this.#sql.standing.get(id)?.endedAt !== null;
  }

  /** The files that hold outputs of jobs. */
  resultFiles(): Set<string> {
    return new Set(this.#sql.resultFiles.all().map(({ outputFile }) => outputFile));
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
      for (const { id } of this.#sql.running.all({ isPulled: 0 })) {
        const job = this.#sql.standing.get(id);
        if (job !== undefined) this.#putBack(id, job, death);
      }
    })();
    this.expiry.deleteAll();
  }

  #nextInQueue(endpointId: string, max: number, maxInputs: number): { id: string; input: string }[] {
    const jobs: { id: string; input: string }[] = [];
    let length = 0;
    // One at a time: all that may wait do not fit into memory.
    for (const job of this.#sql.nextInQueue.iterate({ endpointId, max })) {
      length += job.input.length;
      if (jobs.length > 0 && length > maxInputs) break;
      jobs.push(job);
    }
    return jobs;
  }

  #cancelSome(endpointId: string): string[] {
    const jobs = this.#sql.nextIds.all({ endpointId, max: changesAtOnce });
    for (const { id } of jobs) this.#move(id, 'CANCELLED', { endedAt: this.#now() });
    return jobs.map(({ id }) => id);
  }

  /** `death` is undefined where it does not count. */
  #putBack(
    id: string,
    { retries, maxRetries }: JobStanding,
    death: string | undefined,
    log?: string,
  ): JobState {
    const kept = log === undefined ? {} : { log };
    if (death !== undefined && retries >= maxRetries) {
      const error = `the worker of this job died ${retries + 1} times, which is more than its ${maxRetries} retries: ${death}`;
      this.#move(id, 'FAILED', { ...kept, error, endedAt: this.#now() });
      return 'FAILED';
    }
    const counted = death === undefined ? {} : { retries: retries + 1 };
    this.#move(id, 'IN_QUEUE', { ...kept, ...counted, queuedAt: this.#now() });
    return 'IN_QUEUE';
  }

  #begin(id: string, { workerId, isPulled }: JobTaker): void {
    this.#move(id, 'IN_PROGRESS', { startedAt: this.#now(), workerId, isPulled: isPulled ? 1 : 0 });
  }

  #move(id: string, to: JobState, change: JobChange): void {
    const job = this.#sql.standing.get(id);
    if (job === undefined) throw new Error(`the book holds no job ${id} that could become ${to}`);
    assertJobMove(job.state, to);
    this.#sql.move.run({ ...nothing, ...change, id, state: to });
    if (change.endedAt === undefined) return;
    this.#unreadBytes.delete(job.number);
    this.#webhooks.begin.run(change.endedAt, job.number);
  }

  #isAt(id: string, workerId: string): JobStanding | undefined {
    const job = this.#sql.standing.get(id);
    return job?.state === 'IN_PROGRESS' && job.workerId === workerId ? job : undefined;
  }

  #isThere(job: Pick<JobStanding, 'endpointId' | 'endedAt'>, endpointId: string): boolean {
    return job.endpointId === endpointId && !this.expiry.isOver(job);
  }

  #now(): number {
    return Math.floor(this.#options.now());
  }
}

/** A job, and the worker that is at it. */
export interface JobOfWorker {
  id: string;
  workerId: string;
}

/** A result of the worker before is not wanted any more. */
const nobody = '';

const nothing = {
  queuedAt: null,
  startedAt: null,
  expiresAt: null,
  retries: null,
  workerId: null,
  isPulled: null,
  endedAt: null,
  output: null,
  outputFile: null,
  error: null,
  log: null,
};

function timeOutText({ isExpired, state, ttlMs, executionTimeoutMs }: DueJob): string {
  if (isExpired === 0)
    return `job timed out: it was at work for longer than its execution time-out of ${executionTimeoutMs} ms`;
  const where = state === 'IN_QUEUE' ? 'it was still in the queue' : 'it was still in progress';
  return `job timed out: ${where} ${ttlMs} ms after its submission, which is its time to live`;
}
