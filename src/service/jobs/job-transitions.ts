/** Adds jobs to the store, selects the next one fairly, and moves jobs between states, within the caller's transaction. */
import type { Text } from '../../lib/files/filed-text.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import type { GroupCommit } from '../../lib/sqlite/group-commit.ts';
import { allowedTransitions, type JobState, type JobTerms } from '../model/job.ts';
import type { Replica } from '../replication/committed-pages.ts';
import type { JobReserve } from './data-folder.ts';
import type { EndedJob } from './job-history.ts';
import type { JobSignals } from './job-signals.ts';
import {
  type DueJob,
  type JobChange,
  type JobMetadata,
  prepareJobStatements,
  prepareWebhookStatements,
  type WaitingJob,
} from './job-statements.ts';
import type { LongTexts, StoredText } from './long-texts.ts';

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

/** Parts that the modules of an open job store share. */
export interface StorePieces {
  db: Database;
  commit: GroupCommit;
  reserve: JobReserve;
  transitions: JobTransitions;
  texts: LongTexts;
  signals: JobSignals;
  /** Makes commits durable elsewhere; undefined unless several processes share the service. */
  replica: Replica | undefined;
}

export class JobTransitions {
  readonly sql: ReturnType<typeof prepareJobStatements>;
  readonly queue: FairQueue;
  readonly #webhooks: ReturnType<typeof prepareWebhookStatements>;
  readonly #wallClock: () => number;
  readonly #onEnd: (job: number, ended: EndedJob) => void;

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
   * Returns the next queued jobs, at most `max`, whose inputs together have at most `maxInputs` characters. Inputs in
   * files count in bytes. The first job is returned whatever its size.
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
   * Requeues a running job, and returns its new state. `crash`: how its worker died. Then this counts as a retry, and
   * the job fails if it has none left.
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

