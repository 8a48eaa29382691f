/** The simple solids that things are built of, in metres, with y up and their front towards +z, their places, and the boxes around them; pure. */
import { type Colour, rgb } from '../../colour.ts';
import type { Material } from '../../language/other-words.ts';
import {
  cosine,
  cross,
  dot,
  each,
  mean,
  minus,
  normal,
  plus,
  type Points,
  pointsOf,
  sine,
  times,
  type Vector,
} from '../vector.ts';

type Pair = readonly [x: number, y: number];
/** One radius, or the radii of both ends. */
type Radii = number | readonly [top: number, bottom: number];

export interface Paint {
  colour: Colour;
  material: Material;
}

/** A paint, or its text: "#c9ced4 metal". A colour alone is matt. */
type AnyPaint = Paint | string;

/** Shapes, each around its own centre. */
export type Shape =
  | { kind: 'box'; size: Vector; rounding: number }
  /** `size`: the three diameters. */
  | { kind: 'ball'; size: Vector }
  /** `top`, `bottom`: radii of the ends. */
  | { kind: 'post'; top: number; bottom: number; height: number; sides: number }
  /** Lies flat. */
  | { kind: 'ring'; radius: number; thickness: number }
  /** Turned on a lathe. `profile`: radius and height of each step, from the bottom. */
  | { kind: 'turned'; profile: readonly Pair[] }
  /** An outline in x and y with a thickness of `depth`. */
  | { kind: 'slab'; outline: readonly Pair[]; depth: number }
  | { kind: 'bend'; points: readonly Vector[]; radius: number }
  /** A ball with bumps. `bumps`: their height as a share of its size. */
  | { kind: 'lump'; size: Vector; bumps: number; seed: number };

export interface Part {
  shape: Shape;
  at: Vector;
  /** Rotations around x, then y, then z, in radians. */
  turn: Vector;
  paint: Paint;
}

const origin: Vector = [0, 0, 0];
export const straight: Vector = [0, 0, 0];

export function paintOf(paint: AnyPaint): Paint {
  if (typeof paint !== 'string') return paint;
  const [colour = '', material = 'matt'] = paint.split(' ');
  return { colour: rgb(colour), material: material as Material };
}

/** Lightens a paint by a positive amount, or darkens it by a negative one. */
export function shaded(paint: Paint, amount: number): Paint {
  const of = (value: number): number => Math.min(255, value * (1 + amount));
  const [red, green, blue] = paint.colour;
  return { ...paint, colour: [of(red), of(green), of(blue)] };
}

function part(shape: Shape, at: Vector, paint: AnyPaint, turn = straight): Part {
  return { shape, at, turn, paint: paintOf(paint) };
}

export function box(at: Vector, size: Vector, paint: AnyPaint, rounding = 0.08, turn = straight): Part {
  return part({ kind: 'box', size, rounding }, at, paint, turn);
}

export function ball(at: Vector, size: Vector | number, paint: AnyPaint, turn = straight): Part {
  const diameters: Vector = typeof size === 'number' ? [size, size, size] : size;
  return part({ kind: 'ball', size: diameters }, at, paint, turn);
}

/** An upright post, unless `turn` rotates it. */
export function post(
  at: Vector,
  radii: Radii,
  height: number,
  paint: AnyPaint,
  turn = straight,
  sides = 32,
): Part {
  const [top, bottom] = typeof radii === 'number' ? [radii, radii] : radii;
  return part({ kind: 'post', top, bottom, height, sides }, at, paint, turn);
}

export function ring(at: Vector, radius: number, thickness: number, paint: AnyPaint, turn = straight): Part {
  return part({ kind: 'ring', radius, thickness }, at, paint, turn);
}

/** `profile`: radius and height of each step. */
export function turned(profile: Points<Pair>, paint: AnyPaint, at = origin): Part {
  return part({ kind: 'turned', profile: pointsOf(profile) }, at, paint);
}

