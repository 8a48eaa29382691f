/** Smooth, reproducible noise; pure. */

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
