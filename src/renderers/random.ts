/** Reproducible random numbers: a small seeded generator (sfc32) with the draws that the renderers need. */

/** A generator. The same seed gives the same draws in the same order on every machine. */
export interface Random {
  next(): number;
  between(low: number, high: number): number;
  whole(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** Returns a separate generator, so that further draws for one thing don't change another. */
  fork(name: string): Random;
}

export function createRandom(seed: string): Random {
  const next = sfc32(hashOf(seed, 1), hashOf(seed, 2), hashOf(seed, 3));
  const whole = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    whole,
    chance: (probability) => next() < probability,
    pick: (list) => list[whole(0, list.length - 1)] ?? list[0],
    fork: (name) => createRandom(`${name}/${seed}`),
  };
}

/** Hashes a text to a whole number from 0 to 2^32 - 1 (FNV-1a with a final mix). */
export function hashOf(text: string, salt = 0): number {
  let hash = 0x811c9dc5 ^ Math.imul(salt, 0x9e3779b1);
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function sfc32(first: number, second: number, third: number): () => number {
  let [a, b, c, counter] = [first, second, third, 1];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  for (let round = 0; round < 12; round += 1) next();
  return next;
}
