/** The memory that large responses share: nothing is received that there is no room for. */
import { nextClaim, type Claim } from '../core/next-reservation.ts';
import type { Hold } from '../pipeline/ports.ts';

/** Answers up to this take no part of it and never wait: all of them together are few megabytes. */
export const smallBytes = 64 * 1024;

type WaitingClaim = Claim & { onMet: () => void };

export class MemoryBudget {
  readonly #limit: number;
  readonly #held = new Map<object, number>();
  #waiting: WaitingClaim[] = [];

  /** Bytes. One that is too small for an answer lets it through alone. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * For what belongs together, such as one job's answer and pictures; takes nothing yet. `onWait` is called where
   * something has to be waited for.
   */
  open(onWait?: () => void): Reservation {
    return new Reservation(this, onWait);
  }

  bytesOf(holder: object): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Resolves to whether it was met: false where `signal` aborts before. */
  claim(holder: object, bytes: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const stop = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== claim);
        resolve(false);
        this.#meet();
      };
      const onMet = (): void => {
        signal.removeEventListener('abort', stop);
        resolve(true);
      };
      const claim: WaitingClaim = { holder, bytes, onMet };
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.push(claim);
      this.#meet();
    });
  }

  /** Whether it was met at once. */
  claimNow(holder: object, bytes: number): boolean {
    let isMet = false;
    const claim = { holder, bytes, onMet: () => (isMet = true) };
    this.#waiting.push(claim);
    this.#meet();
    this.#waiting = this.#waiting.filter((other) => other !== claim);
    return isMet;
  }

  giveBack(holder: object, bytes: number): void {
    const left = this.bytesOf(holder) - bytes;
    if (left > 0) this.#held.set(holder, left);
    else this.#held.delete(holder);
    this.#meet();
  }

  #meet(): void {
    for (;;) {
      const claim = nextClaim(this.#limit, this.#held, this.#waiting);
      if (claim === undefined) return;
      this.#held.set(claim.holder, this.bytesOf(claim.holder) + claim.bytes);
      this.#waiting = this.#waiting.filter((other) => other !== claim);
      (claim as WaitingClaim).onMet();
    }
  }
}

/** The part of one job. */
export class Reservation implements Hold {
  readonly #memory: MemoryBudget;
  readonly #onWait: (() => void) | undefined;

  constructor(memory: MemoryBudget, onWait?: () => void) {
    this.#memory = memory;
    this.#onWait = onWait;
  }

  get bytes(): number {
    return this.#memory.bytesOf(this);
  }

  async take(bytes: number, signal: AbortSignal): Promise<boolean> {
    if (!signal.aborted && this.tryTake(bytes)) return true;
    this.#onWait?.();
    return this.#memory.claim(this, bytes, signal);
  }

  tryTake(bytes: number): boolean {
    return this.#memory.claimNow(this, bytes);
  }

  giveBack(bytes: number): void {
    this.#memory.giveBack(this, bytes);
  }

  release(): void {
    this.giveBack(this.bytes);
  }
}
