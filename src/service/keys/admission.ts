/** Admits requests with a valid key, and limits the guessing of keys. */
import { addressGroup } from '../../lib/net/addresses.ts';
import { Guesses } from '../../lib/net/guesses.ts';
import type { KeyStore } from './key-store.ts';
import { digestOf, presentedKey, type KeyHolder } from '../model/key.ts';

/** The holder, `wrong`, or the time to wait after too many wrong keys (the key may then be valid). */
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

  /** `onWrong`: once a minute for each wrong key of an address, with the name of a former key or null. */
  constructor(
    keys: KeyStore,
    now: () => number,
    onWrong: (name: string | null, remoteAddress: string | undefined) => void = () => undefined,
  ) {
    this.#keys = keys;
    this.#now = now;
    this.#onWrong = onWrong;
  }

  /** Checks a request's key. `remoteAddress`: the peer, undefined if the connection has ended. */
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
