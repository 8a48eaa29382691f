/** One of the processes that share a store leads, and the next one leads when it is gone. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Changes } from './page-changes.ts';
import type { Copied, LeadingSession } from './leading-session.ts';
import type { Announced, PageStore } from './page-store.ts';

/** The service of the one that leads. */
export interface LedService {
  /** Of which the store has copies. */
  databases: readonly Copied[];
  /** Resolves when all that was committed so far is in the store. */
  settled(): Promise<void>;
  /** Has what is in progress end before it is closed. */
  drain?(): Promise<void>;
  close(): Promise<void>;
}

export type Write = (database: string, changes: Changes) => Promise<void>;

/** Another leads: what was not in the store by then never will be. */
export class Deposed extends Error {}

const beatMs = 2_000;
/** What is here is the truth for so long after the store has named this process. */
export const sureMs = 200;
/** Who begins to lead answers nothing before: the one before it is sure for so long at most, by clocks that differ a little. */
const othersSureMs = 250;
const lookMs = 500;
const retryMs = 50;
const stuckMs = 20_000;
const closingMs = 8_000;

interface Tenure {
  term: string;
  /** What it still writes is lost. */
  isOver: boolean;
}

interface Led<Service> {
  service: Service;
  tenure: Tenure;
}

/** By both clocks, as one may stand still and one jump. */
interface Moment {
  wall: number;
  elapsed: number;
}

const never: Moment = { wall: -Infinity, elapsed: -Infinity };

export class Leadership<Service extends LedService> {
  readonly #parts;
  readonly #stopping = new AbortController();
  /** Of this process while it leads, also while it has lost its way to the store. */
  #led: Led<Service> | undefined;
  #session: LeadingSession | undefined;
  /** The newest write that the store has for sure. */
  #written = 0;
  #isClosing = false;
  /** Changes that the store has not taken for long: every answer waits for them. */
  #stuck = 0;
  /** When the store was asked last and named this process. */
  #sureAt = never;
  #asking: Promise<void> | undefined;
  #leaderUrl: string | undefined;
  #term: string | undefined;
  #told: string | undefined;
  /** Told since the store was there last: several things that ask it may each fail in their own words. */
  readonly #problems = new Map<string, unknown>();
  #running: Promise<void> | undefined;
  #copying: Promise<void> | undefined;

  constructor(parts: {
    store: PageStore;
    /** How the others reach this process. */
    url: string;
    /** Opens the service as the store has it; `write` rejects with `Deposed` once another leads. */
    open: (session: LeadingSession, write: Write) => Promise<Service>;
    onProblem: (text: string) => void;
    /** Says who leads. */
    onChange: (text: string) => void;
    /** Nothing that another was asked before will be in the store any more. */
    onTerm: () => void;
    /** The store has not taken a change for long, and may take it yet. */
    onStuck: () => void;
  }) {
    this.#parts = parts;
  }

