/** The memory that large responses share: nothing is received that there is no room for. */
import { nextClaim, type Claim } from '../core/next-reservation.ts';
import type { Hold } from '../pipeline/ports.ts';

/** Answers up to this take no part of it and never wait: all of them together are few megabytes. */
export const smallBytes = 64 * 1024;

type WaitingClaim = Claim & { onMet: () => void };

export class MemoryBudget {
  readonly #limit: number;
  readonly #held = new Map<object, number>();
  readonly buffers: ReusedBuffers;
  #waiting: WaitingClaim[] = [];

  /** Bytes. One that is too small for an answer lets it through alone. */
  constructor(limit: number) {
    this.#limit = limit;
    this.buffers = new ReusedBuffers(limit);
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
  readonly #buffers: Buffer[] = [];

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

  buffer(bytes: number): Buffer {
    const buffer = this.#memory.buffers.take(bytes);
    this.#buffers.push(buffer);
    return buffer;
  }

  release(): void {
    for (const buffer of this.#buffers.splice(0)) this.#memory.buffers.giveBack(buffer);
    this.giveBack(this.bytes);
  }

  drop(): void {
    for (const buffer of this.#buffers.splice(0)) this.#memory.buffers.forget(buffer);
    this.giveBack(this.bytes);
  }
}

/** Sizes differ by this at least, those below the larger step by the smaller one; a buffer is larger by so many at most. */
const stepBytes = 1024 * 1024;
const smallStepBytes = 64 * 1024;
const maxSpareSteps = 2;

class ReusedBuffers {
  readonly #maxBytes: number;
  #usedBytes = 0;
  /** Latest first. */
  #idle: Buffer[] = [];

  /** Idle ones are kept as long as they and those in use are not more than this. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** At least of this size; holds whatever was in it. */
  take(bytes: number): Buffer {
    const step = bytes < stepBytes ? smallStepBytes : stepBytes;
    const size = Math.ceil(bytes / step) * step;
    const fits = ({ length }: Buffer): boolean => length >= size && length <= size + maxSpareSteps * step;
    const buffer = this.#idle.find(fits) ?? Buffer.allocUnsafeSlow(size);
    this.#idle = this.#idle.filter((other) => other !== buffer);
    this.#usedBytes += buffer.length;
    this.#dropIdle();
    return buffer;
  }

  /** It is not used any more. */
  giveBack(buffer: Buffer): void {
    this.#idle.unshift(buffer);
    this.forget(buffer);
  }

  /** It may still be in use. */
  forget({ length }: Buffer): void {
    this.#usedBytes -= length;
    this.#dropIdle();
  }

  #dropIdle(): void {
    let bytes = this.#usedBytes;
    this.#idle = this.#idle.filter(({ length }) => (bytes += length) <= this.#maxBytes);
  }
}
