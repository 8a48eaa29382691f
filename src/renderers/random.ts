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

/** Noise from -1 to 1, the same at the same place. */
export function noise(x: number, y: number, z: number): number {
  const ix = Math.floor(x);
  const iy = Math.floor(y);
  const iz = Math.floor(z);
  const fx = fade(x - ix);
  const fy = fade(y - iy);
  const near = lerp(chanceAlong(ix, iy, iz, fx), chanceAlong(ix, iy + 1, iz, fx), fy);
  const far = lerp(chanceAlong(ix, iy, iz + 1, fx), chanceAlong(ix, iy + 1, iz + 1, fx), fy);
  return 2 * lerp(near, far, fade(z - iz)) - 1;
}

function chanceAlong(x: number, y: number, z: number, share: number): number {
  return lerp(chanceAt(x, y, z), chanceAt(x + 1, y, z), share);
}

/** Sum of noise in several sizes, each half as strong as the larger one. */
export function cloudNoise(x: number, y: number, z: number, octaves: number): number {
  let sum = 0;
  let weight = 0.5;
  let size = 1;
  for (let octave = 0; octave < octaves; octave += 1) {
    sum += noise(x * size, y * size, z * size) * weight;
    weight /= 2;
    size *= 2.03;
  }
  return sum;
}

/** Hash of three whole numbers, in [0, 1). */
export function chanceAt(x: number, y: number, z: number): number {
  let hash = Math.imul(x, 0x27d4eb2d) ^ Math.imul(y, 0x165667b1) ^ Math.imul(z, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000;
}

/** Smoothstep from 0 to 1. */
export function fade(share: number): number {
  const clear = Math.min(1, Math.max(0, share));
  return clear * clear * (3 - 2 * clear);
}

function lerp(from: number, to: number, share: number): number {
  return from + (to - from) * share;
}
