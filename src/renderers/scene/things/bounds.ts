/** Bounding boxes of parts; pure. */
import { each, minus, plus, times, type Vector } from '../vector.ts';
import type { Part, Shape } from './parts.ts';

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
      return around(shape.size);
    case 'post': {
      const wide = 2 * Math.max(shape.top, shape.bottom);
      return around([wide, shape.height, wide]);
    }
    case 'ring': {
      const wide = 2 * (shape.radius + shape.thickness);
      return around([wide, 2 * shape.thickness, wide]);
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

function around(size: Vector): Bounds {
  return { low: times(size, -0.5), high: times(size, 0.5) };
}
