/** Admits requests with a valid key, and limits the guessing of keys. */
import { addressGroup } from '../../lib/net/addresses.ts';
import type { KeyStore } from './key-store.ts';
import { digestOf, presentedKey, type KeyHolder } from '../model/key.ts';

/**
 * Result of a check: the holder, `wrong` for a wrong or missing key, or the time to wait after too many wrong keys
 * from the address. The key may then be valid.
 */
export type Admitted = { holder: KeyHolder } | 'wrong' | { waitMs: number };

/** Maximum number of known addresses. The oldest is forgotten first. */
const maxKnown = 10_000;

/**
 * Admits requests by their key. Keys of the store are 256 random bits: they are always admitted, even from an
 * address that is guessing keys. A key from outside, such as the environment, may be a guessable word. From an
 * address that is guessing, it is admitted only if it was used there before.
 */
export class Admission {
  readonly #keys: KeyStore;
  readonly #now: () => number;
  readonly #onWrong: (name: string | null, remoteAddress: string | undefined) => void;
  readonly #guesses = new Guesses();
  readonly #knownAddresses = new Set<string>();

  /**
   * `onWrong` is called once a minute for each wrong key of an address. It gets the name of a key that is no longer
   * valid, null for an unknown key.
   */
  constructor(
    keys: KeyStore,
    now: () => number,
    onWrong: (name: string | null, remoteAddress: string | undefined) => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#now = now;
    this.#onWrong = onWrong;
  }

  /**
   * Checks the key of a request. `authorization` is the value of the header, `remoteAddress` the peer of the
   * connection, undefined if it has ended.
   */
  admit(authorization: string | undefined, remoteAddress: string | undefined): Admitted {
    const presented = presentedKey(authorization);
    if (presented === undefined) return 'wrong';
    const holder = this.#keys.find(authorization, remoteAddress);
    if (holder !== undefined && !this.#keys.isGiven(holder)) return { holder };
    const address = addressGroup(remoteAddress ?? '');
    if (holder !== undefined && this.#knownAddresses.has(address)) return { holder };
    const now = this.#now();
    const digest = digestOf(presented);
    const onNew = (): void => this.#onWrong(this.#keys.nameOf(digest), remoteAddress);
    const waitMs =
      holder === undefined
        ? this.#guesses.add(address, digest.toString('base64'), now, onNew)
        : this.#guesses.waitMs(address, now);
    if (waitMs > 0) return { waitMs };
    if (holder === undefined) return 'wrong';
    this.#rememberAddress(address);
    return { holder };
  }

  /** True if a key that was admitted is still valid. */
  isStillValid(authorization: string | undefined): boolean {
    return this.#keys.find(authorization) !== undefined;
  }

  #rememberAddress(address: string): void {
    this.#knownAddresses.add(address);
    const [first] = this.#knownAddresses;
    if (this.#knownAddresses.size > maxKnown && first !== undefined) this.#knownAddresses.delete(first);
  }
}

/**
 * Maximum number of different wrong keys per address and minute. A repeated key is no guess: a program with a
 * revoked key sends it with each request.
 */
const maxGuesses = 20;
const withinMs = 60_000;

/** Maximum number of addresses whose guesses are counted. The oldest is forgotten first. */
const maxAddresses = 10_000;

interface Guesser {
  /** Time of the first guess. Counting starts again one minute later. */
  at: number;
  guesses: Set<string>;
}

export class Guesses {
  readonly #guessers = new Map<string, Guesser>();

  /** Counts a wrong key. Returns the time to wait in ms if the address has too many, otherwise 0. */
  add(address: string, digest: string, now: number, onNew?: () => void): number {
    const guesser = this.#current(address, now) ?? this.#begin(address, now);
    if (guesser.guesses.has(digest)) return 0;
    if (guesser.guesses.size >= maxGuesses) return guesser.at + withinMs - now;
    guesser.guesses.add(digest);
    onNew?.();
    return 0;
  }

  /** Returns the time in ms until the address may guess again; 0 if it may now. */
  waitMs(address: string, now: number): number {
    const guesser = this.#current(address, now);
    return guesser === undefined || guesser.guesses.size < maxGuesses ? 0 : guesser.at + withinMs - now;
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
