/** The time, for what is said of how long something takes. */
import { useEffect, useState } from 'preact/hooks';

/** Epoch ms of the clock that is so far ahead of this machine's; renders anew every ten seconds. */
export function useNow(aheadMs: number): number {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 10_000);
    return () => clearInterval(timer);
  }, []);
  return Date.now() + aheadMs;
}
