/** Limits concurrent webhooks: in one queue, to silent hosts, and in all. */

/** A webhook on its way, or about to be. */
export interface WebhookLoad {
  /** Its receiver and its key, as `queueOf` names them. */
  queue: string;
  /** In memory at a time. */
  bytes: number;
}

/** What is known of a queue: `untried` since the service started or for long, or how it met the latest try. */
type QueueState = 'answering' | 'untried' | 'silent';

const limits = { webhooks: 1_024, bytes: 64 * 1024 * 1024 };

/** How much of `limits` is open to queues that are no better than this, all of them together. */
const shares: Record<QueueState, number> = { answering: 1, untried: 3 / 4, silent: 1 / 4 };

/** In rising order: what counts for one counts for those behind it. */
const states: readonly QueueState[] = ['silent', 'untried', 'answering'];

/** Many hosts that hang would take all places if each queue had more than one. */
const maxPerQueue: Record<QueueState, number> = { answering: 4, untried: 1, silent: 1 };

/** The oldest are forgotten first. */
const maxQueues = 10_000;

export class WebhookSlots {
  readonly #states = new Map<string, QueueState>();
  readonly #passing = new Map<string, number>();
  readonly #taken: Record<QueueState, { webhooks: number; bytes: number }> = {
    answering: { webhooks: 0, bytes: 0 },
    untried: { webhooks: 0, bytes: 0 },
    silent: { webhooks: 0, bytes: 0 },
  };

  /** True if there is a place for a small webhook of this queue. */
  hasRoom(queue: string): boolean {
    const state = this.#states.get(queue) ?? 'untried';
    return (this.#passing.get(queue) ?? 0) < maxPerQueue[state] && this.#fits(state, 0);
  }

  /** Takes a place; returns what gives it back, or undefined where there is none. */
  acquire({ queue, bytes }: WebhookLoad): ((hasAnswered: boolean | undefined) => void) | undefined {
    const state = this.#states.get(queue) ?? 'untried';
    if (!this.hasRoom(queue) || !this.#fits(state, bytes)) return undefined;
    this.#passing.set(queue, (this.#passing.get(queue) ?? 0) + 1);
    const taken = this.#taken[state];
    taken.webhooks += 1;
    taken.bytes += bytes;
    return (hasAnswered) => {
      taken.webhooks -= 1;
      taken.bytes -= bytes;
      this.#release(queue);
      if (hasAnswered !== undefined) this.#note(queue, hasAnswered ? 'answering' : 'silent');
    };
  }

  /** One that is larger than all that may be is let through alone. */
  #fits(state: QueueState, bytes: number): boolean {
    return states.slice(states.indexOf(state)).every((each) => {
      const taken = this.#takenUpTo(each);
      const fits = taken.bytes === 0 || taken.bytes + bytes <= shares[each] * limits.bytes;
      return fits && taken.webhooks < shares[each] * limits.webhooks;
    });
  }

  /** By queues that are no better. */
  #takenUpTo(state: QueueState): { webhooks: number; bytes: number } {
    const those = states.slice(0, states.indexOf(state) + 1).map((each) => this.#taken[each]);
    return {
      webhooks: those.reduce((sum, { webhooks }) => sum + webhooks, 0),
      bytes: those.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  #release(queue: string): void {
    const passing = (this.#passing.get(queue) ?? 1) - 1;
    if (passing === 0) this.#passing.delete(queue);
    else this.#passing.set(queue, passing);
  }

  #note(queue: string, state: QueueState): void {
    this.#states.delete(queue);
    this.#states.set(queue, state);
    const [first] = this.#states.keys();
    if (this.#states.size > maxQueues && first !== undefined) this.#states.delete(first);
  }
}
