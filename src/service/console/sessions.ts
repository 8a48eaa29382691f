/** Who is signed in to the console: by a key of theirs, for as long as the key holds and half a day at most. */
import { createHash, randomBytes } from 'node:crypto';
import type { Admission } from '../keys/admission.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { digestOf, type KeyHolder, permits } from '../keys/key.ts';

/** A page that is left open asks again and again: that nobody comes back could not be told. */
const maxSessionMs = 12 * 60 * 60_000;
const maxSessions = 1_000;

export class Sessions {
  readonly #keys: KeyStore;
  readonly #admission: Admission;
  readonly #cookieName: string;

  /** `place`: the file of the service, of which there is one on a machine, or its database. */
  constructor(keys: KeyStore, admission: Admission, place: string) {
    this.#keys = keys;
    this.#admission = admission;
    // Browsers tell the services of a machine apart by their ports, but not the cookies of these.
    const mark = createHash('sha256').update(place).digest('hex').slice(0, 12);
    this.#cookieName = `nightrender_console_${mark}`;
  }

  /** The value of the cookie to be set; `waitMs` after too many wrong keys from the address. */
  signIn(
    key: string,
    remoteAddress: string | undefined,
    { now, isSecure }: { now: number; isSecure: boolean },
  ): { cookie: string } | 'wrong' | { waitMs: number } {
    const authorization = `Bearer ${key.trim()}`;
    const admitted = this.#admission.admit(authorization, remoteAddress);
    if (admitted === 'wrong' || 'waitMs' in admitted) return admitted;
    if (!permits(admitted.holder, 'console')) return 'wrong';
    const value = randomBytes(32).toString('base64url');
    const session = { id: digestOf(value), keyDigest: digestOf(key.trim()), signedInAt: now };
    this.#keys.signIn(session, now - maxSessionMs, maxSessions);
    const cookie = this.#cookieOf(value, maxSessionMs / 1_000);
    // Where the page came encrypted, the cookie never goes another way.
    return { cookie: isSecure ? `${cookie}; Secure` : cookie };
  }

  /** Whose session a request belongs to. */
  find(cookieHeader: string | undefined, now: number): KeyHolder | undefined {
    const session = this.#keys.session(digestOf(this.#valueIn(cookieHeader)));
    if (session === undefined || now - session.signedInAt > maxSessionMs) return undefined;
    // It is looked up each time, so that one that was revoked ends the session.
    const holder = this.#keys.ofDigest(session.keyDigest);
    return holder !== undefined && permits(holder, 'console') ? holder : undefined;
  }

  /** The cookie that takes the other away. */
  signOut(cookieHeader: string | undefined): string {
    this.#keys.signOut(digestOf(this.#valueIn(cookieHeader)));
    return this.#cookieOf('', 0);
  }

  /** No script may read it, and no other site's page brings it along. */
  #cookieOf(value: string, maxAgeSeconds: number): string {
    return `${this.#cookieName}=${value}; Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  }

  #valueIn(header: string | undefined): string {
    for (const pair of (header ?? '').split(';')) {
      const [name, value] = pair.split('=', 2);
      if (name?.trim() === this.#cookieName) return value?.trim() ?? '';
    }
    return '';
  }
}
