/** Where the picture is taken from: so that all that was asked for is in it, and the place around; pure. */
import { createRandom } from '../../random.ts';
import type { Camera } from '../../language/other-words.ts';
import type { Bounds } from '../things/bounds.ts';
import type { Vector } from '../things/parts.ts';

export interface View {
  from: Vector;
  to: Vector;
  /** Upright, in degrees. */
  fieldOfView: number;
}

const fieldOfView = 30;
/** How much of the picture's width and height the things take. */
const fill: Record<Camera, number> = {
  usual: 0.9,
  near: 1.15,
  far: 0.5,
  high: 0.9,
  low: 0.9,
  side: 0.9,
};

export function viewOf(box: Bounds, camera: Camera, aspect: number, isTabletop: boolean, seed: string): View {
  const random = createRandom(`view ${seed}`);
  const usual = isTabletop ? random.between(0.27, 0.36) : random.between(0.13, 0.2);
  const up = camera === 'high' ? 0.95 : camera === 'low' ? 0.03 : usual;
  const around = camera === 'side' ? 0 : random.between(0.12, 0.34) * (random.chance(0.5) ? 1 : -1);
  const back: Vector = [Math.sin(around) * Math.cos(up), Math.sin(up), Math.cos(around) * Math.cos(up)];
  const { low, high } = box;
  const to: Vector = [(low[0] + high[0]) / 2, low[1] + (high[1] - low[1]) * 0.48, (low[2] + high[2]) / 2];
  const share = fill[camera];
  let distance = 0.5;
  while (distance < 400 && !isInside(box, to, back, distance, aspect, share)) distance *= 1.02;
  return {
    from: [
      to[0] + back[0] * distance,
      Math.max(0.05, to[1] + back[1] * distance),
      to[2] + back[2] * distance,
    ],
    to,
    fieldOfView,
  };
}

function isInside(
  { low, high }: Bounds,
  to: Vector,
  back: Vector,
  distance: number,
  aspect: number,
  share: number,
): boolean {
  const half = Math.tan((fieldOfView * Math.PI) / 360) * share;
  const flat = Math.hypot(back[0], back[2]) || 1;
  const right: Vector = [back[2] / flat, 0, -back[0] / flat];
  const above: Vector = [
    back[1] * right[2] - back[2] * right[1],
    back[2] * right[0] - back[0] * right[2],
    back[0] * right[1] - back[1] * right[0],
  ];
  return [low[0], high[0]].every((x) =>
    [low[1], high[1]].every((y) =>
      [low[2], high[2]].every((z) => {
        const point: Vector = [x - to[0], y - to[1], z - to[2]];
        const depth = distance - dot(point, back);
        return (
          depth > 0.1 &&
          Math.abs(dot(point, right)) < half * aspect * depth &&
          Math.abs(dot(point, above)) < half * depth
        );
      }),
    ),
  );
}

function dot(one: Vector, other: Vector): number {
  return one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
}
