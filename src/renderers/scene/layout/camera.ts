/** Places the camera so that everything the prompt names is in the picture, with the place around it; pure. */
import type { Camera } from '../../language/other-words.ts';
import { createRandom } from '../../random.ts';
import { cornersOf, joined, sizeOf, type Bounds } from '../things/bounds.ts';
import { across, dot, mean, minus, plus, times, toward, type Vector } from '../vector.ts';

export interface View {
  from: Vector;
  to: Vector;
  /** Vertical angle, in degrees. */
  fieldOfView: number;
  /** Rotation of the camera around y, in radians. */
  facing: number;
}

const fieldOfView = 30;
const fill: Partial<Record<Camera, number>> = { near: 1.15, far: 0.5 };
const usualFill = 0.9;

export function viewOf(
  boxes: readonly Bounds[],
  camera: Camera,
  aspect: number,
  isTabletop: boolean,
  seed: string,
): View {
  const random = createRandom(`view ${seed}`);
  const box = boxes.reduce(joined);
  const [, tall, deep] = sizeOf(box);
  // Deep arrangements, such as rows, are seen from higher up.
  const depth = Math.max(0, Math.min(1, (deep / tall - 1) / 2));
  const usual = isTabletop
    ? random.between(0.27, 0.36) + 0.16 * depth
    : random.between(0.13, 0.2) + 0.12 * depth;
  const up = camera === 'high' ? 0.95 : camera === 'low' ? 0.03 : usual;
  // A view from the side would hide things that stand behind the gaps of others.
  const turn = camera === 'side' ? 0 : boxes.length > 1 ? 0.25 : 1;
  const facing = turn * random.between(0.12, 0.34) * (random.chance(0.5) ? 1 : -1);
  const back = toward(facing, up);
  const { low, high } = box;
  const [x, , z] = mean(low, high);
  const to: Vector = [x, low[1] + tall * 0.48, z];
  const half = Math.tan((fieldOfView * Math.PI) / 360) * (fill[camera] ?? usualFill);
  const corners = boxes.flatMap(cornersOf);
  let distance = 0.5;
  while (distance < 400 && !isInside(corners, to, back, distance, aspect, half)) distance *= 1.02;
  const from = plus(to, times(back, distance));
  return { from: [from[0], Math.max(0.05, from[1]), from[2]], to, fieldOfView, facing };
}

function isInside(
  corners: readonly Vector[],
  to: Vector,
  back: Vector,
  distance: number,
  aspect: number,
  half: number,
): boolean {
  const [right, above] = across(back);
  return corners.every((corner) => {
    const point = minus(corner, to);
    const reach = half * (distance - dot(point, back));
    return (
      reach > half * 0.1 &&
      Math.abs(dot(point, right)) < reach * aspect &&
      Math.abs(dot(point, above)) < reach
    );
  });
}
