/** Limits concurrent webhooks: for one host, for silent hosts, and for those that answer. */

/** A webhook on its way, or about to be. */
export interface WebhookLoad {
  /** With its port. */
  host: string;
  /** In memory at a time. */
  bytes: number;
}

/** What is known of a host: `untried` since the service started or for long, or how it met the latest try. */
type HostState = 'answering' | 'untried' | 'silent';

const limits = { webhooks: 1_024, bytes: 64 * 1024 * 1024 };

/** How much of `limits` is open to hosts that are no better than this, all of them together. */
const shares: Record<HostState, number> = { answering: 1, untried: 3 / 4, silent: 1 / 4 };

/** In rising order: what counts for one counts for those behind it. */
const states: readonly HostState[] = ['silent', 'untried', 'answering'];

/** Many hosts that hang would take all places if each had more than one. */
const maxPerHost: Record<HostState, number> = { answering: 4, untried: 1, silent: 1 };

/** The oldest are forgotten first. */
const maxHosts = 10_000;

export class WebhookSlots {
  readonly #states = new Map<string, HostState>();
  readonly #passing = new Map<string, number>();
  readonly #taken: Record<HostState, { webhooks: number; bytes: number }> = {
    answering: { webhooks: 0, bytes: 0 },
    untried: { webhooks: 0, bytes: 0 },
    silent: { webhooks: 0, bytes: 0 },
  };

  /** True if there is a place for a small webhook to this host. */
  hasRoom(host: string): boolean {
    const state = this.#states.get(host) ?? 'untried';
    return (this.#passing.get(host) ?? 0) < maxPerHost[state] && this.#fits(state, 0);
  }

  /** Takes a place; returns what gives it back, or undefined where there is none. */
  acquire({ host, bytes }: WebhookLoad): ((hasAnswered: boolean | undefined) => void) | undefined {
    const state = this.#states.get(host) ?? 'untried';
    if (!this.hasRoom(host) || !this.#fits(state, bytes)) return undefined;
    this.#passing.set(host, (this.#passing.get(host) ?? 0) + 1);
    const taken = this.#taken[state];
    taken.webhooks += 1;
    taken.bytes += bytes;
    return (hasAnswered) => {
      taken.webhooks -= 1;
      taken.bytes -= bytes;
      this.#release(host);
      if (hasAnswered !== undefined) this.#note(host, hasAnswered ? 'answering' : 'silent');
    };
  }

  /** One that is larger than all that may be is let through alone. */
  #fits(state: HostState, bytes: number): boolean {
    return states.slice(states.indexOf(state)).every((each) => {
      const taken = this.#takenUpTo(each);
      const fits = taken.bytes === 0 || taken.bytes + bytes <= shares[each] * limits.bytes;
      return fits && taken.webhooks < shares[each] * limits.webhooks;
    });
  }

  /** By hosts that are no better. */
  #takenUpTo(state: HostState): { webhooks: number; bytes: number } {
    const those = states.slice(0, states.indexOf(state) + 1).map((each) => this.#taken[each]);
    return {
      webhooks: those.reduce((sum, { webhooks }) => sum + webhooks, 0),
      bytes: those.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  #release(host: string): void {
    const toHost = (this.#passing.get(host) ?? 1) - 1;
    if (toHost === 0) this.#passing.delete(host);
    else this.#passing.set(host, toHost);
  }

  #note(host: string, state: HostState): void {
    this.#states.delete(host);
    this.#states.set(host, state);
    const [first] = this.#states.keys();
    if (this.#states.size > maxHosts && first !== undefined) this.#states.delete(first);
  }
}
