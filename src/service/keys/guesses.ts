/** Who is trying keys: how many different wrong ones have come from each address of late. */

/**
 * Within a minute. What is wrong again and again is no guess: a program with a key that was revoked says the same one
 * with each of its requests.
 */
const maxGuesses = 20;
const withinMs = 60_000;

/** Those that were heard of first are forgotten first. */
const maxAddresses = 10_000;

interface Guesser {
  /** Of its first guess; a minute later it begins anew. */
  at: number;
  guesses: Set<string>;
}

export class Guesses {
  readonly #guessers = new Map<string, Guesser>();

  /** Notes a key that is not good here; how many ms to wait where it is one too many, otherwise 0. */
  add(address: string, digest: string, now: number): number {
    const guesser = this.#current(address, now) ?? this.#begin(address, now);
    if (guesser.guesses.has(digest)) return 0;
    if (guesser.guesses.size >= maxGuesses) return guesser.at + withinMs - now;
    guesser.guesses.add(digest);
    return 0;
  }

  /** How many ms the address has to wait before it may guess on; 0 where it may. */
  waitMs(address: string, now: number): number {
    const guesser = this.#current(address, now);
    return guesser === undefined || guesser.guesses.size < maxGuesses ? 0 : guesser.at + withinMs - now;
  }

  #current(address: string, now: number): Guesser | undefined {
    const guesser = this.#guessers.get(address);
    // A clock that was set back must not keep anybody out.
    return guesser !== undefined && now >= guesser.at && now - guesser.at < withinMs ? guesser : undefined;
  }

  #begin(address: string, now: number): Guesser {
    const guesser = { at: now, guesses: new Set<string>() };
    // Behind all others, so that the first is the oldest.
    this.#guessers.delete(address);
    this.#guessers.set(address, guesser);
    const [oldest] = this.#guessers.keys();
    if (this.#guessers.size > maxAddresses && oldest !== undefined) this.#guessers.delete(oldest);
    return guesser;
  }
}
