/** A runner's right to work on a shared batch: kept up with the database, and lost to others where that fails for too long. */
import { FatalFailure } from '../../core/failure.ts';
import { PostgresFailure, type Postgres, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import { adoptDead, readAdopted } from './adopt-dead.ts';

export interface LeaseClock {
  /** Wall time, epoch ms: it goes on in suspend, and may jump. */
  now(): number;
  /** Monotonic ms: it does not jump, and stands still in suspend. */
  elapsed(): number;
}

export interface LeaseEvents {
  /** Another runner has died, and what it had is this one's now: keys of attempts. */
  onAdopted(attempts: number[]): void;
  /** Once: another runner has taken over what this one had. */
  onLost(failure: FatalFailure): void;
  /** The database does not answer, or answers again. */
  onReach(isReached: boolean, text: string): void;
  /** So many runners have a lease, this one included. */
  onCount(runners: number): void;
  /** The service has asked another runner to wait. */
  onSlowed(): void;
}

interface Renewed {
  isHeld: boolean;
  runners: number;
  slowedAt: number;
}

/** So many renewals a lease: one that gets lost on the way loses nothing. */
const renewalsPerLease = 4;

const slowedEveryMs = 1_000;
const slowedMs = '(extract(epoch FROM slowed_at) * 1000)::bigint';

export class Lease {
  readonly #db: Postgres;
  readonly #schema: string;
  readonly #run: number;
  readonly #leaseMs: number;
  readonly #clock: LeaseClock;
  readonly #events: Partial<LeaseEvents> = {};
  #until = { now: 0, elapsed: 0 };
  #lost: FatalFailure | undefined;
  #isReached = true;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;
  /** Whether what dead runners leave is taken over with each renewal. */
  isAdopting = false;
  readonly #adopted = new Set<number>();
  /** Whether the answer to the latest adoption got lost: what it took is this one's, and is not known here. */
  #isUnsure = false;
  #runners = 1;
  #slowedAt = 0;
  #reportedSlowed = -Infinity;

  constructor(
    db: Postgres,
    { schema, run, leaseMs }: { schema: string; run: number; leaseMs: number },
    clock: LeaseClock,
  ) {
    this.#db = db;
    this.#schema = schema;
    this.#run = run;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
  }

  /** Those that are given, instead of those before. */
  on(events: Partial<LeaseEvents>): void {
    Object.assign(this.#events, events);
    events.onCount?.(this.#runners);
  }

  /** Renews it now and from time to time, and takes over once what dead runners have left. */
  async begin(): Promise<void> {
    await this.renew();
    await this.#adopt();
    this.#plan();
  }

  /** Whether something may be submitted at this moment: by both clocks nobody else can have taken over. */
  isFresh(): boolean {
    return (
      this.#lost === undefined &&
      this.#clock.now() < this.#until.now &&
      this.#clock.elapsed() < this.#until.elapsed
    );
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /** Throws once it is lost. */
  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** A write was refused since the runner is dead to others: from then on it writes nothing. */
  lose(): FatalFailure {
    if (this.#lost !== undefined) return this.#lost;
    const text =
      'this runner did not reach the shared checkpoint for longer than its lease, and another one has taken over its jobs; nothing was lost. Run the same command again to join in';
    this.#lost = new FatalFailure({ kind: 'output-unwritable', text });
    this.#until = { now: 0, elapsed: 0 };
    this.#events.onLost?.(this.#lost);
    return this.#lost;
  }

  /** Throws what the database says. */
  async renew(): Promise<void> {
    // Counted from before the request: the answer may have been long on its way.
    const asked = { now: this.#clock.now(), elapsed: this.#clock.elapsed() };
    const { isHeld, runners, slowedAt } = await this.#db.transaction((session) => this.#renewWithin(session));
    if (!isHeld) throw this.lose();
    this.#until = { now: asked.now + this.#leaseMs, elapsed: asked.elapsed + this.#leaseMs };
    if (runners !== this.#runners) this.#events.onCount?.(runners);
    this.#runners = runners;
    // What a notice said already is not said again.
    this.#hearSlowed(slowedAt);
    await this.#db.listen(this.#channel, (text) => this.#hearSlowed(Number(text)));
    const adopted = this.isAdopting ? await this.#adopt() : [];
    if (adopted.length > 0) this.#events.onAdopted?.(adopted);
  }

  /** At most once a second: it costs the others' pace each time. */
  reportSlowed(): void {
    if (this.#clock.elapsed() - this.#reportedSlowed < slowedEveryMs) return;
    this.#reportedSlowed = this.#clock.elapsed();
    this.#db
      .query(
        `WITH slowed AS (UPDATE ${this.#schema}.runners SET slowed_at = clock_timestamp() WHERE run = $1 RETURNING ${slowedMs} AS at)
         SELECT pg_notify($2, at::text) FROM slowed`,
        [this.#run, this.#channel],
      )
      .catch(() => undefined);
  }

  #hearSlowed(at: number): void {
    if (at <= this.#slowedAt) return;
    this.#slowedAt = at;
    const isOwn = this.#clock.elapsed() - this.#reportedSlowed < slowedEveryMs;
    if (!isOwn) this.#events.onSlowed?.();
  }

  get #channel(): string {
    return this.#schema.replaceAll('"', '');
  }

  /** Others may take over at once what is left. */
  async end(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    await this.#db
      .query(`UPDATE ${this.#schema}.runners SET lease_until = '-infinity' WHERE run = $1 AND NOT is_dead`, [
        this.#run,
      ])
      .catch(() => undefined);
  }

  async #renewWithin(session: PostgresSession): Promise<Renewed> {
    const held = await session.query(
      `UPDATE ${this.#schema}.runners SET lease_until = now() + $2 * interval '1 ms' WHERE run = $1 AND NOT is_dead RETURNING run`,
      [this.#run, this.#leaseMs],
    );
    const [row] = await session.query<{ n: number; slowed: number | null }>(
      `SELECT count(*) FILTER (WHERE NOT is_dead AND lease_until > now()) AS n,
         max(${slowedMs}) FILTER (WHERE run <> $1 AND slowed_at > now() - $2 * interval '1 ms') AS slowed FROM ${this.#schema}.runners`,
      [this.#run, this.#leaseMs],
    );
    return { isHeld: held.length > 0, runners: Math.max(1, row?.n ?? 1), slowedAt: row?.slowed ?? 0 };
  }

  async #adopt(): Promise<number[]> {
    const wasUnsure = this.#isUnsure;
    this.#isUnsure = true;
    const own = await this.#db.transaction(async (session) => {
      const taken = await adoptDead(session, this.#schema, this.#run);
      return wasUnsure ? readAdopted(session, this.#schema, this.#run) : taken;
    });
    this.#isUnsure = false;
    const adopted = own.filter((attempt) => !this.#adopted.has(attempt));
    for (const attempt of adopted) this.#adopted.add(attempt);
    return adopted;
  }

  #plan(): void {
    if (this.#isEnded || this.#lost !== undefined) return;
    this.#timer = setTimeout(() => void this.#tick(), this.#leaseMs / renewalsPerLease);
    this.#timer.unref();
  }

  async #tick(): Promise<void> {
    // A cut cable brings no error: who hears nothing for too long breaks the connections itself.
    const guard = setTimeout(() => this.#db.cut(), this.#leaseMs / 2);
    try {
      await this.renew();
      this.#reach(true, '');
    } catch (error) {
      if (this.#lost === undefined && !this.#isEnded) this.#reach(false, (error as Error).message);
      const isExpected = error instanceof PostgresFailure || error === this.#lost || this.#isEnded;
      if (!isExpected) throw error;
    } finally {
      clearTimeout(guard);
      this.#plan();
    }
  }

  #reach(isReached: boolean, text: string): void {
    if (isReached === this.#isReached) return;
    this.#isReached = isReached;
    this.#events.onReach?.(isReached, text);
  }
}
