/** The session of a page of `nightrender watch`: who is looking, signing in, and sending marks. */
import { useEffect, useState } from 'preact/hooks';
import type { WatchSession, MarkChange } from '../../runner/core/gallery-data.ts';

/**
 * Key of local storage, which belongs to this origin alone. Cookies also reach other ports of the host. Behind a proxy,
 * several pages may share an origin.
 */
const tokenName = `nightrender-watch ${location.pathname}`;

/** Token of a page whose browser stores nothing. */
let unstored: string | undefined;

/** Headers of requests to the server of this page. */
export function ownHeaders(): Record<string, string> {
  return { 'X-Nightrender-Watch': unstored ?? storedToken() ?? '1' };
}

function storedToken(): string | null {
  try {
    return localStorage.getItem(tokenName);
  } catch {
    return null;
  }
}

function keepToken(token: string | undefined): void {
  unstored = undefined;
  try {
    if (token === undefined) localStorage.removeItem(tokenName);
    else localStorage.setItem(tokenName, token);
  } catch {
    unstored = token;
  }
}

/** A refusal of the server, in words. */
export class RefusedRequest extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** Time limit of a request. */
const patienceMs = 30_000;

/** Rejects with `RefusedRequest`, or if no answer comes. */
async function send(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
  keepalive = false,
): Promise<Response> {
  const answer = await fetch(path, {
    method,
    keepalive,
    headers: { ...ownHeaders(), 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    cache: 'no-store',
    signal: AbortSignal.timeout(patienceMs),
  });
  if (answer.ok) return answer;
  const { error = `refused with ${answer.status}` } = (await answer.json().catch(() => ({}))) as {
    error?: string;
  };
  throw new RefusedRequest(answer.status, error);
}

export interface SignedIn {
  /** Undefined until the server has answered. */
  session: WatchSession | undefined;
  /** Rejects with the reason. */
  enter(password: string): Promise<void>;
  leave(): Promise<void>;
  /** Begins a download of the starred pictures. Rejects with the reason if the server refuses it. */
  download(): Promise<void>;
  /** Asks the server again, as after a refusal: a session ends with its server. */
  look(): Promise<void>;
}

export function useSession(): SignedIn {
  const [session, setSession] = useState<WatchSession>();
  const enter = async (password: string): Promise<void> => {
    const entered = (await (await send('POST', 'session', { password })).json()) as WatchSession;
    keepToken(entered.token);
    setSession(entered);
  };
  const look = async (): Promise<void> =>
    setSession((await (await send('GET', 'session')).json()) as WatchSession);
  const leave = async (): Promise<void> => {
    await send('DELETE', 'session');
    keepToken(undefined);
    await look();
  };
  const begin = async (password = takePassword()): Promise<void> => {
    try {
      await (password === undefined ? look() : enter(password));
    } catch (error) {
      // An outdated link still shows what anyone may see. A password without an answer is sent again.
      if (password !== undefined && error instanceof RefusedRequest) return begin();
      setTimeout(() => void begin(password), pauseMs);
    }
  };
  useEffect(() => {
    // A link that is pasted into an open page changes the hash alone.
    const onHash = (): void => {
      if (location.hash.startsWith('#password=')) void begin();
    };
    addEventListener('hashchange', onHash);
    void begin();
    return () => removeEventListener('hashchange', onHash);
  }, []);
  const download = async (): Promise<void> => {
    const { path } = (await (await send('POST', 'download')).json()) as { path: string };
    const link = document.createElement('a');
    [link.href, link.download] = [path, ''];
    link.click();
  };
  return { session, enter, leave, look, download };
}

const pauseMs = 2_000;

/** Takes the password out of the address, so that it is in no screenshot and no bookmark. */
function takePassword(): string | undefined {
  const [, password] = /^#password=(.+)$/.exec(location.hash) ?? [];
  if (password === undefined) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  try {
    return decodeURIComponent(password);
  } catch {
    // The link was cut, so the server refuses it.
    return password;
  }
}

/** Marks of one request: the limit of the server. */
const maxChanges = 1_000;

/** Keeps marks with the batch. Rejects with the reason. `isLeaving`: the page is about to go, and nobody hears of a refusal. */
export async function sendMarks(changes: MarkChange[], isLeaving = false): Promise<void> {
  for (let first = 0; first < changes.length; first += maxChanges)
    await send('POST', 'marks', changes.slice(first, first + maxChanges), isLeaving);
}
