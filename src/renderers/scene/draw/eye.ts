/** The camera, which projects points of the world to places in the picture and their depth. */
import { cosine, each, minus, normal, sine, snapped, type Vector } from '../vector.ts';
import { pointSize, type Mesh } from './mesh.ts';
import type { View } from '../plan-picture.ts';

export interface Eye {
  from: Vector;
  right: Vector;
  above: Vector;
  forward: Vector;
  /** Size of a metre in pixels at a distance of one metre. */
  focal: number;
  width: number;
  height: number;
}

/** Depth in metres; nearer surfaces are not drawn. */
export const nearest = 0.05;

export function eyeOf({ from, to, fieldOfView }: View, width: number, height: number): Eye {
  const eye = snapped(from);
  const forward = normal(minus(snapped(to), eye));
  const right = normal([-forward[2], 0, forward[0]]);
  const above: Vector = [
    right[1] * forward[2] - right[2] * forward[1],
    right[2] * forward[0] - right[0] * forward[2],
    right[0] * forward[1] - right[1] * forward[0],
  ];
  const half = (fieldOfView * Math.PI) / 360;
  const focal = (height / 2) * (cosine(half) / sine(half));
  return { from: eye, right, above, forward, focal, width, height };
}

export function depthOf({ from, forward }: Eye, x: number, y: number, z: number): number {
  return (x - from[0]) * forward[0] + (y - from[1]) * forward[1] + (z - from[2]) * forward[2];
}

export interface Seen {
  /** x, y and 1 depth of each point; 0 if it is not in front of the camera. */
  places: Float32Array;
  /** 1 if the surface at a point faces the camera. */
  facing: Uint8Array;
}

export function projected(mesh: Mesh, eye: Eye, mirroredAt: number | null): Seen {
  const { from, right, above, forward, focal, width, height } = eye;
  const seen = new Float32Array(mesh.pointCount * 3);
  const facing = new Uint8Array(mesh.pointCount);
  for (let point = 0; point < mesh.pointCount; point += 1) {
    const at = point * pointSize;
    const y = mesh.points[at + 1] ?? 0;
    const dx = (mesh.points[at] ?? 0) - from[0];
    const dy = (mirroredAt === null ? y : 2 * mirroredAt - y) - from[1];
    const dz = (mesh.points[at + 2] ?? 0) - from[2];
    const depth = dx * forward[0] + dy * forward[1] + dz * forward[2];
    const nx = mesh.points[at + 3] ?? 0;
    const ny = mirroredAt === null ? (mesh.points[at + 4] ?? 0) : -(mesh.points[at + 4] ?? 0);
    const nz = mesh.points[at + 5] ?? 0;
    facing[point] = nx * dx + ny * dy + nz * dz < 0 ? 1 : 0;
    if (depth < nearest * 0.99) continue;
    seen[point * 3] = width / 2 + ((dx * right[0] + dy * right[1] + dz * right[2]) / depth) * focal;
    seen[point * 3 + 1] = height / 2 - ((dx * above[0] + dy * above[1] + dz * above[2]) / depth) * focal;
    seen[point * 3 + 2] = 1 / depth;
  }
  return { places: seen, facing };
}

/** Returns the direction through a place in the picture, with a depth of one metre. */
export function rayOf(eye: Eye, x: number, y: number): Vector {
  const ray = new Float64Array(3);
  aim(eye, x, y, ray);
  return each((axis) => ray[axis] ?? 0);
}

/** Like `rayOf`, but writes into `out`. */
export function aim(
  { right, above, forward, focal, width, height }: Eye,
  x: number,
  y: number,
  out: Float64Array,
): void {
  const u = (x - width / 2) / focal;
  const v = (height / 2 - y) / focal;
  out[0] = forward[0] + right[0] * u + above[0] * v;
  out[1] = forward[1] + right[1] * u + above[1] * v;
  out[2] = forward[2] + right[2] * u + above[2] * v;
}
