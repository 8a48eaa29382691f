/** Counts wrong keys or passwords of each address, so that nobody can try many. */

/**
 * Maximum number of different wrong keys per address and minute. A repeated key is no guess: a program with a
 * revoked key sends it with each request.
 */
const maxGuesses = 20;
const withinMs = 60_000;

/** Maximum number of addresses whose guesses are counted. The oldest is forgotten first. */
const maxAddresses = 10_000;

interface Guesser {
  /** Time of the first guess, by the caller's clock in ms. Counting starts again one minute later. */
  at: number;
  guesses: Set<string>;
}

/** Limits the guessing of keys and passwords, by address. */
export class Guesses {
  readonly #maxGuesses: number;
  readonly #guessers = new Map<string, Guesser>();

  constructor(most = maxGuesses) {
    this.#maxGuesses = most;
  }

  /**
   * Counts a wrong key. Returns the time to wait in ms if the address has already tried too many others, otherwise 0.
   * `onNew` is called if the address has not tried this key before and need not wait.
   */
  add(address: string, digest: string, now: number, onNew?: () => void): number {
    const guesser = this.#current(address, now) ?? this.#begin(address, now);
    if (guesser.guesses.has(digest)) return 0;
    if (guesser.guesses.size >= this.#maxGuesses) return guesser.at + withinMs - now;
    guesser.guesses.add(digest);
    onNew?.();
    return 0;
  }

  /** Returns the time in ms until the address may guess again; 0 if it may now. */
  waitMs(address: string, now: number): number {
    const guesser = this.#current(address, now);
    return guesser === undefined || guesser.guesses.size < this.#maxGuesses ? 0 : guesser.at + withinMs - now;
  }

  #current(address: string, now: number): Guesser | undefined {
    const guesser = this.#guessers.get(address);
    // If the clock was set back, counting starts again, so that nobody stays locked out.
    return guesser !== undefined && now >= guesser.at && now - guesser.at < withinMs ? guesser : undefined;
  }

  #begin(address: string, now: number): Guesser {
    const guesser = { at: now, guesses: new Set<string>() };
    // Reinserts the address as the newest.
    this.#guessers.delete(address);
    this.#guessers.set(address, guesser);
    const [oldest] = this.#guessers.keys();
    if (this.#guessers.size > maxAddresses && oldest !== undefined) this.#guessers.delete(oldest);
    return guesser;
  }
}
