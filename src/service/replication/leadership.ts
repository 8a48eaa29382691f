/** Elects a leader among the processes that share a store. If it is gone, another process leads. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Changes, Copied, LeadingSession } from './leading-session.ts';
import type { Announced, PageStore } from './page-store.ts';

export interface LedService {
  databases: readonly Copied[];
  /** Resolves when everything committed so far is stored. */
  settled(): Promise<void>;
  /** Lets running work end before the service is closed. */
  drain?(): Promise<void>;
  close(): Promise<void>;
}

export type Write = (database: string, changes: Changes) => Promise<void>;

/** Another process leads. Changes that were not stored by then are lost. */
export class Deposed extends Error {}

const beatMs = 2_000;
/** Time in ms for which the store's confirmation that this process leads is trusted. */
export const trustMs = 200;
/** Ms before a new leader answers: the previous one trusts its last confirmation that long. */
const previousTrustMs = 250;
const pollMs = 500;
const retryMs = 50;
const stuckMs = 20_000;
const closingMs = 8_000;

/** One term of this process as leader. */
interface Tenure {
  term: string;
  /** True once its writes can no longer be stored. */
  isOver: boolean;
}

interface Led<Service> {
  service: Service;
  tenure: Tenure;
}

/** A time by both clocks, as the monotonic clock may stand still and the wall clock may jump. */
interface Moment {
  wall: number;
  elapsed: number;
}

const never: Moment = { wall: -Infinity, elapsed: -Infinity };

/** Follows or leads, as the store allows. Answers only while the store confirms that this process leads. */
export class Leadership<Service extends LedService> {
  readonly #parts;
  readonly #stopping = new AbortController();
  /** Set while this process leads, even if it has lost the connection to the store. */
  #led: Led<Service> | undefined;
  #session: LeadingSession | undefined;
  /** Number of the newest write that is known to be stored. */
  #written = 0;
  #isClosing = false;
  /** Number of writes that have waited too long for the store. While it is not 0, no request is answered. */
  #stuck = 0;
  /** Time of the latest request that the store answered with this process as leader. */
  #confirmedAt = never;
  #asking: Promise<void> | undefined;
  #leaderUrl: string | undefined;
  #term: string | undefined;
  #reportedState: string | undefined;
  /** Problems reported since the store was last reachable, by text. Operations may fail with different texts. */
  readonly #problems = new Map<string, unknown>();
  #running: Promise<void> | undefined;
  #copying: Promise<void> | undefined;

  constructor(parts: {
    store: PageStore;
    /** URL under which the other processes reach this one. */
    url: string;
    /** Opens the service with the state of the store. `write` rejects with `Deposed` once another process leads. */
    open: (session: LeadingSession, write: Write) => Promise<Service>;
    onProblem: (text: string) => void;
    /** Receives a message when the leader changes. */
    onChange: (text: string) => void;
    /** Called when a new term begins: nothing that the previous leader had not stored will be stored. */
    onTerm: () => void;
    /** Called when the store has not accepted a change for long. It may still accept it. */
    onStuck: () => void;
  }) {
    this.#parts = parts;
  }

