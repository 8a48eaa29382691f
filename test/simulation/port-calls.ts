/** The calls of ports one after the other, so that the same night always takes the same course, and a death at one of them. */
import { AsyncLocalStorage } from 'node:async_hooks';

const died = Symbol('died');

/** Set within the work of a call: what that calls in turn is a part of it, and would wait for its own end. */
const within = new AsyncLocalStorage<true>();

export interface PortCallOptions {
  /** The program dies at its nth half call: a call counts before it does its work and after it. */
  dieAt: number;
  /** Called when it has just died. */
  onDeath: () => void;
  onCall: (name: string) => void;
}

export class PortCalls {
  halves = 0;
  isDead = false;
  /** Asked for and not yet answered. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #tellIdle: () => void = () => undefined;
  readonly #options: PortCallOptions;

  constructor(options: PortCallOptions) {
    this.#options = options;
  }

  guard<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const method = Reflect.get(target, key, target) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.call(`${name}.${String(key)}`, () => Reflect.apply(method, target, args) as unknown);
      },
    });
  }

  async call<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (within.getStore() === true) return work();
    if (this.isDead) return never();
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#take(name, work));
    this.#last = turn.catch(() => undefined);
    const result = await turn;
    return result === died ? never() : result;
  }

  /** Resolves when nothing is on its way. */
  async idle(): Promise<void> {
    if (this.#waiting > 0) await new Promise<void>((resolve) => (this.#tellIdle = resolve));
  }

  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  async #take<T>(name: string, work: () => T | Promise<T>): Promise<T | typeof died> {
    try {
      if (this.#dies()) return died;
      this.#options.onCall(name);
      const result = await within.run(true, work);
      return this.#dies() ? died : result;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#tellIdle();
    }
  }

  #dies(): boolean {
    if (this.isDead) return true;
    this.halves += 1;
    this.isDead = this.halves === this.#options.dieAt;
    if (this.isDead) this.#options.onDeath();
    return this.isDead;
  }
}

/** Nothing that a dead program asked for ever comes back to it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