export function slab(
  outline: Points<Pair>,
  depth: number,
  paint: AnyPaint,
  at = origin,
  turn = straight,
): Part {
  return part({ kind: 'slab', outline: pointsOf(outline), depth }, at, paint, turn);
}

export function bend(points: Points<Vector>, radius: number, paint: AnyPaint): Part {
  return part({ kind: 'bend', points: pointsOf(points), radius }, origin, paint);
}

export function lump(at: Vector, size: Vector, bumps: number, seed: number, paint: AnyPaint): Part {
  return part({ kind: 'lump', size, bumps, seed }, at, paint);
}

export function rod(from: Vector, to: Vector, radii: Radii, paint: AnyPaint): Part {
  const [x, y, z] = minus(to, from);
  const length = Math.hypot(x, y, z);
  const lean = Math.acos(Math.max(-1, Math.min(1, y / (length || 1))));
  // The rod leans around x, then turns around y, which is the reverse of the order of `turn`.
  return post(mean(from, to), radii, length, paint, eulerOf(lean, Math.atan2(x, z)), 20);
}

/** Angles in the order x, y, z for a lean around x followed by a turn around y. */
function eulerOf(lean: number, around: number): Vector {
  const [cosL, sinL, cosA, sinA] = [Math.cos(lean), Math.sin(lean), Math.cos(around), Math.sin(around)];
  // Entry of the matrix Ry(around) · Rx(lean), which is decomposed into Rx · Ry · Rz.
  const m13 = sinA * cosL;
  const y = Math.asin(Math.max(-1, Math.min(1, m13)));
  return Math.abs(m13) < 0.999999
    ? [Math.atan2(sinL, cosA * cosL), y, Math.atan2(-sinA * sinL, cosA)]
    : [Math.atan2(cosA * sinL, cosL), y, 0];
}

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

type Corner = readonly [out: number, up: number];

/** Cosines and sines of a full turn; the last equals the first. */
export function turns(sides: number): Corner[] {
  return Array.from({ length: sides + 1 }, (_, side) => {
    const angle = ((side % sides) / sides) * 2 * Math.PI;
    return [cosine(angle), sine(angle)] as const;
  });
}

/**
 * Returns the surface of a shape turned on a lathe: a row of points for each step of `profile` (radius and
 * height), and in it a point for each direction of `around` (cosine and sine).
 */
export function lathe(profile: readonly Corner[], around: readonly Corner[]): Vector[][] {
  return profile.map(([out, up]) => around.map(([cos, sin]): Vector => [sin * out, up, cos * out]));
}

/** A tube along a curve, without twisting, as rows of points. */
export function tube(points: readonly Vector[], radius: number, steps: number, sides: number): Vector[][] {
  const path = curve(points, steps);
  let side: Vector = [0.3, 0.2, 0.93];
  return path.map((point, step) => {
    const along = normal(minus(path[step + 1] ?? point, path[step - 1] ?? point));
    side = normal(minus(side, times(along, dot(side, along))));
    const other = cross(along, side);
    return turns(sides).map(([cos, sin]) =>
      plus(point, plus(times(side, cos * radius), times(other, sin * radius))),
    );
  });
}

/** Catmull-Rom spline through points, with `steps` steps between neighbours. */
export function curve(points: readonly Vector[], steps: number): Vector[] {
  const from = (index: number): Vector =>
    points[Math.max(0, Math.min(index, points.length - 1))] ?? [0, 0, 0];
  return Array.from({ length: (points.length - 1) * steps + 1 }, (_, step): Vector => {
    const [index, t] = [Math.floor(step / steps), (step % steps) / steps];
    const [a, b, c, d] = [from(index - 1), from(index), from(index + 1), from(index + 2)];
    const bent = (i: 0 | 1 | 2): number =>
      2 * a[i] - 5 * b[i] + 4 * c[i] - d[i] + (3 * (b[i] - c[i]) + d[i] - a[i]) * t;
    return each((axis) => b[axis] + ((c[axis] - a[axis] + bent(axis) * t) * t) / 2);
  });
}

