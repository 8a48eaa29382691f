/** A runner's right to work on a shared batch: kept up with the database, and lost to others where that fails for too long. */
import { FatalFailure } from '../../core/failure.ts';
import { PostgresFailure, type Postgres, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import { adoptDead, readAdopted } from './adopt-dead.ts';
import type { Recall } from './recall.ts';

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
  /** The database has gone back to an earlier state: what this runner knows is to be written back. */
  onBehind(): void;
  /** That is done, in words. */
  onWrittenBack(text: string): void;
}

interface Renewed {
  isBehind: boolean;
  isHeld: boolean;
  runners: number;
}

/** So many renewals a lease: one that gets lost on the way loses nothing. */
const renewalsPerLease = 4;

const takenOverText =
  'this runner did not reach the shared checkpoint for longer than its lease, and another one has taken over its jobs; nothing was lost. Run the same command again to join in';

export class Lease {
  readonly #db: Postgres;
  readonly #schema: string;
  readonly #run: number;
  readonly #leaseMs: number;
  readonly #recall: Recall;
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
  #missedElapsed = -Infinity;

  constructor(
    db: Postgres,
    { schema, run, leaseMs, recall }: { schema: string; run: number; leaseMs: number; recall: Recall },
    clock: LeaseClock,
  ) {
    this.#db = db;
    this.#schema = schema;
    this.#run = run;
    this.#leaseMs = leaseMs;
    this.#recall = recall;
    this.#clock = clock;
    db.onBroken = () => this.missed();
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

  get ms(): number {
    return this.#leaseMs;
  }

  /** What the database did not answer may be lost: whoever else lives comes back to write back what it knows. */
  missed(): void {
    this.#missedElapsed = this.#clock.elapsed();
  }

  /** Whether others that were cut off like this one may still be on their way back: nothing of theirs is taken. */
  get isToGiveOthersTime(): boolean {
    return this.#runners > 1 && this.#hasMissed;
  }

  get #hasMissed(): boolean {
    return this.#clock.elapsed() - this.#missedElapsed < this.#leaseMs;
  }

  tellWrittenBack(text: string): void {
    this.#events.onWrittenBack?.(text);
  }

  /** A write was refused since the runner is dead to others: from then on it writes nothing. */
  lose(text = takenOverText): FatalFailure {
    if (this.#lost !== undefined) return this.#lost;
    this.#lost = new FatalFailure({ kind: 'output-unwritable', text });
    this.#until = { now: 0, elapsed: 0 };
    this.#events.onLost?.(this.#lost);
    return this.#lost;
  }

  /** Throws what the database says. */
  async renew(): Promise<void> {
    // Counted from before the request: the answer may have been long on its way.
    const asked = { now: this.#clock.now(), elapsed: this.#clock.elapsed() };
    const renewed = await this.#db.transaction((session) => this.#renewWithin(session));
    // Where nobody could renew a lease for as long as it lasts, all are over at once, and yet the others live.
    const runners = this.#hasMissed ? Math.max(this.#runners, renewed.runners) : renewed.runners;
    if (renewed.isBehind) {
      this.#recall.isBehind = true;
      // Not waited for: it may take longer than the lease, which is to be renewed meanwhile.
      this.#events.onBehind?.();
      return;
    }
    if (!renewed.isHeld) throw this.lose();
    this.#until = { now: asked.now + this.#leaseMs, elapsed: asked.elapsed + this.#leaseMs };
    if (runners !== this.#runners) this.#events.onCount?.(runners);
    this.#runners = runners;
    if (this.isAdopting && !this.isToGiveOthersTime) await this.#adoptAndTell();
  }

  /** Where that it had taken over what dead runners left was lost. */
  async adoptAgain(): Promise<void> {
    if (this.#adopted.size > 0) await this.#adoptAndTell([...this.#adopted]);
  }

  async #adoptAndTell(ofOwners?: number[]): Promise<void> {
    const adopted = await this.#adopt(ofOwners);
    if (adopted.length > 0) this.#events.onAdopted?.(adopted);
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
    const { token, seen } = this.#recall;
    const [known] = await session.query<{ token: string | null; own: number; version: number }>(
      `SELECT u.idempotency_key AS token, r.version AS own, c.version FROM ${this.#schema}.account c,
         ${this.#schema}.runners r JOIN ${this.#schema}.runs u USING (run) WHERE r.run = $1`,
      [this.#run],
    );
    const isBehind = known?.token !== token || known.own < seen.own || known.version < seen.version;
    if (known?.token !== token) return { isBehind, isHeld: true, runners: this.#runners };
    if (!isBehind) seen.version = known.version;
    const held = await session.query(
      `UPDATE ${this.#schema}.runners SET lease_until = now() + $2 * interval '1 ms' WHERE run = $1 AND NOT is_dead RETURNING run`,
      [this.#run, this.#leaseMs],
    );
    // What writes back takes as long as it takes. Who holds the account keeps others from claiming as well.
    if (isBehind)
      await session.query(
        `UPDATE ${this.#schema}.account SET claims_from = now() + $1 * interval '1 ms'
         WHERE birth = (SELECT birth FROM ${this.#schema}.account WHERE claims_from > now() FOR UPDATE SKIP LOCKED)`,
        [this.#leaseMs],
      );
    const [row] = await session.query<{ n: number }>(
      `SELECT count(*) AS n FROM ${this.#schema}.runners WHERE NOT is_dead AND lease_until > now()`,
    );
    return { isBehind, isHeld: held.length > 0, runners: Math.max(1, row?.n ?? 1) };
  }

  async #adopt(ofOwners?: number[]): Promise<number[]> {
    const wasUnsure = this.#isUnsure;
    this.#isUnsure = true;
    const own = await this.#db.transaction(async (session) => {
      const adoption = await adoptDead(session, this.#schema, this.#run, ofOwners);
      if (adoption === undefined) throw this.lose();
      const { taken, version } = adoption;
      return { version, attempts: wasUnsure ? await readAdopted(session, this.#schema, this.#run) : taken };
    });
    this.#recall.seen.own = Math.max(this.#recall.seen.own, own.version);
    this.#isUnsure = false;
    const adopted = own.attempts.filter((attempt) => !this.#adopted.has(attempt));
    for (const attempt of adopted) this.#adopted.add(attempt);
    return adopted;
  }

  #plan(): void {
    if (this.#isEnded || this.#lost !== undefined) return;
    this.#timer = setTimeout(() => void this.#tick(), this.#leaseMs / renewalsPerLease);
    this.#timer.unref();
  }

  async #tick(): Promise<void> {
    try {
      await this.renew();
      this.#reach(true, '');
    } catch (error) {
      this.missed();
      if (this.#lost === undefined && !this.#isEnded) this.#reach(false, (error as Error).message);
      const isExpected = error instanceof PostgresFailure || error === this.#lost || this.#isEnded;
      if (!isExpected) throw error;
    } finally {
      this.#plan();
    }
  }

  #reach(isReached: boolean, text: string): void {
    if (isReached === this.#isReached) return;
    this.#isReached = isReached;
    this.#events.onReach?.(isReached, text);
  }
}
