/** Which job of an endpoint's queue is next: by priority, then each key in turn, then the longest in the queue. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { WaitingJob } from './job-statements.ts';

/** The jobs of one key with one priority. */
interface Share {
  endpointId: string;
  isLowPriority: 0 | 1;
  keyId: string;
  /** How many of the key are in progress at the endpoint. */
  running: number;
  /** The number of the last that was given out. */
  after: number;
}

export class FairQueue {
  readonly #sql: ReturnType<typeof prepare>;
  /** By endpoint and key, when it last had a turn. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  readonly #paused: Set<string>;
  /** True if no job is next any more, at any endpoint. */
  isStopped = false;

  constructor(db: Database) {
    this.#sql = prepare(db);
    this.#paused = new Set(this.#sql.paused.all().map(({ endpointId }) => endpointId));
  }

  isPaused(endpointId: string): boolean {
    return this.#paused.has(endpointId);
  }

  /** Within the caller's transaction: while an endpoint is paused none of its jobs is next. */
  pause(endpointId: string, isPaused: boolean): void {
    if (isPaused) {
      this.#sql.pause.run(endpointId);
      this.#paused.add(endpointId);
    } else {
      this.#sql.resume.run(endpointId);
      this.#paused.delete(endpointId);
    }
  }

  /** In the order in which they are to be taken. A key has a turn where fewest jobs of it are in progress. */
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

  /** When the job that is next of one of the keys was put into the queue, whichever is the longest there (epoch ms). */
  oldestAt(endpointId: string): number | undefined {
    const all = ([0, 1] as const).flatMap((isLow) => [...this.#shares(endpointId, isLow)]);
    const times = all.flatMap((share) => this.#sql.queuedAt.get(share)?.queuedAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #shares(endpointId: string, isLowPriority: 0 | 1): Set<Share> {
    const shares = new Set<Share>();
    // From key to key in the index: thousands of jobs of one are not read past.
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

/** Those that wait at an endpoint with a priority. */
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
