/** Requests of the console to its server, once or again and again, and the state of the connection and the session. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../protocol/console-data.ts';

export interface Link {
  /** When the service stopped answering (epoch ms, this machine's clock); null while it answers. */
  awaySince: number | null;
  isSignedOut: boolean;
}

let link: Link = { awaySince: null, isSignedOut: false };
const listeners = new Set<(link: Link) => void>();

export function updateLink(change: Partial<Link>): void {
  const next = { ...link, ...change };
  if (next.awaySince === link.awaySince && next.isSignedOut === link.isSignedOut) return;
  link = next;
  for (const listener of listeners) listener(link);
}

export function useLink(): Link {
  const [shown, setShown] = useState(link);
  useEffect(() => {
    listeners.add(setShown);
    setShown(link);
    return () => void listeners.delete(setShown);
  }, []);
  return shown;
}

export type Problem = NonNullable<ApiError['problems']>[number];

/** A request that the service refused; the message says why. */
export class Refused extends Error {
  readonly status: number;
  readonly problems: Problem[];

  constructor(status: number, { error, problems = [] }: ApiError) {
    super(error);
    this.status = status;
    this.problems = problems;
  }
}

/** Key of local storage, which belongs to this origin alone. Cookies also reach other ports of the host. */
const tokenName = 'nightrender-console';

export async function signIn(key: string): Promise<void> {
  const { token } = await ask<{ token: string }>('POST', 'session', { key });
  localStorage.setItem(tokenName, token);
  updateLink({ isSignedOut: false });
}

export async function signOut(): Promise<void> {
  await ask('DELETE', 'session');
  localStorage.removeItem(tokenName);
}

/** Fetches a picture. Resolves to undefined if there is none, or if it cannot be fetched. */
export async function askPicture(path: string): Promise<Blob | undefined> {
  try {
    const response = await fetch(`api/${path}`, { headers: tokenHeader(), priority: 'low' });
    return response.status === 200 ? await response.blob() : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the session token. Signing in needs the header as well, so without a token it has a placeholder. */
function tokenHeader(): Record<string, string> {
  return { 'X-Nightrender-Console': localStorage.getItem(tokenName) ?? '1' };
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Time limits of requests. Polls are repeated soon; a change may have to wait for a container image. */
const patienceMs = { GET: 15_000, POST: 60_000, PUT: 60_000, DELETE: 60_000 };

/** Sends a request and resolves to the JSON. Rejects with `Refused`, or another error if none came. */
export async function ask<T>(method: Method, path: string, body?: object): Promise<T> {
  const response = await send(method, path, body);
  // A proxy in front of the service sends these statuses while the service is down.
  if (response.status >= 502) {
    markAway();
    throw new Error(`The service does not answer (${response.status}).`);
  }
  updateLink({ awaySince: null });
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
  const said = await errorIn(response);
  if (response.status === 401 && path !== 'session') updateLink({ isSignedOut: true });
  throw new Refused(response.status, said);
}

/** Records that the service does not answer; keeps the time of the first failure. */
function markAway(): void {
  updateLink({ awaySince: link.awaySince ?? Date.now() });
}

async function send(method: Method, path: string, body: object | undefined): Promise<Response> {
  try {
    return await fetch(`api/${path}`, {
      method,
      headers: {
        ...tokenHeader(),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      cache: 'no-store',
      signal: AbortSignal.timeout(patienceMs[method]),
    });
  } catch (error) {
    markAway();
    throw error;
  }
}

async function errorIn(response: Response): Promise<ApiError> {
  const usual = { error: `The service refused it with ${response.status}.` };
  try {
    const said = (await response.json()) as Partial<ApiError>;
    return typeof said.error === 'string' ? { ...usual, ...said } : usual;
  } catch {
    return usual;
  }
}

export interface Polled<T> {
  /** Latest data; undefined until the first response. */
  data: T | undefined;
  /** Refusal of the latest request, if the service refused it. */
  refused: Refused | undefined;
  /** Polls at once. Resolves after the response, whether it succeeded or not. */
  refresh(): Promise<void>;
}

interface Seen<T> {
  path: string;
  data?: T;
  refused?: Refused;
}

const slowestMs = 30_000;

/** Polls a path. `pauseMs`: time until the next poll; Infinity waits until the page is visible again. */
export function usePolled<T>(path: string, pauseMs: (data: T | undefined) => number): Polled<T> {
  const [seen, setSeen] = useState<Seen<T>>({ path });
  const { isSignedOut } = useLink();
  const look = useRef<() => Promise<void>>(() => Promise.resolve());
  useEffect(() => {
    if (isSignedOut) return;
    let timer: number | undefined;
    let latest = 0;
    let misses = 0;
    let data: T | undefined;
    const round = async (): Promise<void> => {
      const turn = ++latest;
      clearTimeout(timer);
      if (document.visibilityState === 'hidden') return;
      try {
        const told = await ask<T>('GET', path);
        // Ignore this response: a newer request is on its way, and responses may arrive in any order.
        if (turn !== latest) return;
        misses = 0;
        data = told;
        setSeen({ path, data });
      } catch (error) {
        if (turn !== latest) return;
        misses += 1;
        if (error instanceof Refused)
          setSeen((before) => ({ ...(before.path === path && before), path, refused: error }));
      }
      const pause = pauseMs(data);
      if (pause < Infinity) timer = setTimeout(() => void round(), Math.min(slowestMs, pause * 2 ** misses));
    };
    const onVisible = (): void => void round();
    document.addEventListener('visibilitychange', onVisible);
    look.current = round;
    onVisible();
    return () => {
      latest += 1;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [path, isSignedOut]);
  const isThis = seen.path === path;
  return {
    data: isThis ? seen.data : undefined,
    refused: isThis ? seen.refused : undefined,
    refresh: () => look.current(),
  };
}

/** For data that never changes: polls until it is there. */
export const untilKnown = (known: unknown): number => (known === undefined ? 2_000 : Infinity);
