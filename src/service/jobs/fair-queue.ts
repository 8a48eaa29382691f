/** Selects the next queued job of an endpoint: by priority, then by key in turn, then by age. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { WaitingJob } from './job-statements.ts';

/** Queue of one key at one priority. */
interface KeyQueue {
  endpointId: string;
  isLowPriority: 0 | 1;
  keyId: string;
  running: number;
  /** Number of the last job that was handed out. */
  after: number;
}

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
   * Yields queued jobs in order. The key with the fewest running jobs is next; among equals, the one that has
   * waited longest for a turn.
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
