/** Chance that can be repeated: the same seed and labels give the same draws, in whatever order they are asked for. */
import { createHash } from 'node:crypto';

export interface Chance {
  /** 0 ≤ draw < 1, evenly. */
  draw: () => number;
  /** A whole number from `least` to `most`, both included. */
  between: (least: number, most: number) => number;
  /** True in this share (0 to 1) of the cases. */
  hits: (share: number) => boolean;
  pick: <T>(items: readonly T[]) => T;
}

export function chance(seed: number, ...labels: (string | number)[]): Chance {
  const draw = mulberry32(
    createHash('sha256')
      .update([seed, ...labels].join(' '))
      .digest()
      .readUInt32BE(),
  );
  const between = (least: number, most: number): number => least + Math.floor(draw() * (most - least + 1));
  return {
    draw,
    between,
    hits: (share) => draw() < share,
    pick: <T>(items: readonly T[]) => items[between(0, items.length - 1)] as T,
  };
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
