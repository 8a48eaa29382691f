/** Something of the service's that is looked at again and again while the page can be seen. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, Refused } from './ask.ts';
import { useLink } from './link.ts';

export interface Polled<T> {
  /** As it was when the service last told it. */
  data: T | undefined;
  /** Why it is not told. */
  refused: Refused | undefined;
  /** Looks at once; resolves when it has looked, whatever came of it. */
  refresh(): Promise<void>;
}

const slowestMs = 30_000;

export function usePolled<T>(path: string, everyMs: number): Polled<T> {
  const [seen, setSeen] = useState<{ path: string; data?: T; refused?: Refused }>({ path });
  const { isSignedOut } = useLink();
  const look = useRef<() => Promise<void>>(() => Promise.resolve());
  const pause = useRef(everyMs);
  pause.current = everyMs;
  useEffect(() => {
    if (isSignedOut) return;
    const poll = startPolling<T>(path, () => pause.current, setSeen);
    look.current = poll.look;
    return poll.stop;
  }, [path, isSignedOut]);
  const isThis = seen.path === path;
  return {
    data: isThis ? seen.data : undefined,
    refused: isThis ? seen.refused : undefined,
    refresh: () => look.current(),
  };
}

type See<T> = (
  change: (seen: { path: string; data?: T; refused?: Refused }) => {
    path: string;
    data?: T;
    refused?: Refused;
  },
) => void;

function startPolling<T>(
  path: string,
  everyMs: () => number,
  see: See<T>,
): { look: () => Promise<void>; stop: () => void } {
  let timer: number | undefined;
  let latest = 0;
  let misses = 0;
  const round = async (): Promise<void> => {
    const turn = ++latest;
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') return;
    try {
      const data = await ask<T>('GET', path);
      // What was asked for later is newer, in whichever order the answers come.
      if (turn !== latest) return;
      misses = 0;
      see(() => ({ path, data }));
    } catch (error) {
      if (turn !== latest) return;
      misses += 1;
      if (error instanceof Refused)
        see((seen) => ({ ...(seen.path === path && seen), path, refused: error }));
    }
    timer = setTimeout(() => void round(), Math.min(slowestMs, everyMs() * 2 ** misses));
  };
  const look = (): void => void round();
  document.addEventListener('visibilitychange', look);
  look();
  return {
    look: round,
    stop: () => {
      latest += 1;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    },
  };
}
