/** The line of a long command that says how far it has come. */
import { performance } from 'node:perf_hooks';
import { writeStatus } from './console.ts';

const everyMs = 500;

/** Returns a function that shows a text now and then, and asks for it only then. `elapsed`: monotonic ms. */
export function progressLine(elapsed: () => number = () => performance.now()): (text: () => string) => void {
  let shownElapsed = elapsed();
  return (text) => {
    if (elapsed() - shownElapsed < everyMs) return;
    shownElapsed = elapsed();
    writeStatus(text());
  };
}
