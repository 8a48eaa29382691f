/** Adds jobs to the store and moves them between states, within the caller's transaction. */
import type { Database } from '../../lib/sqlite/database.ts';
import { prepareWebhookStatements, queueOf } from './webhook-statements.ts';
import type { EndedJob } from './job-history.ts';
import { FairQueue } from './fair-queue.ts';
import { assertTransition, type JobState, type JobTerms } from '../model/job.ts';
import {
  type DueJob,
  type JobChange,
  type JobMetadata,
  prepareJobStatements,
  type WaitingJob,
} from './job-statements.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import type { StoredText } from './long-texts.ts';

export interface JobOfWorker {
  id: string;
  workerId: string;
}

export interface JobTaker {
  workerId: string;
  /** True if the worker pulls jobs over the network, so it may outlive the service. */
  isPulled: boolean;
}

/** Maximum number of jobs changed in one transaction, so that other requests do not wait. */
const changesAtOnce = 100;

/** Stored as the worker of a retried job, so that results of its earlier worker are refused. */
const noWorker = '';

export class JobTransitions {
  readonly sql: ReturnType<typeof prepareJobStatements>;
  readonly queue: FairQueue;
  readonly #webhooks: ReturnType<typeof prepareWebhookStatements>;
  readonly #wallClock: () => number;
  readonly #onEnd: (job: number, ended: EndedJob) => void;

  /** `onEnd` receives each job that ends, with its number. */
  constructor(db: Database, now: () => number, onEnd: (job: number, ended: EndedJob) => void) {
    this.sql = prepareJobStatements(db);
    this.queue = new FairQueue(db);
    this.#webhooks = prepareWebhookStatements(db);
    this.#wallClock = now;
    this.#onEnd = onEnd;
  }

  /** Adds a job whose input is already stored. */
  add(id: string, endpointId: string, input: Text, stored: StoredText, terms: JobTerms): void {
    const { keyId, ttlMs, executionTimeoutMs, maxRetries } = terms;
    const inputBytes = Buffer.byteLength(input);
    const { lastInsertRowid } = this.sql.insert.run({
      id,
      endpointId,
      now: this.#now(),
      keyId,
      ttlMs,
      executionTimeoutMs,
      maxRetries,
      isLowPriority: terms.isLowPriority ? 1 : 0,
      summary: summaryOf(input),
      inputBytes,
    });
    const bytes = stored.file === null ? null : inputBytes;
    const { key = null, body = null } = terms.idempotency ?? {};
    this.sql.addInput.run(lastInsertRowid, stored.file, bytes, stored.text, key, body);
    if (terms.s3Config !== null) this.sql.addS3Config.run(lastInsertRowid, terms.s3Config);
    if (terms.webhook !== null)
      this.#webhooks.add.run(lastInsertRowid, terms.webhook, queueOf(terms.webhook, keyId));
  }

  /**
   * Returns up to `max` queued jobs, in queue order, whose inputs have at most `maxInputs` characters together. The
   * first job is returned whatever its size.
   */
  nextInQueue(endpointId: string, max: number, maxInputs: number): WaitingJob[] {
    const jobs: WaitingJob[] = [];
    let length = 0;
    // Reads one job at a time: all queued jobs do not fit into memory.
    for (const job of this.queue.next(endpointId)) {
      length += job.bytes ?? job.text?.length ?? 0;
      if (jobs.length > 0 && length > maxInputs) break;
      jobs.push(job);
      if (jobs.length === max) break;
    }
    return jobs;
  }

  begin(id: string, { workerId, isPulled }: JobTaker): void {
    this.#move(id, 'IN_PROGRESS', { startedAt: this.#now(), workerId, isPulled: isPulled ? 1 : 0 });
  }

  end(id: string, state: JobState, how: JobChange = {}): void {
    this.#move(id, state, { ...how, endedAt: this.#now() });
  }