  /** True if the time to live or the execution timeout of any job is over. */
  isAnyDue(): boolean {
    return this.sql.due.get({ now: this.#now(), max: 1 }) !== undefined;
  }

  /** Ends some of the jobs whose time is over, and returns them. */
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

/** Throws if `to` cannot follow `from`, which is a bug of the service. */
function assertTransition(from: JobState, to: JobState): void {
  const targets: readonly JobState[] = allowedTransitions[from];
  if (!targets.includes(to)) throw new Error(`a job cannot go from ${from} to ${to}`);
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

/** Returns the beginning of the scene or prompt in `input`, for lists; empty if it has neither. */
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

interface KeyQueue {
  endpointId: string;
  isLowPriority: 0 | 1;
  keyId: string;
  running: number;
  /** Number of the last job that was handed out. */
  after: number;
}

/** Selects the next queued job of an endpoint: by priority, then by key in turn, then by age. */
export class FairQueue {
  readonly #sql: ReturnType<typeof prepare>;
  /** Sequence number of the latest turn, by endpoint and key. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  readonly #paused: Set<string>;
  /** True if no endpoint hands out jobs any more. */
  isStopped = false;

  constructor(db: Database) {
    this.#sql = prepare(db);
    this.#paused = new Set(this.#sql.paused.all().map(({ endpointId }) => endpointId));
  }

  isPaused(endpointId: string): boolean {
    return this.#paused.has(endpointId);
  }

  /** Pauses or resumes an endpoint, within the caller's transaction. A paused endpoint hands out no jobs. */
  pause(endpointId: string, isPaused: boolean): void {
    if (isPaused) {
      this.#sql.pause.run(endpointId);
      this.#paused.add(endpointId);
    } else {
      this.#sql.resume.run(endpointId);
      this.#paused.delete(endpointId);
    }
  }

  /**
   * Yields queued jobs in the order in which workers get them. Each comes from the key with the fewest running jobs,
   * and among those from the key whose last turn is longest ago. Each yielded job counts as running.
   */
  *next(endpointId: string): Generator<WaitingJob> {
    if (this.isStopped || this.isPaused(endpointId)) return;
    for (const isLowPriority of [0, 1] as const) {
      const queues = this.#keyQueues(endpointId, isLowPriority);
      for (let queue = this.#nextQueue(queues); queue !== undefined; queue = this.#nextQueue(queues)) {
        const job = this.#sql.next.get(queue);
        if (job === undefined) {
          queues.delete(queue);
          continue;
        }
        queue.after = job.number;
        queue.running += 1;
        this.#turns.set(nameOf(queue), ++this.#turn);
        yield job;
      }
    }
  }

  /** Returns the earliest time (epoch ms) at which the next job of any key was queued; undefined if none is queued. */
  oldestAt(endpointId: string): number | undefined {
    const all = ([0, 1] as const).flatMap((isLow) => [...this.#keyQueues(endpointId, isLow)]);
    const times = all.flatMap((queue) => this.#sql.queuedAt.get(queue)?.queuedAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #keyQueues(endpointId: string, isLowPriority: 0 | 1): Set<KeyQueue> {
    const queues = new Set<KeyQueue>();
    // Jumps from key to key in the index, so that thousands of jobs of one key are not read.
    for (let keyId: string | undefined = ''; ;) {
      keyId = this.#sql.nextKey.get({ endpointId, isLowPriority, keyId })?.keyId;
      if (keyId === undefined) break;
      queues.add({ endpointId, isLowPriority, keyId, running: 0, after: 0 });
    }
    if (queues.size < 2) return queues;
    const running = new Map(this.#sql.running.all(endpointId).map(({ keyId, jobs }) => [keyId, jobs]));
    for (const queue of queues) queue.running = running.get(queue.keyId) ?? 0;
    return queues;
  }

  #nextQueue(queues: ReadonlySet<KeyQueue>): KeyQueue | undefined {
    let first: KeyQueue | undefined;
    for (const queue of queues)
      if (
        first === undefined ||
        queue.running < first.running ||
        (queue.running === first.running && this.#turnOf(queue) < this.#turnOf(first))
      )
        first = queue;
    return first;
  }

  #turnOf(queue: KeyQueue): number {
    return this.#turns.get(nameOf(queue)) ?? 0;
  }
}

function nameOf({ endpointId, keyId }: KeyQueue): string {
  return `${endpointId} ${keyId}`;
}

const waiting = `endedAt IS NULL AND endpointId = @endpointId AND state = 'IN_QUEUE' AND isLowPriority = @isLowPriority`;

function prepare(db: Database) {
  return {
    paused: db.prepare<[], { endpointId: string }>('SELECT endpointId FROM paused'),
    pause: db.prepare<[string]>('INSERT OR IGNORE INTO paused (endpointId) VALUES (?)'),
    resume: db.prepare<[string]>('DELETE FROM paused WHERE endpointId = ?'),
    nextKey: db.prepare<[Omit<KeyQueue, 'running' | 'after'>], { keyId: string }>(
      `SELECT keyId FROM job INDEXED BY jobOpen WHERE ${waiting} AND keyId > @keyId ORDER BY keyId LIMIT 1`,
    ),
    running: db.prepare<[string], { keyId: string; jobs: number }>(
      `SELECT keyId, count(*) AS jobs FROM job INDEXED BY jobOpen
       WHERE endedAt IS NULL AND endpointId = ? AND state = 'IN_PROGRESS' GROUP BY keyId`,
    ),
    next: db.prepare<[KeyQueue], WaitingJob & { number: number }>(
      `SELECT id, number, file, bytes, text, url AS webhook, s3Config
       FROM job INDEXED BY jobOpen JOIN input ON input.job = number
         LEFT JOIN webhook ON webhook.job = number LEFT JOIN credentials ON credentials.job = number
       WHERE ${waiting} AND keyId = @keyId AND number > @after ORDER BY number LIMIT 1`,
    ),
    queuedAt: db.prepare<[KeyQueue], { queuedAt: number }>(
      `SELECT queuedAt FROM job INDEXED BY jobOpen
       WHERE ${waiting} AND keyId = @keyId ORDER BY number LIMIT 1`,
    ),
  };
}

/** Returns the queue of a webhook. Dead receivers do not delay others, and keys do not delay each other. */
function queueOf(url: string, keyId: string): string {
  return `${new URL(url).origin} ${keyId}`;
}
