/** Groups many small writes into few transactions: what is requested during one goes into the next. */
import { setTimeout as delay } from 'node:timers/promises';
import { PostgresFailure } from './postgres.ts';

interface QueuedWrite<Write> {
  write: Write;
  resolve: (result: unknown) => void;
  reject: (reason: unknown) => void;
}

/** Result of a write, or the error that only this write has. Outcomes are in the order of the group. */
export type Outcome = { result: unknown } | { error: unknown };

const firstWaitMs = 100;
const maxWaitMs = 5_000;

/** Retries a group while the database does not answer. Its number identifies a group whose answer was lost. */
export class GroupedWrites<Write> {
  readonly #commit: (group: Write[], number: number) => Promise<Outcome[]>;
  #queue: QueuedWrite<Write>[] = [];
  #number = 0;
  #isBusy = false;
  #isGivenUp = false;
  readonly #over = new AbortController();
  #idle: Promise<void> = Promise.resolve();

  constructor(commit: (group: Write[], number: number) => Promise<Outcome[]>) {
    this.#commit = commit;
  }

  ask(write: Write): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ write, resolve, reject });
      if (this.#isBusy) return;
      this.#isBusy = true;
      // Everything that is requested in this turn of the event loop belongs to the group.
      this.#idle = new Promise((done) => {
        setImmediate(() => void this.#run().finally(done));
      });
    });
  }

  /** Ends all waiting for a database that does not answer. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#over.abort();
  }

  /** Resolves when no write is on its way. */
  idle(): Promise<void> {
    return this.#idle;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#queue.splice(0);
      this.#number += 1;
      try {
        const outcomes = await this.#commitPatiently(group.map(({ write }) => write));
        for (const [i, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[i];
          if (outcome !== undefined && 'result' in outcome) resolve(outcome.result);
          else reject(outcome?.error);
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#isBusy = false;
  }

  async #commitPatiently(group: Write[]): Promise<Outcome[]> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, 2 * waitMs)) {
      try {
        return await this.#commit(group, this.#number);
      } catch (error) {
        const isGone = error instanceof PostgresFailure && error.kind === 'gone';
        if (!isGone || this.#isGivenUp) throw error;
      }
      await delay(waitMs, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }
}
