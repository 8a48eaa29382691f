/** The time, for what is said of how long something takes. */
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
