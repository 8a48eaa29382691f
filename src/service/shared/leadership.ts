/** One of the processes that share a store leads, and the next one leads when it is gone. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Changes, type LeadingSession, type PageStore } from './page-store.ts';

/** The service of the one that leads. */
export interface LedService {
  close(): Promise<void>;
}

export interface LeadershipParts<Service extends LedService> {
  store: PageStore;
  /** How the others reach this process. */
  url: string;
  /** Opens the service as the store has it; `write` rejects with `Deposed` once another leads. */
  open: (session: LeadingSession, write: Write) => Promise<Service>;
  onProblem: (text: string) => void;
  /** Says who leads. */
  onChange: (text: string) => void;
}

export type Write = (database: string, changes: Changes) => Promise<void>;

/** Another leads: what was not in the store by then never will be. */
export class Deposed extends Error {}

const beatMs = 2_000;
/** Less than the time after which another may lead: until then what is here is the truth. */
const sureMs = 8_000;
const lookMs = 500;
const retryMs = 50;

interface Tenure {
  term: string;
  /** What it still writes is lost. */
  isOver: boolean;
}

interface Led<Service> {
  service: Service;
  tenure: Tenure;
}

export class Leadership<Service extends LedService> {
  readonly #parts: LeadershipParts<Service>;
  readonly #stopping = new AbortController();
  /** Of this process while it leads, also while it has lost its way to the store. */
  #led: Led<Service> | undefined;
  #session: LeadingSession | undefined;
  /** The newest write that the store has for sure. */
  #written = 0;
  #isClosing = false;
  /** When the store was asked last and said that this process leads: by both clocks, as one may stand still and one jump. */
  #sureAt = { wall: -Infinity, elapsed: -Infinity };
  #leaderUrl: string | undefined;
  #told: string | undefined;
  #problem: unknown;
  #running: Promise<void> | undefined;

  constructor(parts: LeadershipParts<Service>) {
    this.#parts = parts;
  }

  /** Resolves when it is known who leads; rejects where the store is of no use. */
  async start(): Promise<void> {
    this.#running = this.#run();
    while (this.#told === undefined) {
      await delay(retryMs);
      if (this.#problem === undefined || this.#told !== undefined) continue;
      this.#stopping.abort();
      await this.#running;
      throw this.#problem;
    }
  }

  /** The service, while it is sure that this process leads. */
  get service(): Service | undefined {
    const { wall, elapsed } = this.#sureAt;
    const wallMs = Date.now() - wall;
    const isHeld = this.#session?.ended.aborted === false;
    const isSure = isHeld && wallMs >= 0 && wallMs < sureMs && performance.now() - elapsed < sureMs;
    return isSure ? this.#led?.service : undefined;
  }

  /** Who answers requests; undefined where that is not known. */
  get leaderUrl(): string | undefined {
    if (this.service !== undefined) return this.#parts.url;
    return this.#led === undefined ? this.#leaderUrl : undefined;
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
    // The store may be a copy by now, which lacks what was written last.
    if (this.#led?.tenure.term !== before?.term || (before?.writes ?? 0) < this.#written)
      await this.#stepDown();
    this.#session = session;
    if (this.#led === undefined) await this.#begin(session);
    await session.keep();
    const { signal } = this.#stopping;
    const over = AbortSignal.any([signal, session.ended]);
    while (!over.aborted) {
      const asked = { wall: Date.now(), elapsed: performance.now() };
      await session.beat();
      this.#sureAt = asked;
      this.#say('leads');
      await delay(beatMs, undefined, { signal: over }).catch(() => undefined);
      // One that was told is over: the same may come again.
      if (!over.aborted) this.#problem = undefined;
    }
    // It was told to stop while it began.
    if (signal.aborted) await this.#close();
  }

  async #begin(session: LeadingSession): Promise<void> {
    const { open, url } = this.#parts;
    const tenure = { term: randomUUID(), isOver: false };
    await session.announce({ url, term: tenure.term });
    this.#written = 0;
    const service = await open(session, (database, changes) => this.#write(tenure, database, changes));
    this.#led = { service, tenure };
  }

  async #follow(): Promise<void> {
    const leader = await this.#parts.store.leader();
    // Its own session may hold the lock for a while after it has broken.
    if (this.#led?.tenure.term !== leader?.term) await this.#stepDown();
    if (this.#led !== undefined || leader === undefined) return;
    this.#leaderUrl = leader.url;
    this.#problem = undefined;
    this.#say(`hands requests on to ${leader.url}`);
  }

  async #stepDown(): Promise<void> {
    const led = this.#led;
    this.#led = undefined;
    if (led !== undefined) led.tenure.isOver = true;
    await this.#close(led);
  }

  /** As often as it takes: the same pages may be written twice. */
  async #write(tenure: Tenure, database: string, changes: Changes): Promise<void> {
    const until = performance.now() + sureMs;
    while (!tenure.isOver && (!this.#isClosing || performance.now() < until)) {
      const session = this.#session;
      try {
        const written = await session?.write(tenure.term, database, changes);
        if (written !== undefined) return void (this.#written = Math.max(this.#written, written));
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
    throw new Deposed('another process of the service leads, or the database is gone');
  }

  #tell(error: unknown): void {
    const text = textOf(error);
    if (this.#problem === undefined || textOf(this.#problem) !== text) this.#parts.onProblem(text);
    this.#problem = error;
  }

  #say(text: string): void {
    if (this.#told !== text) this.#parts.onChange(text);
    this.#told = text;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
