/** How parts of things are turned, and how the same part is put in several places; pure. */
import type { Vector } from '../vector.ts';
import type { Part } from './parts.ts';

/** What is upright and round lies with its ends to the front and the back, or to the sides. */
export const forward: Vector = [Math.PI / 2, 0, 0];
export const sideways: Vector = [0, 0, Math.PI / 2];

/** On the left and on the right, or before and behind. */
export function both(build: (side: -1 | 1) => Part | readonly Part[]): Part[] {
  return ([-1, 1] as const).flatMap(build);
}

type AtAngle = (cos: number, sin: number, index: number, angle: number) => Part | readonly Part[];

/** Evenly all around. */
export function round(count: number, build: AtAngle): Part[] {
  return turning(count, (2 * Math.PI) / count, build);
}

/** As leaves stand on a stem, each turned by the same angle from the last: spread evenly, however many. */
export function spiral(count: number, build: AtAngle): Part[] {
  return turning(count, 2.4, build);
}

function turning(count: number, step: number, build: AtAngle): Part[] {
  return Array.from({ length: count }, (_, index) => index * step).flatMap((angle, index) =>
    build(Math.cos(angle), Math.sin(angle), index, angle),
  );
}
