/** Who is signed in to the console: by a key of theirs, for as long as the key holds and half a day at most. */
import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Admission } from '../keys/admission.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { type KeyHolder, permits } from '../keys/key.ts';

interface Session {
  /** As the key comes with requests: it is looked up each time, so that one that was revoked ends the session. */
  authorization: string;
  signedInAt: number;
}

/** A page that is left open asks again and again: that nobody comes back could not be told. */
const maxSessionMs = 12 * 60 * 60_000;
const maxSessions = 1_000;

export class Sessions {
  readonly #keys: KeyStore;
  readonly #admission: Admission;
  /** By the digest of the cookie's value. */
  readonly #sessions = new Map<string, Session>();
  readonly #cookieName: string;

  /** `place`: the file of the service, of which there is one on a machine. */
  constructor(keys: KeyStore, admission: Admission, place: string) {
    this.#keys = keys;
    this.#admission = admission;
    // Browsers tell the services of a machine apart by their ports, but not the cookies of these.
    const mark = createHash('sha256').update(`${hostname()}\n${place}`).digest('hex').slice(0, 12);
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
    if (this.#sessions.size >= maxSessions) this.#dropOldest();
    this.#sessions.set(digestOf(value), { authorization, signedInAt: now });
    const cookie = this.#cookieOf(value, maxSessionMs / 1_000);
    // Where the page came encrypted, the cookie never goes another way.
    return { cookie: isSecure ? `${cookie}; Secure` : cookie };
  }

  /** Whose session a request belongs to. */
  find(cookieHeader: string | undefined, now: number): KeyHolder | undefined {
    const id = digestOf(this.#valueIn(cookieHeader));
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    const holder = this.#keys.find(session.authorization);
    if (holder === undefined || !permits(holder, 'console') || now - session.signedInAt > maxSessionMs) {
      this.#sessions.delete(id);
      return undefined;
    }
    return holder;
  }

  /** The cookie that takes the other away. */
  signOut(cookieHeader: string | undefined): string {
    this.#sessions.delete(digestOf(this.#valueIn(cookieHeader)));
    return this.#cookieOf('', 0);
  }

  #dropOldest(): void {
    for (const oldest of this.#sessions.keys()) {
      this.#sessions.delete(oldest);
      return;
    }
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

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64');
}
