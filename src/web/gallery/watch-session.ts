/** The session of a page of `nightrender watch`: who is looking, signing in, and sending marks. */
import { useEffect, useState } from 'preact/hooks';
import type { WatchSession } from '../../runner/core/gallery-data.ts';
import type { MarkChange } from '../../runner/core/marks.ts';

/** Key of local storage, which belongs to this origin alone. Cookies also reach other ports of the host. */
const tokenName = 'nightrender-watch';

function ownHeaders(): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'X-Nightrender-Watch': localStorage.getItem(tokenName) ?? '1',
  };
}

/** Time limit of a request. */
const patienceMs = 30_000;

/** Rejects with the reason of a refusal, in words. */
async function send(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<Response> {
  const answer = await fetch(path, {
    method,
    headers: ownHeaders(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    cache: 'no-store',
    signal: AbortSignal.timeout(patienceMs),
  });
  if (answer.ok) return answer;
  const { error = `refused with ${answer.status}` } = (await answer.json().catch(() => ({}))) as {
    error?: string;
  };
  throw new Error(error);
}

export interface SignedIn {
  /** Undefined until the server has answered. */
  session: WatchSession | undefined;
  /** Rejects with the reason. */
  enter(password: string): Promise<void>;
  leave(): Promise<void>;
}

export function useSession(): SignedIn {
  const [session, setSession] = useState<WatchSession>();
  const enter = async (password: string): Promise<void> => {
    const entered = (await (await send('POST', 'session', { password })).json()) as WatchSession;
    if (entered.token !== undefined) localStorage.setItem(tokenName, entered.token);
    setSession(entered);
  };
  const look = async (): Promise<void> =>
    setSession((await (await send('GET', 'session')).json()) as WatchSession);
  const leave = async (): Promise<void> => {
    await send('DELETE', 'session');
    localStorage.removeItem(tokenName);
    await look();
  };
  useEffect(() => {
    const password = takePassword();
    // An outdated link still shows what anyone may see.
    void (password === undefined ? look() : enter(password).catch(look)).catch(() => undefined);
  }, []);
  return { session, enter, leave };
}

/** Takes the password out of the address, so that it is in no screenshot and no bookmark. */
function takePassword(): string | undefined {
  const [, password] = /^#password=(.+)$/.exec(location.hash) ?? [];
  if (password === undefined) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return decodeURIComponent(password);
}

/** Marks of one request: the limit of the server. */
const maxChanges = 1_000;

/** Keeps marks with the batch. Rejects with the reason. */
export async function sendMarks(changes: MarkChange[]): Promise<void> {
  for (let first = 0; first < changes.length; first += maxChanges)
    await send('POST', 'marks', changes.slice(first, first + maxChanges));
}
