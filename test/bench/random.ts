/** Random numbers that can be repeated: the same seed gives the same sequence. */
import type { Work } from './load.ts';

/** Returns a generator of uniform numbers in [0, 1) (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a generator of execution times in order of submission. Both sides and `simulate` get the same times. */
export function drawExecutionMs(work: Work, seed: number): () => number {
  const random = seededRandom(seed);
  return work.kind === 'workers' ? () => logNormal(random, work.medianMs, work.sigma) : () => 0;
}

/** Returns a number from the log-normal distribution with this median. */
export function logNormal(random: () => number, median: number, sigma: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * random()));
}
