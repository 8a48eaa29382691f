/** Rotations for parts, and functions that repeat a part in several places; pure. */
import type { Vector } from '../vector.ts';
import type { Part } from './parts.ts';

/** Rotations that lay an upright round part down: with its ends to the front and back, or to the sides. */
export const forward: Vector = [Math.PI / 2, 0, 0];
export const sideways: Vector = [0, 0, Math.PI / 2];

/** Builds a part on both sides: left and right, or back and front. */
export function both(build: (side: -1 | 1) => Part | readonly Part[]): Part[] {
  return ([-1, 1] as const).flatMap(build);
}

type AtAngle = (cos: number, sin: number, index: number, angle: number) => Part | readonly Part[];

/** Builds parts at equal angles all around. */
export function round(count: number, build: AtAngle): Part[] {
  return turning(count, (2 * Math.PI) / count, build);
}

/** Builds parts turned by the golden angle like leaves on a stem, which spreads any number evenly. */
export function spiral(count: number, build: AtAngle): Part[] {
  return turning(count, 2.4, build);
}

function turning(count: number, step: number, build: AtAngle): Part[] {
  return Array.from({ length: count }, (_, index) => index * step).flatMap((angle, index) =>
    build(Math.cos(angle), Math.sin(angle), index, angle),
  );
}