  /** Resolves when it is known which process leads. Rejects if the store is not usable. */
  async start(): Promise<void> {
    this.#running = this.#run();
    while (this.#reportedState === undefined) {
      await delay(retryMs);
      if (this.#problems.size === 0 || this.#reportedState !== undefined) continue;
      this.#stopping.abort();
      await this.#running;
      throw [...this.#problems.values()].at(-1);
    }
  }

  /** Returns the service if the store confirmed after `since` (`performance.now()`) that this process leads. */
  serviceFor(since: number): Service | undefined {
    if (this.#stopping.signal.aborted || this.#stuck > 0) return undefined;
    const { wall, elapsed } = this.#confirmedAt;
    const wallMs = Date.now() - wall;
    const isFresh = wallMs >= 0 && wallMs < trustMs && performance.now() - elapsed < trustMs;
    return isFresh || elapsed >= since ? this.#led?.service : undefined;
  }

  /** True if this process leads, as far as it knows. */
  get leads(): boolean {
    return this.#led !== undefined;
  }

  /** URL of the leader; undefined if it is not known. */
  get leaderUrl(): string | undefined {
    return this.leads ? this.#parts.url : this.#leaderUrl;
  }

  /** Asks the store whether this process still leads, if it leads. Resolves after a short time in any case. */
  async news(): Promise<void> {
    const soon = delay(retryMs);
    if (this.leads) this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    await Promise.race([soon, this.leads ? this.#asking : soon]);
  }

  async drain(): Promise<void> {
    await this.#led?.service.drain?.();
  }

  /** Ends the service and gives up the lead, so that another process can lead at once. */
  async stop(): Promise<void> {
    this.#isClosing = true;
    // Keeps the session until the service is closed: another leader would lose the last writes.
    await this.#close();
    this.#stopping.abort();
    await this.#running;
    await this.#close();
  }

  /** Closes the service. May be called repeatedly. */
  async #close(led = this.#led): Promise<void> {
    await led?.service.close().catch((error: unknown) => this.#reportProblem(error));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const session = await this.#parts.store.lead();
        if (session === undefined) await this.#follow();
        else await this.#lead(session).finally(() => session.end());
      } catch (error) {
        this.#reportProblem(error);
      }
      await delay(pollMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Leads until the session breaks or `stop` is called. */
  async #lead(session: LeadingSession): Promise<void> {
    const before = await this.#parts.store.leader();
    if (this.#led !== undefined && !isCurrent(this.#led.tenure, before, this.#written))
      await this.#stepDown();
    this.#session = session;
    if (this.#led === undefined) await this.#begin(session, before !== undefined);
    await session.keep();
    const { signal } = this.#stopping;
    const over = AbortSignal.any([signal, session.ended]);
    while (!over.aborted) {
      await session.beat();
      if (session.isCopyDue) this.#copy(session);
      this.#reportState('leads');
      await delay(beatMs, undefined, { signal: over }).catch(() => undefined);
      // The store answers again: problems that recur are reported again.
      if (!over.aborted) this.#problems.clear();
    }
    // `stop` was called while the service was opening.
    if (signal.aborted) await this.#close();
  }

  /** Begins a term. `wasLed`: another process led before, and may not know yet that it no longer does. */
  async #begin(session: LeadingSession, wasLed: boolean): Promise<void> {
    const { open, url } = this.#parts;
    const tenure = { term: randomUUID(), isOver: false };
    await session.announce({ url, term: tenure.term });
    this.#note(undefined, tenure.term);
    const answering = delay(wasLed ? previousTrustMs : 0);
    this.#written = 0;
    const service = await open(session, (database, changes) => this.#write(tenure, database, changes));
    await answering;
    this.#confirmedAt = never;
    this.#led = { service, tenure };
  }

  async #follow(): Promise<void> {
    const leader = await this.#parts.store.leader();
    // The term may be this process's own: a broken session can hold the lock for a while.
    if (this.#led?.tenure.term !== leader?.term) await this.#stepDown();
    if (this.#led !== undefined || leader === undefined) return;
    this.#note(leader.url, leader.term);
    this.#problems.clear();
    this.#reportState(`hands requests on to ${leader.url}`);
  }

  #note(leaderUrl: string | undefined, term: string): void {
    this.#leaderUrl = leaderUrl;
    if (this.#term !== term) this.#parts.onTerm();
    this.#term = term;
  }

  async #ask(): Promise<void> {
    const led = this.#led;
    const written = this.#written;
    const asked = now();
    try {
      const leader = await this.#parts.store.leader();
      if (led === undefined || this.#led !== led) return;
      if (isCurrent(led.tenure, leader, written)) this.#noteConfirmation(asked);
      // Ends the session now, because waiting requests would learn it late from the next beat.
      else this.#loseSession();
    } catch (error) {
      this.#reportProblem(error);
      await delay(retryMs);
    }
  }

  #noteConfirmation(asked: Moment): void {
    if (asked.elapsed > this.#confirmedAt.elapsed) this.#confirmedAt = asked;
  }

  #loseSession(): void {
    this.#confirmedAt = never;
    this.#session?.end();
  }

  async #stepDown(): Promise<void> {
    const led = this.#led;
    this.#led = undefined;
    if (led !== undefined) led.tenure.isOver = true;
    await this.#close(led);
  }

  /** Stores changes, with retries until the term is over; storing twice is harmless. Throws `Deposed`. */
  async #write(tenure: Tenure, database: string, changes: Changes): Promise<void> {
    const until = performance.now() + closingMs;
    let stuck = 0;
    const timer = setTimeout(() => {
      this.#stuck += stuck = 1;
      this.#parts.onStuck();
    }, stuckMs).unref();
    try {
      while (!tenure.isOver && (!this.#isClosing || performance.now() < until)) {
        const session = this.#session;
        const asked = now();
        try {
          const written = await session?.write(tenure.term, database, changes);
          if (written !== undefined) {
            this.#written = Math.max(this.#written, written);
            if (this.#led?.tenure === tenure) this.#noteConfirmation(asked);
            if (session?.isCopyDue === true) this.#copy(session);
            return;
          }
          if (session !== undefined) break;
        } catch (error) {
          this.#reportProblem(error);
          session?.end();
          if (this.#session === session) this.#session = undefined;
          // A new term waits for this write before it opens another session, so retrying would be useless.
          if (this.#led?.tenure !== tenure) throw error;
        }
        await delay(retryMs);
      }
    } finally {
      clearTimeout(timer);
      this.#stuck -= stuck;
    }
    throw new Deposed('another process of the service leads, or the database is gone');
  }

  /** Copies the databases in the background, unless a copy is running. */
  #copy(session: LeadingSession): void {
    if (this.#led === undefined || this.#copying !== undefined || this.#isClosing) return;
    const { service, tenure } = this.#led;
    const { store } = this.#parts;
    this.#copying = store
      .forgetOld()
      .then(() => session.copy(tenure.term, service.databases, () => service.settled()))
      .catch((error: unknown) => {
        if (!tenure.isOver && !this.#isClosing && !session.ended.aborted) this.#reportProblem(error);
      })
      .then(() => store.forgetOld())
      // If the store is unreachable, the next copy deletes the old tables.
      .catch(() => undefined)
      .finally(() => (this.#copying = undefined));
  }

  #reportProblem(error: unknown): void {
    const text = textOf(error);
    if (!this.#problems.has(text)) this.#parts.onProblem(text);
    this.#problems.set(text, error);
  }

  #reportState(text: string): void {
    if (this.#reportedState !== text) this.#parts.onChange(text);
    this.#reportedState = text;
  }
}

function now(): Moment {
  return { wall: Date.now(), elapsed: performance.now() };
}

/** True if the store names this term and has all its writes, which an older copy may lack. */
function isCurrent({ term }: Tenure, leader: Announced | undefined, written: number): boolean {
  return leader?.term === term && leader.writes >= written;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
