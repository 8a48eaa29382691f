/** Takes over what runners that died left behind while this run goes on. */
import type { OtherRunners, TakenOver } from '../../pipeline/ports.ts';
import { readIntended, readSubmitted, readWritings } from './attempt-rows.ts';
import type { Lease } from './lease.ts';
import type { GroupContext } from './group-context.ts';

export class Orphans implements OtherRunners {
  readonly #context: Pick<GroupContext, 'db' | 'schema' | 'run'>;
  readonly #lease: Lease;
  readonly #read: <T>(work: () => Promise<T>) => Promise<T>;
  /** Keys of attempts. */
  #left: number[] = [];
  #wake: (() => void) | undefined;
  #isTaking = false;

  /** `read` waits while the database does not answer. */
  constructor(
    { lease, ...context }: Pick<GroupContext, 'db' | 'schema' | 'run' | 'lease'>,
    read: <T>(work: () => Promise<T>) => Promise<T>,
  ) {
    this.#context = context;
    this.#lease = lease;
    this.#read = read;
    lease.on({
      onAdopted: (attempts) => {
        this.#left.push(...attempts);
        this.#wake?.();
      },
    });
  }

  /** True if some of them are not in flight here yet. */
  get isBusy(): boolean {
    return this.#isTaking || this.#left.length > 0;
  }

  async takeOver(signal: AbortSignal): Promise<TakenOver | undefined> {
    this.#isTaking = false;
    // The start of the run finds what was left before the first call.
    this.#lease.isAdopting = !signal.aborted;
    while (this.#left.length === 0) {
      if (signal.aborted) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      this.#lease.isAdopting = !signal.aborted;
    }
    this.#isTaking = true;
    const keys = this.#left.splice(0);
    const { db, schema, run } = this.#context;
    const where = 'a.owner = $1 AND a.attempt = ANY($2)';
    return {
      writing: await this.#read(() => readWritings(db, schema, where, [run, keys])),
      intended: await this.#read(() => readIntended(db, schema, where, [run, keys])),
      submitted: () => this.#read(() => readSubmitted(db, schema, where, [run, keys])),
    };
  }

  listen(listener: Parameters<OtherRunners['listen']>[0]): void {
    this.#lease.on(listener);
  }
}
