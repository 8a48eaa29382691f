/** The sessions of the console: each ends with its key, and after half a day at most. */
import { createHash, randomBytes } from 'node:crypto';
import type { AuditLog } from '../audit-log.ts';
import type { Admission } from '../keys/admission.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { digestOf, type KeyHolder, permits } from '../keys/key.ts';

/** A page that is left open asks again and again: that nobody comes back could not be told. */
const maxSessionMs = 12 * 60 * 60_000;
const maxSessions = 1_000;

/**
 * A request belongs to a session if it has both. A browser sends cookies to every port of a host, so to other programs as
 * well; the page alone has the token, which browsers keep for its origin.
 */
export interface SessionProof {
  /** The header `Cookie`. */
  cookie: string | undefined;
  token: string | undefined;
}

export class Sessions {
  readonly #keys: KeyStore;
  readonly #admission: Admission;
  readonly #audit: AuditLog;
  readonly #cookieName: string;

  /** `place`: the file of the service, of which there is one on a machine, or its database. */
  constructor(keys: KeyStore, admission: Admission, audit: AuditLog, place: string) {
    this.#keys = keys;
    this.#admission = admission;
    this.#audit = audit;
    // Browsers tell the services of a machine apart by their ports, but not the cookies of these.
    const mark = createHash('sha256').update(place).digest('hex').slice(0, 12);
    this.#cookieName = `nightrender_console_${mark}`;
  }

  /** `cookie` is to be set; `waitMs` is there after too many wrong keys from the address. */
  signIn(
    key: string,
    remoteAddress: string | undefined,
    { now, isSecure }: { now: number; isSecure: boolean },
  ): { cookie: string; token: string } | 'wrong' | { waitMs: number } {
    const authorization = `Bearer ${key.trim()}`;
    const admitted = this.#admission.admit(authorization, remoteAddress);
    if (admitted === 'wrong' || 'waitMs' in admitted) return admitted;
    const { name, kind } = admitted.holder;
    const told = { key: name, from: remoteAddress };
    if (!permits(admitted.holder, 'console')) {
      this.#audit.note({ ...told, event: 'wrong-key', what: `the console, with a ${kind} key` });
      return 'wrong';
    }
    this.#audit.note({ ...told, event: 'signed-in', what: null });
    const [value, token] = [secret(), secret()];
    const session = { id: idOf(value, token), keyDigest: digestOf(key.trim()), signedInAt: now };
    this.#keys.signIn(session, now - maxSessionMs, maxSessions);
    const cookie = this.#cookieOf(value, maxSessionMs / 1_000);
    // Where the page came encrypted, the cookie never goes another way.
    return { token, cookie: isSecure ? `${cookie}; Secure` : cookie };
  }

  /** Returns the holder whose session a request belongs to. */
  find(proof: SessionProof, now: number, from?: string): KeyHolder | undefined {
    const session = this.#keys.session(this.#idIn(proof));
    if (session === undefined || now - session.signedInAt > maxSessionMs) return undefined;
    // It is looked up each time, so that one that was revoked ends the session.
    const holder = this.#keys.ofDigest(session.keyDigest, from);
    return holder !== undefined && permits(holder, 'console') ? holder : undefined;
  }

  /** The cookie that takes the other away. */
  signOut(proof: SessionProof): string {
    this.#keys.signOut(this.#idIn(proof));
    return this.#cookieOf('', 0);
  }

  /** No script may read it, and no other site's page brings it along. */
  #cookieOf(value: string, maxAgeSeconds: number): string {
    return `${this.#cookieName}=${value}; Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  }

  #idIn({ cookie = '', token = '' }: SessionProof): Buffer {
    for (const pair of cookie.split(';')) {
      const [name, value = ''] = pair.split('=', 2);
      if (name?.trim() === this.#cookieName) return idOf(value.trim(), token);
    }
    return idOf('', token);
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function idOf(value: string, token: string): Buffer {
  return digestOf(`${value}.${token}`);
}
