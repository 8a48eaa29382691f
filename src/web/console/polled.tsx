/** Polls the service for data while the page is visible. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, Refused, useLink } from './ask.ts';

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

/** Placeholder until there is data, or the reason why there is none. */
export function Waiting({ polled: { data, refused } }: { polled: Polled<unknown> }): JSX.Element | null {
  if (refused !== undefined) return <p class="message bad">{refused.message}</p>;
  return data === undefined ? <p class="soft">Looking …</p> : null;
}
