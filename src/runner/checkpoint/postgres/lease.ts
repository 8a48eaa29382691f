/** A runner's lease on a shared batch, which it renews from time to time, and the jobs that it adopts from dead runners. */
import { type Postgres, PostgresFailure, type PostgresSession } from '../../../lib/postgres/postgres.ts';
import type { Attempt, Endpoint, Held, SavedSettlement, Settlement } from '../../core/attempt.ts';
import { FatalFailure } from '../../core/failure.ts';
import type { Pricing, SpendingLimits } from '../../core/spending.ts';
import type { AcceptedJob } from '../../pipeline/ports.ts';
import type { RunRow } from '../batch-lock.ts';
import type { Recall } from './recall.ts';

export interface LeaseClock {
  /** Wall clock, epoch ms. It keeps running while the machine sleeps, and may jump. */
  now(): number;
  /** Monotonic ms. It never jumps, and stops while the machine sleeps. */
  elapsed(): number;
}

interface LeaseEvents {
  /** Another runner has died, and these attempts are this runner's now. */
  onAdopted(attempts: number[]): void;
  /** Called once: another runner has taken over what this one had. */
  onLost(failure: FatalFailure): void;
  /** The database no longer answers, or answers again. */
  onReach(isReached: boolean, text: string): void;
  onCount(runners: number): void;
  /** The database has gone back to an earlier state. What this runner knows has to be written back. */
  onBehind(): void;
  /** Everything is written back. `text` says so in words. */
  onWrittenBack(text: string): void;
}

interface Renewed {
  isBehind: boolean;
  isHeld: boolean;
  runners: number;
}

/** Renewals per lease. If one of them is lost on the way, the lease still holds. */
const renewalsPerLease = 4;

