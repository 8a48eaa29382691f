/** Hooks for the time, the hash of the address, and data that is loaded. */
import { useEffect, useState } from 'preact/hooks';

/** Returns the current epoch ms of a clock that is `aheadMs` ahead. Renders again every `beatMs`. */
export function useNow(aheadMs: number, beatMs = 10_000): number {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), beatMs);
    return () => clearInterval(timer);
  }, [beatMs]);
  return Date.now() + aheadMs;
}

/** Returns the hash of the address. Use the setter after changes that cause no `hashchange` event. */
export function useHash(): [string, (hash: string) => void] {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [hash, setHash];
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
