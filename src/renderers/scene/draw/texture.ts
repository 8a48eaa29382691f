/** Noise from a table, which is fast enough for every pixel, and patterns of wood, stone and bricks. */
import { chanceAt } from '../picture/noise.ts';
import { patterns } from './surfaces.ts';

const side = 128;
let table: Float32Array | undefined;

function makeTable(): Float32Array {
  return Float32Array.from(
    { length: side * side },
    (_, cell) => chanceAt(cell % side, Math.floor(cell / side), 7) * 2 - 1,
  );
}

/** Noise from -1 to 1, smooth between whole numbers. Repeats after 128. */
export function smooth(x: number, y: number): number {
  table ??= makeTable();
  const column = Math.floor(x);
  const row = Math.floor(y);
  const dx = x - column;
  const dy = y - row;
  const fx = dx * dx * (3 - 2 * dx);
  const fy = dy * dy * (3 - 2 * dy);
  const left = column & (side - 1);
  const right = (column + 1) & (side - 1);
  const upper = (row & (side - 1)) * side;
  const lower = ((row + 1) & (side - 1)) * side;
  const above = (table[upper + left] ?? 0) * (1 - fx) + (table[upper + right] ?? 0) * fx;
  const below = (table[lower + left] ?? 0) * (1 - fx) + (table[lower + right] ?? 0) * fx;
  return above * (1 - fy) + below * fy;
}

/** Factor for the colour at a place of a part. */
export function patternAt(pattern: number, x: number, y: number, z: number): number {
  switch (pattern) {
    case patterns.wood: {
      const bent = smooth(x * 1.4 + z * 3, y * 5 + z * 2);
      return 0.97 + 0.13 * smooth(x * 2.2, y * 26 + z * 21 + bent * 2.4) + 0.08 * bent;
    }
    case patterns.stone:
      return (
        0.96 + 0.12 * smooth(x * 4 + z * 2.3, y * 4 - z * 2.9) + 0.09 * smooth(x * 13 + z * 9, y * 13 + z * 7)
      );
    case patterns.brick:
      return bricksAt(x + z, y);
    case patterns.cloth:
      return 0.98 + 0.05 * smooth(x * 22 + z * 13, y * 22 - z * 9);
    default:
      return 1;
  }
}

function bricksAt(along: number, up: number): number {
  const row = Math.floor(up * 6);
  const across = along * 2.2 + (row & 1) * 0.5;
  const brick = Math.floor(across);
  const isJoint = up * 6 - row < 0.12 || across - brick < 0.06;
  return isJoint ? 1.3 : 0.94 + 0.14 * smooth(brick * 3.7 + 0.5, row * 5.3 + 0.5);
}

/** Pattern of a wall with windows: 0 is wall, negative a dark window, positive a lit one. */
export function windowAt(along: number, up: number): number {
  const row = Math.floor(up * 2.2);
  const column = Math.floor(along * 2.4);
  const v = up * 2.2 - row;
  const u = along * 2.4 - column;
  if (v < 0.3 || v > 0.8 || u < 0.22 || u > 0.78) return 0;
  return chanceAt(column, row, 3) < 0.42 ? 0.4 + 0.6 * chanceAt(row, column, 5) : -1;
}
