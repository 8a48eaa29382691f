/** How much room parts take: the box around them; pure. */
import type { Part, Shape, Vector } from './parts.ts';

export interface Bounds {
  low: Vector;
  high: Vector;
}

/** Of at least one part. */
export function boundsOf(parts: readonly Part[]): Bounds {
  return parts
    .map(partBounds)
    .reduce(joined, { low: [Infinity, Infinity, Infinity], high: [-Infinity, -Infinity, -Infinity] });
}

export function joined(one: Bounds, other: Bounds): Bounds {
  return {
    low: each((axis) => Math.min(one.low[axis], other.low[axis])),
    high: each((axis) => Math.max(one.high[axis], other.high[axis])),
  };
}

export function sizeOf({ low, high }: Bounds): Vector {
  return each((axis) => high[axis] - low[axis]);
}

export function each(value: (axis: 0 | 1 | 2) => number): Vector {
  return [value(0), value(1), value(2)];
}

/** Turns a point around x, y and z as three does: the angles of an intrinsic x-y-z rotation. */
export function turnedBy([x, y, z]: Vector, [a, b, c]: Vector): Vector {
  const [x1, y1] = [x * Math.cos(c) - y * Math.sin(c), x * Math.sin(c) + y * Math.cos(c)];
  const [x2, z2] = [x1 * Math.cos(b) + z * Math.sin(b), -x1 * Math.sin(b) + z * Math.cos(b)];
  return [x2, y1 * Math.cos(a) - z2 * Math.sin(a), y1 * Math.sin(a) + z2 * Math.cos(a)];
}

function partBounds({ shape, at, turn }: Part): Bounds {
  const corners = outmost(shape).map((point) => turnedBy(point, turn));
  return {
    low: each((axis) => at[axis] + Math.min(...corners.map((corner) => corner[axis]))),
    high: each((axis) => at[axis] + Math.max(...corners.map((corner) => corner[axis]))),
  };
}

/** Points that nothing of it is beyond. */
function outmost(shape: Shape): Vector[] {
  if (shape.kind === 'post' && shape.sides < 8) return edgesOf(shape);
  const { low, high } = shapeBounds(shape);
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
    case 'turned': {
      const radius = Math.max(...shape.profile.map(([out]) => out));
      const heights = shape.profile.map(([, height]) => height);
      return { low: [-radius, Math.min(...heights), -radius], high: [radius, Math.max(...heights), radius] };
    }
    case 'slab': {
      const [xs, ys] = [shape.outline.map(([x]) => x), shape.outline.map(([, y]) => y)];
      const half = shape.depth / 2;
      return {
        low: [Math.min(...xs), Math.min(...ys), -half],
        high: [Math.max(...xs), Math.max(...ys), half],
      };
    }
    case 'bend': {
      const along = (axis: 0 | 1 | 2): number[] => shape.points.map((point) => point[axis]);
      return {
        low: each((axis) => Math.min(...along(axis)) - shape.radius),
        high: each((axis) => Math.max(...along(axis)) + shape.radius),
      };
    }
  }
}

function around(size: Vector): Bounds {
  return { low: each((axis) => -size[axis] / 2), high: each((axis) => size[axis] / 2) };
}
