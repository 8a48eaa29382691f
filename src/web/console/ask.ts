/** Requests of the console to its server, whether it answers, and whether it knows who asks. */
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../../protocol/console-data.ts';

export interface Link {
  /** By this machine's clock; null while it answers. */
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

/** The service said no; the message says why. */
export class Refused extends Error {
  readonly status: number;
  readonly problems: Problem[];

  constructor(status: number, { error, problems = [] }: ApiError) {
    super(error);
    this.status = status;
    this.problems = problems;
  }
}

/** Browsers keep it for this origin alone, unlike the cookie, which other programs of the host receive. */
const tokenName = 'nightrender-console';

/** Rejects as `ask`. */
export async function signIn(key: string): Promise<void> {
  const { token } = await ask<{ token: string }>('POST', 'session', { key });
  localStorage.setItem(tokenName, token);
  updateLink({ isSignedOut: false });
}

export async function signOut(): Promise<void> {
  await ask('DELETE', 'session');
  localStorage.removeItem(tokenName);
}

/** Resolves to a picture that a path leads to; undefined if there is none, or it cannot be fetched. */
export async function askPicture(path: string): Promise<Blob | undefined> {
  try {
    const response = await fetch(`api/${path}`, { headers: tokenHeader(), priority: 'low' });
    return response.status === 200 ? await response.blob() : undefined;
  } catch {
    return undefined;
  }
}

/** Signing in needs the header as well. */
function tokenHeader(): Record<string, string> {
  return { 'X-Nightrender-Console': localStorage.getItem(tokenName) ?? '1' };
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A look is soon repeated; a change may have to wait for an image. */
const patienceMs = { GET: 15_000, POST: 60_000, PUT: 60_000, DELETE: 60_000 };

/** Resolves to what came, undefined where nothing does. Rejects with `Refused`, or another error where no answer came. */
export async function ask<T>(method: Method, path: string, body?: object): Promise<T> {
  const response = await send(method, path, body);
  // A proxy before the service says these where the service itself is away.
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

/** What is to be said of what `ask` rejected with. */
export function troubleWords(error: unknown): string {
  if (error instanceof Refused) return error.message;
  return 'No response. The change may have been made: check before you repeat it.';
}

/** The service did not answer; the first time counts. */
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
