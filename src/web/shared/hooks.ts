/** The time, the address and what is loaded, for parts of a page that change with them. */
import { useEffect, useState } from 'preact/hooks';

/** Epoch ms of the clock that is so far ahead of this machine's; renders anew at every beat. */
export function useNow(aheadMs: number, beatMs = 10_000): number {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), beatMs);
    return () => clearInterval(timer);
  }, [beatMs]);
  return Date.now() + aheadMs;
}

/** What stands after the `#` of the address; the setter is for changes that browsers do not tell. */
export function useHash(): [string, (hash: string) => void] {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return [hash, setHash];
}

/** What `load` came to for these inputs. What was there before stays until then, and where it rejects or comes to nothing. */
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
