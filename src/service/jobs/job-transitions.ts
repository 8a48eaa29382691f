/** How a job comes into the store and moves in it; all of this happens within the caller's transaction. */
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

/** A job, and the worker that is at it. */
export interface JobOfWorker {
  id: string;
  workerId: string;
}

/** Who works on a job. */
export interface JobTaker {
  workerId: string;
  /** Whether it asks over the network, so that it may outlive the service. */
  isPulled: boolean;
}

/** Few enough that other requests are not kept waiting. */
const changesAtOnce = 100;

/** A result of the worker before is not wanted any more. */
const noWorker = '';

export class JobTransitions {
  readonly sql: ReturnType<typeof prepareJobStatements>;
  readonly queue: FairQueue;
  readonly #webhooks: ReturnType<typeof prepareWebhookStatements>;
  readonly #wallClock: () => number;
  readonly #onEnd: (job: number, ended: EndedJob) => void;

  /** `onEnd` gets each job that ends, with its number. */
  constructor(db: Database, now: () => number, onEnd: (job: number, ended: EndedJob) => void) {
    this.sql = prepareJobStatements(db);
    this.queue = new FairQueue(db);
    this.#webhooks = prepareWebhookStatements(db);
    this.#wallClock = now;
    this.#onEnd = onEnd;
  }

  /** Adds a job of which `input` is stored already. */
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

  /** What `take` of the store takes. */
  nextInQueue(endpointId: string, max: number, maxInputs: number): WaitingJob[] {
    const jobs: WaitingJob[] = [];
    let length = 0;
    // One at a time: all that may wait do not fit into memory.
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

  /** Returns what the job is now. `death`, where it counts, is what its worker died of. */
  requeue(
    id: string,
    { retries, maxRetries }: JobMetadata,
    death: string | undefined,
    log?: string,
  ): JobState {
    const kept = log === undefined ? {} : { log };
    if (death !== undefined && retries >= maxRetries) {
      const error = `the worker of this job died ${retries + 1} times, with ${maxRetries} retries allowed: ${death}`;
      this.end(id, 'FAILED', { ...kept, error });
      return 'FAILED';
    }
    const counted = death === undefined ? {} : { retries: retries + 1 };
    this.#move(id, 'IN_QUEUE', { ...kept, ...counted, queuedAt: this.#now() });
    return 'IN_QUEUE';
  }

  /** Queues a job that has ended anew. */
  queueAgain(id: string, { number, ttlMs }: JobMetadata): void {
    const queuedAt = this.#now();
    this.#webhooks.begin.run(null, number);
    this.#move(id, 'IN_QUEUE', { queuedAt, expiresAt: queuedAt + ttlMs, retries: 0, workerId: noWorker });
  }

  /** Some of those that wait at the endpoint, of one key or of all; returns their ids. */
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

  /** The job, if that is what the worker is at. */
  runningOn({ id, workerId }: JobOfWorker): JobMetadata | undefined {
    const job = this.sql.metadata.get(id);
    return job?.state === 'IN_PROGRESS' && job.workerId === workerId ? job : undefined;
  }

  #move(id: string, to: JobState, change: JobChange): void {
    const job = this.sql.metadata.get(id);
    if (job === undefined) throw new Error(`the store has no job ${id} that could become ${to}`);
    assertTransition(job.state, to);
    this.sql.move.run({ ...nothing, ...change, id, state: to });
    if (change.endedAt === undefined) return;
    this.#onEnd(job.number, { ...job, state: to, endedAt: change.endedAt });
    this.#webhooks.begin.run(change.endedAt, job.number);
    this.sql.forgetS3Config.run(job.number);
  }

  #now(): number {
    return Math.floor(this.#wallClock());
  }
}

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
  errorValue: null,
  log: null,
};

function timeOutText({ isExpired, state, ttlMs, executionTimeoutMs }: DueJob): string {
  if (isExpired === 0)
    return `job timed out: it ran longer than its execution timeout of ${executionTimeoutMs} ms`;
  const where = state === 'IN_QUEUE' ? 'it was still in the queue' : 'it was still running';
  return `job timed out: ${where} after its time to live of ${ttlMs} ms`;
}

/** What a list of jobs shows of an input. */
const maxLength = 120;

/** The beginning of the scene or prompt; `input` is JSON text of an object. Empty where it names neither. */
function summaryOf(input: Text): string {
  // Cut texts of pictures and the like would cost more to read than the rest of the submission.
  const beginning = typeof input === 'string' ? input.slice(0, 4_000) : input.toString('utf8', 0, 4_000);
  const found = /"(?:scene|prompt)"\s*:\s*("(?:[^"\\]|\\.){0,400})/.exec(beginning)?.[1];
  if (found === undefined) return '';
  const text = found.slice(1).replaceAll(/\\(?:u[0-9a-fA-F]{0,4}|.)?/g, unescaped);
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

function unescaped(escape: string): string {
  try {
    return (JSON.parse(`"${escape}"`) as string).replaceAll(/\s/g, ' ');
  } catch {
    return '';
  }
}
