/** How many webhooks may be on their way at once: to one host, to hosts that are silent, and to those that answer. */

/** A webhook on its way, or about to be. */
export interface Passage {
  /** With its port. */
  host: string;
  /** In memory at a time. */
  bytes: number;
}

/** What is known of a host: `untried` since the service started or for long, or how it met the latest try. */
type Standing = 'answering' | 'untried' | 'silent';

const most = { webhooks: 512, bytes: 64 * 1024 * 1024 };

/** How much of `most` is open to hosts that are no better than this, all of them together. */
const shares: Record<Standing, number> = { answering: 1, untried: 3 / 4, silent: 1 / 4 };

/** In rising order: what counts for one counts for those behind it. */
const standings: readonly Standing[] = ['silent', 'untried', 'answering'];

/** A host that hangs is asked one thing at a time, and keeps nobody else from being told. */
const toOneHost: Record<Standing, number> = { answering: 4, untried: 4, silent: 1 };

/** Those that were told of first are forgotten first. */
const maxHosts = 10_000;

export class WebhookLanes {
  readonly #standings = new Map<string, Standing>();
  readonly #passing = new Map<string, number>();
  readonly #taken: Record<Standing, { webhooks: number; bytes: number }> = {
    answering: { webhooks: 0, bytes: 0 },
    untried: { webhooks: 0, bytes: 0 },
    silent: { webhooks: 0, bytes: 0 },
  };

  get isFull(): boolean {
    return this.#takenUpTo('answering').webhooks >= most.webhooks;
  }

  /** Takes a place; returns what gives it back, or undefined where there is none. */
  enter({ host, bytes }: Passage): ((hasAnswered: boolean | undefined) => void) | undefined {
    const standing = this.#standings.get(host) ?? 'untried';
    const toHost = this.#passing.get(host) ?? 0;
    if (toHost >= toOneHost[standing] || !this.#hasRoom(standing, bytes)) return undefined;
    this.#passing.set(host, toHost + 1);
    const taken = this.#taken[standing];
    taken.webhooks += 1;
    taken.bytes += bytes;
    return (hasAnswered) => {
      taken.webhooks -= 1;
      taken.bytes -= bytes;
      this.#leave(host);
      if (hasAnswered !== undefined) this.#note(host, hasAnswered ? 'answering' : 'silent');
    };
  }

  /** One that is larger than all that may be is let through alone. */
  #hasRoom(standing: Standing, bytes: number): boolean {
    return standings.slice(standings.indexOf(standing)).every((each) => {
      const taken = this.#takenUpTo(each);
      const fits = taken.bytes === 0 || taken.bytes + bytes <= shares[each] * most.bytes;
      return fits && taken.webhooks < shares[each] * most.webhooks;
    });
  }

  /** By hosts that are no better. */
  #takenUpTo(standing: Standing): { webhooks: number; bytes: number } {
    const those = standings.slice(0, standings.indexOf(standing) + 1).map((each) => this.#taken[each]);
    return {
      webhooks: those.reduce((sum, { webhooks }) => sum + webhooks, 0),
      bytes: those.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  #leave(host: string): void {
    const toHost = (this.#passing.get(host) ?? 1) - 1;
    if (toHost === 0) this.#passing.delete(host);
    else this.#passing.set(host, toHost);
  }

  #note(host: string, standing: Standing): void {
    this.#standings.delete(host);
    this.#standings.set(host, standing);
    const [first] = this.#standings.keys();
    if (this.#standings.size > maxHosts && first !== undefined) this.#standings.delete(first);
  }
}
