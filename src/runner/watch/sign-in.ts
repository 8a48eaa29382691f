/** Passwords of the page of `watch`, and the sessions of those who know one. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { addressGroup, TrustedProxies } from '../../lib/net/addresses.ts';
import { Guesses } from '../../lib/net/guesses.ts';
import { type WatchSession, type Mark, markNames } from '../core/gallery-data.ts';

/** An owner sets every mark. A viewer only stars, because the other marks lead to commands that cost money. */
export type Role = NonNullable<WatchSession['role']>;

export const marksOf: Record<Role, readonly Mark[]> = {
  owner: markNames,
  viewer: ['star'],
};

export interface Passwords {
  owner: string;
  /** Undefined if there are no viewers. */
  viewer: string | undefined;
}

/** Header with the token of the page. Other sites cannot send it without a preflight request, which is never allowed. */
const tokenHeader = 'x-nightrender-watch';

/** Maximum duration of a session in ms: a page may stay open over a weekend. */
const maxSessionMs = 7 * 86_400_000;
const maxSessions = 1_000;

interface Session {
  role: Role;
  /** Digest of the token. */
  token: Buffer;
  /** Epoch ms. */
  since: number;
  /** Digest of the latest ticket, and the end of its validity in epoch ms. */
  ticket?: { digest: Buffer; until: number };
}

/** Validity of a ticket in ms: browsers ask for a download at once, some of them twice. */
const ticketMs = 60_000;

/** Maximum number of wrong passwords a minute that a proxy on this machine passes on, from all its clients together. */
const maxGuessesOfProxy = 200;

/** Sessions are kept in memory: they end with the program, and with it the validity of a password that was made for it. */
export class SignIn {
  readonly #passwords: Passwords;
  readonly #cookieName: string;
  readonly #guesses = new Guesses();
  /** Bounds what a client can guess that names another address with each request. */
  readonly #guessesOfPeers = new Guesses(maxGuessesOfProxy);
  /** Other machines could name any address. */
  readonly #proxies = new TrustedProxies(['127.0.0.0/8', '::1']);
  /** By the digest of the cookie, oldest first. */
  readonly #sessions = new Map<string, Session>();

  /** `place` identifies the page: browsers share cookies between all ports of a host, so each page needs its own name. */
  constructor(passwords: Passwords, place: string) {
    this.#passwords = passwords;
    this.#cookieName = `nightrender_watch_${digestOf(place).toString('hex').slice(0, 12)}`;
  }

  /**
   * Starts a session. `waitMs` after too many wrong passwords from this address. Sessions go on meanwhile, and behind a
   * proxy on this machine the other clients can sign in.
   */
  enter(
    password: string,
    request: IncomingMessage,
    { now, isSecure }: { now: number; isSecure: boolean },
  ): { role: Role; token: string; cookie: string } | 'wrong' | { waitMs: number } {
    const client = addressGroup(this.#proxies.addressOf(request) ?? '');
    const peer = addressGroup(request.socket.remoteAddress ?? '');
    const early = Math.max(this.#guesses.waitMs(client, now), this.#guessesOfPeers.waitMs(peer, now));
    if (early > 0) return { waitMs: early };
    const role = this.#roleWith(password);
    if (role === undefined) {
      const guess = keyOf(password);
      this.#guessesOfPeers.add(peer, guess, now);
      const waitMs = this.#guesses.add(client, guess, now);
      return waitMs > 0 ? { waitMs } : 'wrong';
    }
    const [value, token] = [secret(), secret()];
    this.#sessions.set(keyOf(value), { role, token: digestOf(token), since: now });
    // Viewers cannot sign the owner out.
    const alike = [...this.#sessions].filter(([, session]) => session.role === role);
    const [oldest] = alike;
    if (alike.length > maxSessions && oldest !== undefined) this.#sessions.delete(oldest[0]);
    const cookie = this.#cookieWith(value, maxSessionMs / 1_000);
    return { role, token, cookie: isSecure ? `${cookie}; Secure` : cookie };
  }

  /**
   * Returns the role of the session; undefined without one. The cookie alone is enough for pictures, which browsers ask for
   * without headers of the page. Other programs of the host get the cookie too, but not the token.
   */
  roleOf({ headers }: IncomingMessage, isCookieEnough: boolean, now: number): Role | undefined {
    const session = this.#sessionOf(headers.cookie, now);
    const token = headers[tokenHeader];
    if (session === undefined || isCookieEnough) return session?.role;
    if (typeof token !== 'string') return undefined;
    return timingSafeEqual(digestOf(token), session.token) ? session.role : undefined;
  }

  /** Returns a ticket for a download, which browsers start without headers of the page. Undefined without a session. */
  ticketFor(request: IncomingMessage, now: number): string | undefined {
    const session = this.#sessionOf(request.headers.cookie, now);
    if (session === undefined || this.roleOf(request, false, now) === undefined) return undefined;
    const ticket = secret();
    session.ticket = { digest: digestOf(ticket), until: now + ticketMs };
    return ticket;
  }

  /** True if the session of the cookie has this ticket. */
  hasTicket({ headers }: IncomingMessage, ticket: string, now: number): boolean {
    const known = this.#sessionOf(headers.cookie, now)?.ticket;
    return known !== undefined && now < known.until && timingSafeEqual(digestOf(ticket), known.digest);
  }

  /** Ends the session. Returns the cookie that deletes the session's cookie. */
  leave({ headers }: IncomingMessage): string {
    this.#sessions.delete(keyOf(this.#valueIn(headers.cookie)));
    return this.#cookieWith('', 0);
  }

  #roleWith(password: string): Role | undefined {
    const { owner, viewer } = this.#passwords;
    if (isSame(password, owner)) return 'owner';
    return viewer !== undefined && isSame(password, viewer) ? 'viewer' : undefined;
  }

  #sessionOf(cookie: string | undefined, now: number): Session | undefined {
    const session = this.#sessions.get(keyOf(this.#valueIn(cookie)));
    return session !== undefined && now - session.since <= maxSessionMs ? session : undefined;
  }

  #valueIn(cookie = ''): string {
    const pairs = cookie.split(';').map((pair) => pair.trim().split('=', 2));
    return pairs.find(([name]) => name === this.#cookieName)?.[1] ?? '';
  }

  /** Returns a cookie that scripts cannot read, and that browsers do not send with requests of other sites. */
  #cookieWith(value: string, maxAgeSeconds: number): string {
    return `${this.#cookieName}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  }
}

/** True if a request that changes something comes from the page itself. */
export function isOwnPage({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (headers[tokenHeader] === undefined) return false;
  // A reverse proxy sends another Host than the browser; then the browser's own word counts.
  if (site !== undefined) return site === 'same-origin';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b));
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function keyOf(value: string): string {
  return digestOf(value).toString('base64');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
