/** Admits requests with a valid key, and limits the guessing of keys. */
import { addressGroup } from '../../lib/net/addresses.ts';
import type { KeyStore } from './key-store.ts';
import { digestOf, presentedKey, type KeyHolder } from '../model/key.ts';

/** `wrong` for no key as well; with `waitMs` it is one of too many, and may even be a good one. */
export type Admitted = { holder: KeyHolder } | 'wrong' | { waitMs: number };

/** Of addresses from which a key that people chose has come; the first is forgotten first. */
const maxKnown = 10_000;

/**
 * Keys of the store hold 256 random bits, which nobody guesses: they are let in wherever they come from, also beside
 * somebody who tries keys behind the same address. A key that was given from outside may be a word: from an address
 * that tries keys it is let in only where it had come from there before.
 */
export class Admission {
  readonly #keys: KeyStore;
  readonly #now: () => number;
  readonly #onWrong: (name: string | null, remoteAddress: string | undefined) => void;
  readonly #guesses = new Guesses();
  readonly #known = new Set<string>();

  /** `onWrong` is called once a minute for each wrong key of an address, with the name of one that is no longer valid. */
  constructor(
    keys: KeyStore,
    now: () => number,
    onWrong: (name: string | null, remoteAddress: string | undefined) => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#now = now;
    this.#onWrong = onWrong;
  }

  /** `authorization`: the value of the header; `remoteAddress`: of the connection, undefined where it has ended. */
  admit(authorization: string | undefined, remoteAddress: string | undefined): Admitted {
    const presented = presentedKey(authorization);
    if (presented === undefined) return 'wrong';
    const holder = this.#keys.find(authorization, remoteAddress);
    if (holder !== undefined && !this.#keys.isGiven(holder)) return { holder };
    const address = addressGroup(remoteAddress ?? '');
    if (holder !== undefined && this.#known.has(address)) return { holder };
    const now = this.#now();
    const digest = digestOf(presented);
    const onNew = (): void => this.#onWrong(this.#keys.nameOf(digest), remoteAddress);
    const waitMs =
      holder === undefined
        ? this.#guesses.add(address, digest.toString('base64'), now, onNew)
        : this.#guesses.waitMs(address, now);
    if (waitMs > 0) return { waitMs };
    if (holder === undefined) return 'wrong';
    this.#know(address);
    return { holder };
  }

  /** Whether a key that was admitted is good still. */
  isGood(authorization: string | undefined): boolean {
    return this.#keys.find(authorization) !== undefined;
  }

  #know(address: string): void {
    this.#known.add(address);
    const [first] = this.#known;
    if (this.#known.size > maxKnown && first !== undefined) this.#known.delete(first);
  }
}

/**
 * Within a minute. What is wrong again and again is no guess: a program with a key that was revoked says the same one
 * with each of its requests.
 */
const maxGuesses = 20;
const withinMs = 60_000;

/** The oldest are forgotten first. */
const maxAddresses = 10_000;

interface Guesser {
  /** Of its first guess; a minute later it begins anew. */
  at: number;
  guesses: Set<string>;
}

export class Guesses {
  readonly #guessers = new Map<string, Guesser>();

  /** Notes a key that is not good here; how many ms to wait where it is one too many, otherwise 0. */
  add(address: string, digest: string, now: number, onNew?: () => void): number {
    const guesser = this.#current(address, now) ?? this.#begin(address, now);
    if (guesser.guesses.has(digest)) return 0;
    if (guesser.guesses.size >= maxGuesses) return guesser.at + withinMs - now;
    guesser.guesses.add(digest);
    onNew?.();
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
