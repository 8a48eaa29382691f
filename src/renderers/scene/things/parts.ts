/** What things are built of: simple solids in metres, y up, their front towards +z; pure. */
import type { Colour } from '../../colour.ts';
import type { Material } from '../../language/other-words.ts';
import { pointsOf, type Points } from '../../points.ts';

export type Vector = readonly [x: number, y: number, z: number];
type Pair = readonly [x: number, y: number];

export interface Paint {
  colour: Colour;
  material: Material;
}

/** Each around its own middle. */
export type Shape =
  | { kind: 'box'; size: Vector; rounding: number }
  /** Its three diameters. */
  | { kind: 'ball'; size: Vector }
  /** Radii of its ends. */
  | { kind: 'post'; top: number; bottom: number; height: number; sides: number }
  /** Lying flat. */
  | { kind: 'ring'; radius: number; thickness: number }
  /** Turned on a lathe: radius and height of each step, from below. */
  | { kind: 'turned'; profile: readonly Pair[] }
  /** An outline in x and y, as thick as `depth`. */
  | { kind: 'slab'; outline: readonly Pair[]; depth: number }
  | { kind: 'bend'; points: readonly Vector[]; radius: number }
  /** A ball with bumps of this share of its size. */
  | { kind: 'lump'; size: Vector; bumps: number; seed: number };

export interface Part {
  shape: Shape;
  at: Vector;
  /** Around x, then y, then z, in radians. */
  turn: Vector;
  paint: Paint;
}

const straight: Vector = [0, 0, 0];

export function box(at: Vector, size: Vector, paint: Paint, turn = straight, rounding = 0.08): Part {
  return { shape: { kind: 'box', size, rounding }, at, turn, paint };
}

export function ball(at: Vector, size: Vector | number, paint: Paint, turn = straight): Part {
  const diameters: Vector = typeof size === 'number' ? [size, size, size] : size;
  return { shape: { kind: 'ball', size: diameters }, at, turn, paint };
}

/** Upright unless turned; `radii` of its top and its bottom. */
export function post(
  at: Vector,
  radii: number | readonly [top: number, bottom: number],
  height: number,
  paint: Paint,
  turn = straight,
  sides = 32,
): Part {
  const [top, bottom] = typeof radii === 'number' ? [radii, radii] : radii;
  return { shape: { kind: 'post', top, bottom, height, sides }, at, turn, paint };
}

export function ring(at: Vector, radius: number, thickness: number, paint: Paint, turn = straight): Part {
  return { shape: { kind: 'ring', radius, thickness }, at, turn, paint };
}

/** Radius and height of each step. */
export function turned(at: Vector, profile: Points<Pair>, paint: Paint): Part {
  return { shape: { kind: 'turned', profile: pointsOf(profile) }, at, turn: straight, paint };
}

export function slab(at: Vector, outline: Points<Pair>, depth: number, paint: Paint, turn = straight): Part {
  return { shape: { kind: 'slab', outline: pointsOf(outline), depth }, at, turn, paint };
}

export function bend(points: Points<Vector>, radius: number, paint: Paint): Part {
  return { shape: { kind: 'bend', points: pointsOf(points), radius }, at: straight, turn: straight, paint };
}

export function lump(at: Vector, size: Vector, bumps: number, seed: number, paint: Paint): Part {
  return { shape: { kind: 'lump', size, bumps, seed }, at, turn: straight, paint };
}

/** A rod from one point to another. */
export function rod(from: Vector, to: Vector, radii: number | readonly [number, number], paint: Paint): Part {
  const [x, y, z] = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
  const length = Math.hypot(x, y, z);
  const lean = Math.acos(Math.max(-1, Math.min(1, y / (length || 1))));
  const middle: Vector = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2, (from[2] + to[2]) / 2];
  // Leaning around x first and turning around y then: as `turn` is applied, the other way round.
  const around = Math.atan2(x, z);
  const [top, bottom] = typeof radii === 'number' ? [radii, radii] : radii;
  return {
    shape: { kind: 'post', top, bottom, height: length, sides: 20 },
    at: middle,
    turn: eulerOf(lean, around),
    paint,
  };
}

/** Leans by `lean` around x, and then turns by `around` around y, as angles in the order x, y, z. */
function eulerOf(lean: number, around: number): Vector {
  const [cosL, sinL, cosA, sinA] = [Math.cos(lean), Math.sin(lean), Math.cos(around), Math.sin(around)];
  // The rows of Ry(around) · Rx(lean); three reads its angles as Rx · Ry · Rz.
  const m13 = sinA * cosL;
  const [m11, m12, m22, m23, m32, m33] = [cosA, sinA * sinL, cosL, -sinL, cosA * sinL, cosA * cosL];
  const y = Math.asin(Math.max(-1, Math.min(1, m13)));
  return Math.abs(m13) < 0.999999
    ? [Math.atan2(-m23, m33), y, Math.atan2(-m12, m11)]
    : [Math.atan2(m32, m22), y, 0];
}
