/** Who is signed in to the console: by a key of theirs, for as long as the key holds and they come back. */
import { createHash, randomBytes } from 'node:crypto';
import type { Admission } from '../keys/admission.ts';
import { type KeyHolder, permits } from '../keys/key.ts';
import type { KeyBook } from '../keys/key-book.ts';

interface Session {
  /** As the key comes with requests: it is looked up each time, so that one that was revoked ends the session. */
  authorization: string;
  usedAt: number;
}

const cookieName = 'nightrender_console';
const idleMs = 12 * 60 * 60_000;
const maxSessions = 1_000;

export class Sessions {
  readonly #keys: KeyBook;
  readonly #admission: Admission;
  /** By the digest of the cookie's value. */
  readonly #sessions = new Map<string, Session>();

  constructor(keys: KeyBook, admission: Admission) {
    this.#keys = keys;
    this.#admission = admission;
  }

  /** The value of the cookie to be set; `waitMs` after too many wrong keys from the address. */
  signIn(
    key: string,
    remoteAddress: string | undefined,
    now: number,
  ): { cookie: string } | 'wrong' | { waitMs: number } {
    const authorization = `Bearer ${key.trim()}`;
    const admitted = this.#admission.admit(authorization, remoteAddress);
    if (admitted === 'wrong' || 'waitMs' in admitted) return admitted;
    if (!permits(admitted.holder, 'console')) return 'wrong';
    const value = randomBytes(32).toString('base64url');
    if (this.#sessions.size >= maxSessions) this.#dropOldest();
    this.#sessions.set(digestOf(value), { authorization, usedAt: now });
    return { cookie: cookieOf(value, idleMs / 1_000) };
  }

  /** Whose session a request belongs to. */
  find(cookieHeader: string | undefined, now: number): KeyHolder | undefined {
    const id = digestOf(valueIn(cookieHeader));
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    const holder = this.#keys.find(session.authorization);
    if (holder === undefined || !permits(holder, 'console') || now - session.usedAt > idleMs) {
      this.#sessions.delete(id);
      return undefined;
    }
    session.usedAt = now;
    return holder;
  }

  /** The cookie that takes the other away. */
  signOut(cookieHeader: string | undefined): string {
    this.#sessions.delete(digestOf(valueIn(cookieHeader)));
    return cookieOf('', 0);
  }

  #dropOldest(): void {
    const [oldest] = [...this.#sessions].toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
    if (oldest !== undefined) this.#sessions.delete(oldest[0]);
  }
}

/** No script may read it, and no other site's page brings it along. */
function cookieOf(value: string, maxAgeSeconds: number): string {
  return `${cookieName}=${value}; Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

function valueIn(header: string | undefined): string {
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.split('=', 2);
    if (name?.trim() === cookieName) return value?.trim() ?? '';
  }
  return '';
}

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64');
}