export interface Bounds {
  low: Vector;
  high: Vector;
}

/** Box around at least one part. */
export function boundsOf(parts: readonly Part[]): Bounds {
  return parts.map(partBounds).reduce(joined);
}

export function joined(one: Bounds, other: Bounds): Bounds {
  return {
    low: each((axis) => Math.min(one.low[axis], other.low[axis])),
    high: each((axis) => Math.max(one.high[axis], other.high[axis])),
  };
}

export function sizeOf({ low, high }: Bounds): Vector {
  return minus(high, low);
}

/** Rotates a point by the angles of an intrinsic x-y-z rotation. */
function turnedBy([x, y, z]: Vector, [a, b, c]: Vector): Vector {
  const [x1, y1] = [x * Math.cos(c) - y * Math.sin(c), x * Math.sin(c) + y * Math.cos(c)];
  const [x2, z2] = [x1 * Math.cos(b) + z * Math.sin(b), -x1 * Math.sin(b) + z * Math.cos(b)];
  return [x2, y1 * Math.cos(a) - z2 * Math.sin(a), y1 * Math.sin(a) + z2 * Math.cos(a)];
}

function partBounds({ shape, at, turn }: Part): Bounds {
  const { low, high } = boxAround(outmost(shape).map((point) => turnedBy(point, turn)));
  return { low: plus(at, low), high: plus(at, high) };
}

export function boxAround(points: readonly Vector[]): Bounds {
  return {
    low: each((axis) => Math.min(...points.map((point) => point[axis]))),
    high: each((axis) => Math.max(...points.map((point) => point[axis]))),
  };
}

/** Returns points whose box contains the shape. */
function outmost(shape: Shape): Vector[] {
  return shape.kind === 'post' && shape.sides < 8 ? edgesOf(shape) : cornersOf(shapeBounds(shape));
}

export function cornersOf({ low, high }: Bounds): Vector[] {
  return [low[0], high[0]].flatMap((x) =>
    [low[1], high[1]].flatMap((y) => [low[2], high[2]].map((z): Vector => [x, y, z])),
  );
}

function edgesOf({ top, bottom, height, sides }: Extract<Shape, { kind: 'post' }>): Vector[] {
  return Array.from({ length: sides }, (_, side) => (side / sides) * Math.PI * 2).flatMap((angle) => [
    [Math.sin(angle) * top, height / 2, Math.cos(angle) * top],
    [Math.sin(angle) * bottom, -height / 2, Math.cos(angle) * bottom],
  ]);
}

function shapeBounds(shape: Shape): Bounds {
  switch (shape.kind) {
    case 'box':
    case 'ball':
    case 'lump':
      return centredBox(shape.size);
    case 'post': {
      const wide = 2 * Math.max(shape.top, shape.bottom);
      return centredBox([wide, shape.height, wide]);
    }
    case 'ring': {
      const wide = 2 * (shape.radius + shape.thickness);
      return centredBox([wide, 2 * shape.thickness, wide]);
    }
    case 'turned':
      return boxAround(
        shape.profile.flatMap(([out, up]): Vector[] => [
          [out, up, out],
          [-out, up, -out],
        ]),
      );
    case 'slab':
      return boxAround(
        shape.outline.flatMap(([x, y]): Vector[] => [
          [x, y, shape.depth / 2],
          [x, y, -shape.depth / 2],
        ]),
      );
    case 'bend': {
      const { low, high } = boxAround(shape.points);
      return {
        low: each((axis) => low[axis] - shape.radius),
        high: each((axis) => high[axis] + shape.radius),
      };
    }
  }
}

function centredBox(size: Vector): Bounds {
  return { low: times(size, -0.5), high: times(size, 0.5) };
}