const takenOverText =
  'this runner did not reach the shared checkpoint for longer than its lease, and another run has taken over its jobs; nothing was lost. Run the same command again to join';

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
  /** True if each renewal takes over what dead runners left behind. */
  isAdopting = false;
  readonly #adopted = new Set<number>();
  /** True if the answer to the latest adoption was lost. What it took belongs to this runner but is unknown here. */
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

  /** Replaces the listeners that are given and keeps the others. */
  on(events: Partial<LeaseEvents>): void {
    Object.assign(this.#events, events);
    events.onCount?.(this.#runners);
  }

  /** Renews the lease now and from time to time, and takes over what dead runners left behind. */
  async begin(): Promise<void> {
    await this.renew();
    await this.#adopt();
    this.#plan();
  }

  /** True if something may be submitted at this moment: by both clocks, nobody else can have taken over. */
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

  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  get ms(): number {
    return this.#leaseMs;
  }

  /** Call if the database did not answer: it may have lost commits that other runners will write back. */
  missed(): void {
    this.#missedElapsed = this.#clock.elapsed();
  }

  /** True if other runners that were cut off too may still be on their way back. Nothing is taken from them. */
  get mustWaitForOthers(): boolean {
    return this.#runners > 1 && this.#hasMissed;
  }

  get #hasMissed(): boolean {
    return this.#clock.elapsed() - this.#missedElapsed < this.#leaseMs;
  }

  reportWrittenBack(text: string): void {
    this.#events.onWrittenBack?.(text);
  }

  /** Ends the lease because the runner counts as dead. From then on it writes nothing. */
  lose(text = takenOverText): FatalFailure {
    if (this.#lost !== undefined) return this.#lost;
    this.#lost = new FatalFailure({ kind: 'output-unwritable', text });
    this.#until = { now: 0, elapsed: 0 };
    this.#events.onLost?.(this.#lost);
    return this.#lost;
  }

  async renew(): Promise<void> {
    // The lease counts from before the request, because the answer may take long.
    const asked = { now: this.#clock.now(), elapsed: this.#clock.elapsed() };
    const renewed = await this.#db.transaction((session) => this.#renewWithin(session));
    // After an outage as long as a lease, all leases have run out although the other runners live, so the last count stays.
    const runners = this.#hasMissed ? Math.max(this.#runners, renewed.runners) : renewed.runners;
    if (renewed.isBehind) {
      this.#recall.isBehind = true;
      // Not awaited, because it may take longer than the lease, which has to be renewed meanwhile.
      this.#events.onBehind?.();
      return;
    }
    if (!renewed.isHeld) throw this.lose();
    this.#until = { now: asked.now + this.#leaseMs, elapsed: asked.elapsed + this.#leaseMs };
    if (runners !== this.#runners) this.#events.onCount?.(runners);
    this.#runners = runners;
    if (this.isAdopting && !this.mustWaitForOthers) await this.#adoptAndTell();
  }

  /** Repeats the adoptions that the database has lost. */
  async adoptAgain(): Promise<void> {
    if (this.#adopted.size > 0) await this.#adoptAndTell([...this.#adopted]);
  }

  async #adoptAndTell(ofOwners?: number[]): Promise<void> {
    const adopted = await this.#adopt(ofOwners);
    if (adopted.length > 0) this.#events.onAdopted?.(adopted);
  }

  /** Ends the lease, so that others may take over at once what is left. */
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
    // Writing back may take long, so claims stay blocked. A locked account is skipped, because its owner prevents claims too.
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

/** Returns an SQL condition on `runners`: the lease is over, or the runner was declared dead and still has something in flight. */
const isDead = (s: string): string =>
  `(NOT is_dead AND lease_until < now() OR is_dead AND EXISTS (
     SELECT 1 FROM ${s}.attempts WHERE owner = runners.run AND (state IN ('intended', 'submitted') OR writing IS NOT NULL)))`;

/**
 * Gives `run` what dead runners had in flight, in one transaction, so that each attempt has one owner.
 * Returns the keys of the attempts and the version of the batch. `ofOwners`: take only from the owners of
 * these attempts. Attempts that a dead runner was working on count as crashes of their scenes, unless it
 * ended in order. Undefined if `run` itself was declared dead, because nobody would take over what it
 * took.
 */
export async function adoptDead(
  session: PostgresSession,
  s: string,
  run: number,
  ofOwners?: number[],
): Promise<{ taken: number[]; version: number } | undefined> {
  const isToTake = `run <> $1 AND ${isDead(s)}
    AND ($2::bigint[] IS NULL OR run IN (SELECT owner FROM ${s}.attempts WHERE attempt = ANY($2)))`;
  const found = await session.query(`SELECT 1 FROM ${s}.runners WHERE ${isToTake} LIMIT 1`, [run, ofOwners]);
  if (found.length === 0) return { taken: [], version: 0 };
  // Takes the version before any runner's row, because writers lock the rows in this order.
  const [next] = await session.query<{ version: number }>(`SELECT ${s}.next_version() AS version`);
  const version = next?.version ?? 0;
  const [own] = await session.query<{ dead: boolean }>(
    `UPDATE ${s}.runners SET version = $2 WHERE run = $1 RETURNING is_dead AS dead`,
    [run, version],
  );
  // The database has gone back to before the run. The next write of the run notices that.
  if (own === undefined) return { taken: [], version: 0 };
  if (own.dead) return undefined;
  const dead = await session.query<{ run: number; died: boolean }>(
    `SELECT run, lease_until > '-infinity' AS died FROM ${s}.runners WHERE ${isToTake} FOR UPDATE`,
    [run, ofOwners],
  );
  const runs = dead.map((row) => row.run);
  const died = dead.filter((row) => row.died).map((row) => row.run);
  await session.query(`UPDATE ${s}.runners SET is_dead = true WHERE run = ANY($1)`, [runs]);
  await session.query(
    `UPDATE ${s}.scenes s SET deaths = deaths + 1, died_in = a.owner FROM ${s}.attempts a
     WHERE a.scene = s.scene AND a.owner = ANY($1) AND (a.state = 'intended' AND a.run = a.owner OR a.state IN ('intended', 'submitted') AND a.in_hand)
       AND coalesce(s.died_in, 0) < a.owner`,
    [died],
  );
  const taken = await session.query<{ attempt: number }>(
    `UPDATE ${s}.attempts SET owner = $2, in_hand = false
     WHERE owner = ANY($1) AND (state IN ('intended', 'submitted') OR writing IS NOT NULL) RETURNING attempt`,
    [runs, run],
  );
  await session.query(`DELETE FROM ${s}.parts WHERE run = ANY($1)`, [runs]);
  return { taken: taken.map(({ attempt }) => attempt), version };
}

/** Returns all that `run` was given and that is still in flight. */
async function readAdopted(session: PostgresSession, s: string, run: number): Promise<number[]> {
  const own = await session.query<{ attempt: number }>(
    `SELECT attempt FROM ${s}.attempts WHERE owner = $1 AND run <> $1 AND (state IN ('intended', 'submitted') OR writing IS NOT NULL)`,
    [run],
  );
  return own.map(({ attempt }) => attempt);
}

export type Write =
  | { do: 'claim'; max: number; endpoint: Endpoint; at: number; dueBy: number; isSuspect: boolean }
  | { do: 'submitted'; attempt: Attempt; job: Omit<AcceptedJob, 'idempotencyMs'> }
  | { do: 'status'; attempt: number; status: string; executingAt: number | null; held: Held | undefined }
  | { do: 'hand'; attempt: number; isInHand: boolean }
  | { do: 'writing'; attempt: Attempt; settlement: SavedSettlement }
  | { do: 'drop'; attempt: number }
  | { do: 'owner'; key: string }
  /** `next`: id of the scene with the next seed. */
  | { do: 'settle'; attempt: Attempt; settlement: Settlement; next: string | undefined };

export type Of<Kind extends Write['do']> = Write & { do: Kind };

export interface Claimed {
  attempts: Attempt[];
  /** True if there are more scenes that were never submitted. */
  hasMore: boolean;
}

/** Parts that are needed to carry out the writes of a runner. */
export interface GroupContext {
  db: Postgres;
  /** Quoted for SQL. */
  schema: string;
  schemaName: string;
  run: number;
  lease: Lease;
  limits: SpendingLimits;
  pricing: Pricing | undefined;
  /** True if only the scenes that `parts` lists for the run are claimed. */
  hasPart: () => boolean;
  recall: Recall;
  row: RunRow;
  again: Lasting[];
}

/** A change outside of a group. It is repeated only if the database loses it. */
interface Lasting {
  work: () => Promise<unknown>;
  /** Version of the run's own row after the change. If the row is older, the change is lost. */
  version: number;
}