  /** Resolves when it is known who leads; rejects where the store is of no use. */
  async start(): Promise<void> {
    this.#running = this.#run();
    while (this.#told === undefined) {
      await delay(retryMs);
      if (this.#problems.size === 0 || this.#told !== undefined) continue;
      this.#stopping.abort();
      await this.#running;
      throw [...this.#problems.values()].at(-1);
    }
  }

  /** The service, where the store has named this process just now, or when asked after `since` (as `performance.now()`). */
  serviceFor(since: number): Service | undefined {
    if (this.#stopping.signal.aborted || this.#stuck > 0) return undefined;
    const { wall, elapsed } = this.#sureAt;
    const wallMs = Date.now() - wall;
    const isFresh = wallMs >= 0 && wallMs < sureMs && performance.now() - elapsed < sureMs;
    return isFresh || elapsed >= since ? this.#led?.service : undefined;
  }

  /** Whether this process leads, as far as it knows. */
  get leads(): boolean {
    return this.#led !== undefined;
  }

  /** How to reach the one that leads; undefined where that is not known. */
  get leaderUrl(): string | undefined {
    return this.leads ? this.#parts.url : this.#leaderUrl;
  }

  /** Asks the store where this process may lead; resolves soon in any case. */
  async news(): Promise<void> {
    const soon = delay(retryMs);
    if (this.leads) this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    await Promise.race([soon, this.leads ? this.#asking : soon]);
  }

  /** Of the service, while this process leads it. */
  async drain(): Promise<void> {
    await this.#led?.service.drain?.();
  }

  /** The next one leads at once. */
  async stop(): Promise<void> {
    this.#isClosing = true;
    // Its session goes on meanwhile, or another leads and all this is in vain.
    await this.#close();
    this.#stopping.abort();
    await this.#running;
    await this.#close();
  }

  /** As often as one likes. */
  async #close(led = this.#led): Promise<void> {
    await led?.service.close().catch((error: unknown) => this.#tell(error));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const session = await this.#parts.store.lead();
        if (session === undefined) await this.#follow();
        else await this.#lead(session).finally(() => session.end());
      } catch (error) {
        this.#tell(error);
      }
      await delay(lookMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Until the session breaks. */
  async #lead(session: LeadingSession): Promise<void> {
    const before = await this.#parts.store.leader();
    if (this.#led !== undefined && !isOf(this.#led.tenure, before, this.#written)) await this.#stepDown();
    this.#session = session;
    if (this.#led === undefined) await this.#begin(session, before !== undefined);
    await session.keep();
    const { signal } = this.#stopping;
    const over = AbortSignal.any([signal, session.ended]);
    while (!over.aborted) {
      await session.beat();
      if (session.isCopyDue) this.#copy(session);
      this.#say('leads');
      await delay(beatMs, undefined, { signal: over }).catch(() => undefined);
      // One that was told is over: the same may come again.
      if (!over.aborted) this.#problems.clear();
    }
    // It was told to stop while it began.
    if (signal.aborted) await this.#close();
  }

  /** `wasLed`: by another, which may not know yet. */
  async #begin(session: LeadingSession, wasLed: boolean): Promise<void> {
    const { open, url } = this.#parts;
    const tenure = { term: randomUUID(), isOver: false };
    await session.announce({ url, term: tenure.term });
    this.#note(undefined, tenure.term);
    const answering = delay(wasLed ? othersSureMs : 0);
    this.#written = 0;
    const service = await open(session, (database, changes) => this.#write(tenure, database, changes));
    await answering;
    this.#sureAt = never;
    this.#led = { service, tenure };
  }

  async #follow(): Promise<void> {
    const leader = await this.#parts.store.leader();
    // Its own session may hold the lock for a while after it has broken.
    if (this.#led?.tenure.term !== leader?.term) await this.#stepDown();
    if (this.#led !== undefined || leader === undefined) return;
    this.#note(leader.url, leader.term);
    this.#problems.clear();
    this.#say(`hands requests on to ${leader.url}`);
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
      if (isOf(led.tenure, leader, written)) this.#noteSure(asked);
      // Whoever waits for the next beat would learn it late.
      else this.#loseSession();
    } catch (error) {
      this.#tell(error);
      await delay(retryMs);
    }
  }

  #noteSure(asked: Moment): void {
    if (asked.elapsed > this.#sureAt.elapsed) this.#sureAt = asked;
  }

  #loseSession(): void {
    this.#sureAt = never;
    this.#session?.end();
  }

  async #stepDown(): Promise<void> {
    const led = this.#led;
    this.#led = undefined;
    if (led !== undefined) led.tenure.isOver = true;
    await this.#close(led);
  }

  /** As often as it takes: the same pages may be written twice. */
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
            if (this.#led?.tenure === tenure) this.#noteSure(asked);
            if (session?.isCopyDue === true) this.#copy(session);
            return;
          }
          if (session !== undefined) break;
        } catch (error) {
          this.#tell(error);
          session?.end();
          if (this.#session === session) this.#session = undefined;
          // Who is about to begin waits for this, and asks for no other session meanwhile.
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

  /** Beside all else. */
  #copy(session: LeadingSession): void {
    if (this.#led === undefined || this.#copying !== undefined || this.#isClosing) return;
    const { service, tenure } = this.#led;
    const { store } = this.#parts;
    this.#copying = store
      .forgetOld()
      .then(() => session.copy(tenure.term, service.databases, () => service.settled()))
      .catch((error: unknown) => {
        if (!tenure.isOver && !this.#isClosing && !session.ended.aborted) this.#tell(error);
      })
      .then(() => store.forgetOld())
      // Where the store is gone, it is done with the next copy.
      .catch(() => undefined)
      .finally(() => (this.#copying = undefined));
  }

  #tell(error: unknown): void {
    const text = textOf(error);
    if (!this.#problems.has(text)) this.#parts.onProblem(text);
    this.#problems.set(text, error);
  }

  #say(text: string): void {
    if (this.#told !== text) this.#parts.onChange(text);
    this.#told = text;
  }
}

function now(): Moment {
  return { wall: Date.now(), elapsed: performance.now() };
}

/** The store may be a copy by now, which lacks what was written last. */
function isOf({ term }: Tenure, leader: Announced | undefined, written: number): boolean {
  return leader?.term === term && leader.writes >= written;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