  /**
   * Puts a running job back into the queue, and returns its new state. If `crash` says why its worker died, this
   * counts as a retry, and the job fails if none is left.
   */
  requeue(
    id: string,
    { retries, maxRetries }: JobMetadata,
    crash: string | undefined,
    log?: string,
  ): JobState {
    const kept = log === undefined ? {} : { log };
    if (crash !== undefined && retries >= maxRetries) {
      const error = `the worker of this job died ${retries + 1} times, with ${maxRetries} retries allowed: ${crash}`;
      this.end(id, 'FAILED', { ...kept, error });
      return 'FAILED';
    }
    const counted = crash === undefined ? {} : { retries: retries + 1 };
    this.#move(id, 'IN_QUEUE', { ...kept, ...counted, queuedAt: this.#now() });
    return 'IN_QUEUE';
  }

  /** Queues an ended job again, with a new time to live and all its retries. */
  queueAgain(id: string, { number, ttlMs }: JobMetadata): void {
    const queuedAt = this.#now();
    this.#webhooks.begin.run(null, number);
    this.#move(id, 'IN_QUEUE', { queuedAt, expiresAt: queuedAt + ttlMs, retries: 0, workerId: noWorker });
  }

  /** Cancels some queued jobs of the endpoint, of one key or of all, and returns their ids. */
  cancelSome(endpointId: string, keyId: string | undefined): string[] {
    const some = { endpointId, max: changesAtOnce };
    const jobs =
      keyId === undefined
        ? this.sql.someWaiting.all(some)
        : this.sql.someWaitingOfKey.all({ ...some, keyId });
    for (const { id } of jobs) this.end(id, 'CANCELLED');
    return jobs.map(({ id }) => id);
  }

  isAnyDue(): boolean {
    return this.sql.due.get({ now: this.#now(), max: 1 }) !== undefined;
  }

  timeOutSome(): DueJob[] {
    const jobs = this.sql.due.all({ now: this.#now(), max: changesAtOnce });
    for (const job of jobs) this.end(job.id, 'TIMED_OUT', { error: timeOutText(job) });
    return jobs;
  }

  /** Returns the job if this worker runs it. */
  runningOn({ id, workerId }: JobOfWorker): JobMetadata | undefined {
    const job = this.sql.metadata.get(id);
    return job?.state === 'IN_PROGRESS' && job.workerId === workerId ? job : undefined;
  }

  #move(id: string, to: JobState, change: JobChange): void {
    const job = this.sql.metadata.get(id);
    if (job === undefined) throw new Error(`the store has no job ${id} that could become ${to}`);
    assertTransition(job.state, to);
    this.sql.move.run({ ...noChanges, ...change, id, state: to });
    if (change.endedAt === undefined) return;
    this.#onEnd(job.number, { ...job, state: to, endedAt: change.endedAt });
    this.#webhooks.begin.run(change.endedAt, job.number);
    this.sql.forgetS3Config.run(job.number);
  }

  #now(): number {
    return Math.floor(this.#wallClock());
  }
}

const noChanges = {
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
  errorValue: null,
  log: null,
};

function timeOutText({ isExpired, state, ttlMs, executionTimeoutMs }: DueJob): string {
  if (isExpired === 0)
    return `job timed out: it ran longer than its execution timeout of ${executionTimeoutMs} ms`;
  const where = state === 'IN_QUEUE' ? 'it was still in the queue' : 'it was still running';
  return `job timed out: ${where} after its time to live of ${ttlMs} ms`;
}

const maxSummaryLength = 120;

/**
 * Returns the beginning of the scene or prompt, for lists of jobs; empty if `input`, JSON text of an object, has
 * neither.
 */
function summaryOf(input: Text): string {
  // Reads only the beginning: inputs can hold images, which take longer to decode than the rest of the submission.
  const beginning = typeof input === 'string' ? input.slice(0, 4_000) : input.toString('utf8', 0, 4_000);
  const found = /"(?:scene|prompt)"\s*:\s*("(?:[^"\\]|\\.){0,400})/.exec(beginning)?.[1];
  if (found === undefined) return '';
  const text = found.slice(1).replaceAll(/\\(?:u[0-9a-fA-F]{0,4}|.)?/g, unescaped);
  return text.length <= maxSummaryLength ? text : `${text.slice(0, maxSummaryLength - 1)}…`;
}

function unescaped(escape: string): string {
  try {
    return (JSON.parse(`"${escape}"`) as string).replaceAll(/\s/g, ' ');
  } catch {
    return '';
  }
}
