/** Hooks for the time, the hash of the address, data that is loaded, keys, typed text and swipes. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Returns the current epoch ms of a clock that is `aheadMs` ahead. Renders again every `beatMs`. */
export function useNow(aheadMs: number, beatMs = 10_000): number {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), beatMs);
    return () => clearInterval(timer);
  }, [beatMs]);
  return Date.now() + aheadMs;
}

/**
 * Calls the `onKeyDown` of the latest rendering for every key. A listener that an effect replaces after each rendering
 * would see a quick second key with the state before the first.
 */
export function useKeyDown(onKeyDown: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKeyDown);
  latest.current = onKeyDown;
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent): void => latest.current(event);
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, []);
}

/** Returns the hash of the address. Use the setter after changes that cause no `hashchange` event. */
export function useHash(): [string, (hash: string) => void] {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    addEventListener('hashchange', follow);
    // The hash may have changed since the first rendering.
    follow();
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [hash, setHash];
}

/**
 * Returns the text of a field, and the function to call for each change of it. `onText` gets the text when the reader
 * stops typing, or when the field is removed, unless it equals `value`. `value`: the text that `onText` got, or that
 * was set elsewhere.
 */
export function useTypedText(
  value: string,
  pauseMs: number,
  onText: (text: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const latest = useRef(onText);
  latest.current = onText;
  const typing = useRef({ value, told: value, tell: () => undefined as void, timer: 0 }).current;
  if (typing.value !== value) {
    typing.value = value;
    // The reader may have typed more since `onText` got this value.
    if (typing.told !== value) {
      typing.told = value;
      clearTimeout(typing.timer);
      typing.tell = () => undefined;
      setText(value);
    }
  }
  const type = (next: string): void => {
    setText(next);
    clearTimeout(typing.timer);
    typing.tell = () => {
      typing.tell = () => undefined;
      typing.told = next;
      if (next !== typing.value) latest.current(next);
    };
    typing.timer = setTimeout(() => typing.tell(), pauseMs);
  };
  useLayoutEffect(
    () => () => {
      clearTimeout(typing.timer);
      typing.tell();
    },
    [],
  );
  return [text, type];
}

/** Returns the result of `load` for these inputs; until then, or without one, the previous result. */
export function useLoaded<T>(inputs: unknown[], load: () => Promise<T | undefined>): T | undefined {
  const [loaded, setLoaded] = useState<{ value: T }>();
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => isCurrent && value !== undefined && setLoaded({ value }),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  return loaded?.value;
}

/** Distance of a swipe in CSS pixels. */
const swipeLength = 50;

/** Height of the controls of a video in CSS pixels, which a finger moves sideways too. */
const controlsHeight = 90;

function isOnControls({ target, clientY }: Touch): boolean {
  if (!(target instanceof HTMLMediaElement)) return false;
  return (
    target instanceof HTMLAudioElement || clientY > target.getBoundingClientRect().bottom - controlsHeight
  );
}

/** A finger that moves sideways shows the next or the previous picture, unless the page is enlarged. */
export function useSwipe(onStep: (by: 1 | -1) => void) {
  const begun = useRef<Touch | undefined>(undefined);
  return {
    onTouchStart: ({ touches }: TouchEvent): void => {
      const [first] = touches;
      begun.current = touches.length === 1 && first && !isOnControls(first) ? first : undefined;
    },
    onTouchEnd: ({ changedTouches: [ended] }: TouchEvent): void => {
      const { current: first } = begun;
      begun.current = undefined;
      if (first === undefined || ended === undefined || (visualViewport?.scale ?? 1) > 1) return;
      const [across, down] = [ended.clientX - first.clientX, ended.clientY - first.clientY];
      if (Math.abs(across) >= swipeLength && Math.abs(across) > 2 * Math.abs(down))
        onStep(across < 0 ? 1 : -1);
    },
  };
}
