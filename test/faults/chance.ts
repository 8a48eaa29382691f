/** Repeatable random choices. The same seed and labels give the same values, independent of other streams. */
import { createHash } from 'node:crypto';

export interface Chance {
  /** Returns a uniform number in [0, 1). */
  draw: () => number;
  /** Returns an integer between `least` and `most`, both inclusive. */
  between: (least: number, most: number) => number;
  /** Returns true with this probability (0 to 1). */
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
