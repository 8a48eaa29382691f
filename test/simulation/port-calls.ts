/**
 * Runs the calls of ports one after the other, so that a night is the same each time, and kills the program at a chosen
 * call.
 */
const died = Symbol('died');

export interface PortCallOptions {
  /** Number of the half call at which the program dies. Each call counts before and after its work. */
  dieAt: number;
  /** Called right after the program died. */
  onDeath: () => void;
  onCall: (name: string) => void;
}

export class PortCalls {
  halves = 0;
  isDead = false;
  /** True while a function runs that was passed to a call. */
  #isWithin = false;
  /** Number of calls that have not returned. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #tellIdle: () => void = () => undefined;
  readonly #options: PortCallOptions;

  constructor(options: PortCallOptions) {
    this.#options = options;
  }

  /**
   * A function that is passed to a call may call a port too, before its first `await`. Such a call is a part of the
   * first one: if it waited for its turn, both would wait forever.
   */
  guard<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const method = Reflect.get(target, key, target) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.call(
            `${name}.${String(key)}`,
            () => Reflect.apply(method, target, args.map(this.#within)) as unknown,
          );
      },
    });
  }

  readonly #within = (argument: unknown): unknown => {
    if (typeof argument !== 'function') return argument;
    return (...args: unknown[]): unknown => {
      this.#isWithin = true;
      try {
        return Reflect.apply(argument, undefined, args) as unknown;
      } finally {
        this.#isWithin = false;
      }
    };
  };

  async call<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.#isWithin) return work();
    if (this.isDead) return never();
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#take(name, work));
    this.#last = turn.catch(() => undefined);
    const result = await turn;
    return result === died ? never() : result;
  }

  /** Resolves when no call is in progress. */
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
      const result = await work();
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

/** Returns a promise that never settles, because a dead program gets no answers. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
