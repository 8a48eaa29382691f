/**
 * Ends a run at a chosen call of a port, before or after the call does its work, as a crash would. It can also make the
 * disk fail at a call.
 */
import { FatalFailure } from '../../src/runner/core/failure.ts';

export class Killer {
  /** Number of half calls so far. With `killAt` n, the run dies at the nth (odd: before a call, even: after a call). */
  halves = 0;
  readonly #killAt: number;
  /** Name (`port.method`) of the calls that never return. */
  readonly #hang: string;
  /** Number, among the calls that need the disk, of the call that fails. */
  readonly #failAt: number;
  /** Number of calls so far that need the disk. */
  diskCalls = 0;
  #outstanding = 0;
  isDead = false;
  /** Names of the calls, in order. */
  readonly calls: string[] = [];

  constructor(killAt = Infinity, hang = '', failAt = Infinity) {
    this.#killAt = killAt;
    this.#hang = hang;
    this.#failAt = failAt;
  }

  /** True if the disk has failed. */
  get hasFailed(): boolean {
    return this.diskCalls >= this.#failAt;
  }

  /** True if no call is in progress. */
  get isIdle(): boolean {
    return this.#outstanding === 0;
  }

  guard<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const method = Reflect.get(target, key, target) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.#call(`${name}.${String(key)}`, () => Reflect.apply(method, target, args) as unknown);
      },
    });
  }

  async #call(name: string, work: () => unknown): Promise<unknown> {
    if (this.isDead) return never();
    this.calls.push(name);
    if (name === this.#hang || this.#dies()) return never();
    if (/^(checkpoint|images|report)\./.test(name) && ++this.diskCalls === this.#failAt)
      throw new FatalFailure({ kind: 'output-unwritable', text: `the disk failed at ${name}` });
    this.#outstanding += 1;
    try {
      const result = await work();
      return this.isDead || this.#dies() ? await never() : result;
    } finally {
      this.#outstanding -= 1;
    }
  }

  #dies(): boolean {
    this.halves += 1;
    if (this.halves === this.#killAt) this.isDead = true;
    return this.isDead;
  }
}

/**
 * Returns a promise that never settles, because a dead process gets no answers. A shared promise would keep every dead
 * run in memory.
 */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
