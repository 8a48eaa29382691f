/** Selects the next queued job of an endpoint: by priority, then by key in turn, then by age. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { WaitingJob } from './job-statements.ts';

/** Queue of one key at one priority. */
interface Share {
  endpointId: string;
  isLowPriority: 0 | 1;
  keyId: string;
  /** Number of running jobs of the key at the endpoint. */
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
      const shares = this.#shares(endpointId, isLowPriority);
      for (let share = this.#first(shares); share !== undefined; share = this.#first(shares)) {
        const job = this.#sql.next.get(share);
        if (job === undefined) {
          shares.delete(share);
          continue;
        }
        share.after = job.number;
        share.running += 1;
        this.#turns.set(nameOf(share), ++this.#turn);
        yield job;
      }
    }
  }

  /** Returns the earliest time (epoch ms) at which the next job of any key was queued; undefined if none is queued. */
  oldestAt(endpointId: string): number | undefined {
    const all = ([0, 1] as const).flatMap((isLow) => [...this.#shares(endpointId, isLow)]);
    const times = all.flatMap((share) => this.#sql.queuedAt.get(share)?.queuedAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #shares(endpointId: string, isLowPriority: 0 | 1): Set<Share> {
    const shares = new Set<Share>();
    // Jumps from key to key in the index, so that thousands of jobs of one key are not read.
    for (let keyId: string | undefined = ''; ;) {
      keyId = this.#sql.nextKey.get({ endpointId, isLowPriority, keyId })?.keyId;
      if (keyId === undefined) break;
      shares.add({ endpointId, isLowPriority, keyId, running: 0, after: 0 });
    }
    if (shares.size < 2) return shares;
    const running = new Map(this.#sql.running.all(endpointId).map(({ keyId, jobs }) => [keyId, jobs]));
    for (const share of shares) share.running = running.get(share.keyId) ?? 0;
    return shares;
  }

  #first(shares: ReadonlySet<Share>): Share | undefined {
    let first: Share | undefined;
    for (const share of shares)
      if (
        first === undefined ||
        share.running < first.running ||
        (share.running === first.running && this.#turnOf(share) < this.#turnOf(first))
      )
        first = share;
    return first;
  }

  #turnOf(share: Share): number {
    return this.#turns.get(nameOf(share)) ?? 0;
  }
}

function nameOf({ endpointId, keyId }: Share): string {
  return `${endpointId} ${keyId}`;
}

/** Condition for queued jobs of an endpoint at one priority. */
const waiting = `endedAt IS NULL AND endpointId = @endpointId AND state = 'IN_QUEUE' AND isLowPriority = @isLowPriority`;

function prepare(db: Database) {
  return {
    paused: db.prepare<[], { endpointId: string }>('SELECT endpointId FROM paused'),
    pause: db.prepare<[string]>('INSERT OR IGNORE INTO paused (endpointId) VALUES (?)'),
    resume: db.prepare<[string]>('DELETE FROM paused WHERE endpointId = ?'),
    nextKey: db.prepare<[Omit<Share, 'running' | 'after'>], { keyId: string }>(
      `SELECT keyId FROM job INDEXED BY jobOpen WHERE ${waiting} AND keyId > @keyId ORDER BY keyId LIMIT 1`,
    ),
    running: db.prepare<[string], { keyId: string; jobs: number }>(
      `SELECT keyId, count(*) AS jobs FROM job INDEXED BY jobOpen
       WHERE endedAt IS NULL AND endpointId = ? AND state = 'IN_PROGRESS' GROUP BY keyId`,
    ),
    next: db.prepare<[Share], WaitingJob & { number: number }>(
      `SELECT id, number, file, bytes, text, url AS webhook, s3Config
       FROM job INDEXED BY jobOpen JOIN input ON input.job = number
         LEFT JOIN webhook ON webhook.job = number LEFT JOIN credentials ON credentials.job = number
       WHERE ${waiting} AND keyId = @keyId AND number > @after ORDER BY number LIMIT 1`,
    ),
    queuedAt: db.prepare<[Share], { queuedAt: number }>(
      `SELECT queuedAt FROM job INDEXED BY jobOpen
       WHERE ${waiting} AND keyId = @keyId ORDER BY number LIMIT 1`,
    ),
  };
}
