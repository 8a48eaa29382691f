/** The progress line of a long command. */
import { performance } from 'node:perf_hooks';
import { writeStatus } from './console.ts';

const everyMs = 500;

/**
 * Returns a function that shows progress at most every 500 ms. The text is only built when it is shown.
 * `elapsed`: monotonic ms.
 */
export function progressLine(elapsed: () => number = () => performance.now()): (text: () => string) => void {
  let shownElapsed = elapsed();
  return (text) => {
    if (elapsed() - shownElapsed < everyMs) return;
    shownElapsed = elapsed();
    writeStatus(text());
  };
}
