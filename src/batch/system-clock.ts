/** Clock of this machine: implements the pipeline's `Clock` port. */
import type { Clock } from '../runner/pipeline/ports.ts';

/** Maximum time of Node's timers: 2^31 - 1 ms. */
const maxTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms, maxTimerMs));
      signal.addEventListener('abort', wake);
    }),
};
