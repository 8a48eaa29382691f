/** Something of the service's that is looked at again and again while the page can be seen. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, Refused, useLink } from './ask.ts';

export interface Polled<T> {
  /** As it was when the service last told it. */
  data: T | undefined;
  /** Why it is not told. */
  refused: Refused | undefined;
  /** Looks at once; resolves when it has looked, whatever came of it. */
  refresh(): Promise<void>;
}

interface Seen<T> {
  path: string;
  data?: T;
  refused?: Refused;
}

const slowestMs = 30_000;

/** `pauseMs` is how long what was told may stand: Infinity until the page is hidden and seen again. */
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
        // What was asked for later is newer, in whichever order the answers come.
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

/** What is said until there is something to be shown, and where there is nothing. */
export function Waiting({ polled: { data, refused } }: { polled: Polled<unknown> }): JSX.Element | null {
  if (refused !== undefined) return <p class="message bad">{refused.message}</p>;
  return data === undefined ? <p class="soft">Looking …</p> : null;
}
