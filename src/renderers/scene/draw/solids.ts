/** Triangulates the shapes of parts, as finely as the picture can show. */
import type { AnyShape } from '../around/backdrops.ts';
import { curve, tube, turns } from '../things/parts.ts';
import { long, minus, normal, snap, snapped, type Vector } from '../vector.ts';
import { type Mesh, pointSize } from './mesh.ts';
import { cloudNoise } from '../../random.ts';

type Pair = readonly [out: number, up: number];

export function addSolid(builder: Builder, shape: AnyShape): void {
  switch (shape.kind) {
    case 'box':
      return addBox(builder, snapped(shape.size), shape.rounding);
    case 'ball':
      return addBall(builder, snapped(shape.size));
    case 'lump':
      return addLump(builder, snapped(shape.size), shape.bumps, shape.seed);
    case 'post': {
      const [above, below, half] = [shape.top, shape.bottom, shape.height / 2];
      const sides = Math.min(shape.sides, builder.sidesOf(Math.max(above, below)));
      const outline: Pair[] = [
        [0, -half],
        [below, -half],
        [above, half],
        [0, half],
      ];
      return addLathe(builder, outline, sides, 0.7);
    }
    case 'ring': {
      const { radius, thickness } = shape;
      const outline = turnsOf(builder.sidesOf(thickness, 20)).map(([cos, sin]): Pair => [
        radius + thickness * cos,
        thickness * sin,
      ]);
      return addLathe(builder, outline, builder.sidesOf(radius), 0.5);
    }
    case 'turned': {
      const widest = Math.max(...shape.profile.map(([out]) => out));
      return addLathe(builder, shape.profile, builder.sidesOf(widest), 0.5, 4);
    }
    case 'slab':
      return addSlab(
        builder,
        shape.outline.map(([x, y]): Pair => [snap(x), snap(y)]),
        snap(shape.depth),
      );
    case 'bend': {
      const steps = Math.max(2, Math.min(8, Math.ceil(builder.sidesOf(shape.radius * 6) / 4)));
      const sides = builder.sidesOf(shape.radius, 20);
      return addSheet(builder, tube(shape.points.map(snapped), snap(shape.radius), steps, sides));
    }
    case 'sheet':
      return addSheet(builder, shape.rows);
  }
}

const known = new Map<number, readonly Pair[]>();

function turnsOf(sides: number): readonly Pair[] {
  const found = known.get(sides) ?? turns(sides);
  known.set(sides, found);
  return found;
}

function addBall(builder: Builder, [wide, high, deep]: Vector): void {
  const sides = builder.sidesOf(Math.max(wide, high, deep) / 2);
  const around = turnsOf(sides);
  const first = builder.beginPatch();
  for (let row = 0; row <= sides / 2; row += 1) {
    const [up, out] = around[row] ?? [1, 0];
    for (const [cos, sin] of around) {
      const [x, y, z] = [sin * out, -up, cos * out];
      builder.addPoint((x * wide) / 2, (y * high) / 2, (z * deep) / 2, x / wide, y / high, z / deep);
    }
  }
  builder.mesh.addGrid(first, sides / 2 + 1, sides + 1);
}

function addLump(builder: Builder, [wide, high, deep]: Vector, bumps: number, seed: number): void {
  const sides = builder.sidesOf(Math.max(wide, high, deep) * 0.7);
  const around = turnsOf(sides);
  const rows = around.slice(0, sides / 2 + 1).map(([up, out]) =>
    around.map(([cos, sin]): Vector => {
      const [x, y, z] = [(sin * out) / 2, -up / 2, (cos * out) / 2];
      const by = 1 + bumps * 1.6 * cloudNoise(x * 4 + seed * 7.3, y * 4, z * 4, 3);
      return [x * by * wide, y * by * high, z * by * deep];
    }),
  );
  addSheet(builder, rows);
}

/** Turns an outline around the axis. Edges are smooth if the directions of two steps are similar. */
function addLathe(builder: Builder, given: readonly Pair[], sides: number, smooth: number, steps = 1): void {
  const profile = given.map(([out, up]): Vector => [snap(out), snap(up), 0]);
  const slopes = profile.slice(1).map((point, index) => normal(minus(point, profile[index] ?? point)));
  let begin = 0;
  for (const [index, [out, up]] of slopes.entries()) {
    const next = slopes[index + 1];
    if (next !== undefined && out * next[0] + up * next[1] > smooth) continue;
    const run = curve(profile.slice(begin, index + 2), index > begin ? steps : 1);
    const around = turnsOf(sides);
    if (sides >= 8) addTurned(builder, run, around);
    else for (let side = 0; side < sides; side += 1) addTurned(builder, run, around.slice(side, side + 2));
    begin = index + 1;
  }
}

/** Adds one smooth surface. With a single side it is flat. */
function addTurned(builder: Builder, run: readonly Vector[], around: readonly Pair[]): void {
  const first = builder.beginPatch();
  const [[c1, s1], [c2, s2]] = [around[0] ?? [1, 0], around[1] ?? [1, 0]];
  const isFlat = around.length === 2;
  for (const [index, [out, up]] of run.entries()) {
    const [before, after] = [run[Math.max(0, index - 1)], run[Math.min(run.length - 1, index + 1)]];
    const [aside, rise] = [(after?.[0] ?? 0) - (before?.[0] ?? 0), (after?.[1] ?? 0) - (before?.[1] ?? 0)];
    const radius = Math.max(0, out);
    for (const [cos, sin] of around) {
      const [nx, nz] = isFlat ? [(s1 + s2) / 2, (c1 + c2) / 2] : [sin, cos];
      builder.addPoint(sin * radius, up, cos * radius, nx * rise, -aside, nz * rise);
    }
  }
  builder.mesh.addGrid(first, run.length, around.length);
}

const cornerAt = new Float64Array(3);
const out = new Float64Array(3);

/** Adds a box with rounded edges: a part of a ball at each corner of an inner box, and surfaces between. */
function addBox(builder: Builder, size: Vector, rounding: number): void {
  const radius = Math.min(rounding, size[0] / 2, size[1] / 2, size[2] / 2) * 0.999;
  const arc = builder.pixels(radius);
  const shares = arc < 0.7 ? [1] : arc < 5 ? [0, 1] : arc < 16 ? [0, 0.5, 1] : [0, 0.3, 0.6, 1];
  const isSharp = shares.length === 1;
  const steps = [
    ...shares.map((share): Pair => [-1, -share]).toReversed(),
    ...shares.map((share): Pair => [1, share]),
  ];
  if (!isSharp) builder.beginPatch();
  for (let face = 0; face < 6; face += 1) {
    const [axis, u, v] = [face >> 1, ((face >> 1) + 1) % 3, ((face >> 1) + 2) % 3];
    const first = isSharp ? builder.beginPatch() : builder.mesh.pointCount;
    for (const [sideOfU, a] of steps) {
      for (const [sideOfV, b] of steps) {
        cornerAt[axis] = ((face & 1) - 0.5) * (size[axis] ?? 0);
        cornerAt[u] = sideOfU * ((size[u] ?? 0) / 2 - radius) + a * radius;
        cornerAt[v] = sideOfV * ((size[v] ?? 0) / 2 - radius) + b * radius;
        addCorner(builder, size, isSharp ? 0 : radius, axis);
      }
    }
    builder.mesh.addGrid(first, steps.length, steps.length);
  }
}

/** Moves the point to the rounded surface, unless it is on a flat side. */
function addCorner(builder: Builder, size: Vector, radius: number, axis: number): void {
  for (let part = 0; part < 3; part += 1) {
    const half = (size[part] ?? 0) / 2 - radius;
    const place = cornerAt[part] ?? 0;
    out[part] = radius === 0 ? (part === axis ? place : 0) : place - Math.max(-half, Math.min(half, place));
  }
  const [x = 0, y = 0, z = 0] = out;
  const short = radius === 0 ? 0 : radius / (long(x, y, z) || 1) - 1;
  builder.addPoint(
    (cornerAt[0] ?? 0) + x * short,
    (cornerAt[1] ?? 0) + y * short,
    (cornerAt[2] ?? 0) + z * short,
    x,
    y,
    z,
  );
}

/** Adds a smooth surface through rows of points. Rows whose ends meet are closed. */
function addSheet(builder: Builder, rows: readonly (readonly Vector[])[]): void {
  const columns = rows[0]?.length ?? 0;
  const points = Float64Array.from(rows.flat(2), snap);
  const isSame = (one: number, other: number): boolean =>
    [0, 1, 2].every((part) => ((points[one * 3 + part] ?? 0) - (points[other * 3 + part] ?? 0)) ** 2 < 1e-12);
  const middle = (rows.length >> 1) * columns;
  const isRound = columns > 2 && isSame(middle, middle + columns - 1);
  const first = builder.beginPatch();
  const normals = new Float64Array(points.length);
  for (let row = 0; row < rows.length; row += 1) {
    // At a pole all points of a row are the same, so the neighbouring row gives its direction.
    const isPole = isSame(row * columns, row * columns + 1);
    const beside = !isPole ? row : row === 0 ? 1 : row - 1;
    const upper = Math.max(0, row - 1) * columns;
    const lower = Math.min(rows.length - 1, row + 1) * columns;
    for (let column = 0; column < columns; column += 1) {
      const left = isRound && column === 0 ? columns - 2 : Math.max(0, column - 1);
      const right = isRound && column === columns - 1 ? 1 : Math.min(columns - 1, column + 1);
      const side = [(beside * columns + right) * 3, (beside * columns + left) * 3] as const;
      const rise = [(lower + column) * 3, (upper + column) * 3] as const;
      setCross(points, side, rise, normals, (row * columns + column) * 3);
    }
    if (isPole && isRound) levelOut(normals, row * columns * 3, columns);
  }
  for (let point = 0; point < points.length; point += 3)
    builder.addPoint(
      points[point] ?? 0,
      points[point + 1] ?? 0,
      points[point + 2] ?? 0,
      normals[point] ?? 0,
      normals[point + 1] ?? 0,
      normals[point + 2] ?? 0,
    );
  builder.mesh.addGrid(first, rows.length, columns);
}

type Step = readonly [to: number, from: number];

function setCross(points: Float64Array, side: Step, rise: Step, into: Float64Array, place: number): void {
  const along = (step: Step, part: number): number =>
    (points[step[0] + part] ?? 0) - (points[step[1] + part] ?? 0);
  for (let part = 0; part < 3; part += 1) {
    const [u, v] = [(part + 1) % 3, (part + 2) % 3];
    into[place + part] = along(side, u) * along(rise, v) - along(side, v) * along(rise, u);
  }
}

function levelOut(normals: Float64Array, from: number, columns: number): void {
  for (let part = 0; part < 3; part += 1) {
    let sum = 0;
    for (let column = 1; column < columns; column += 1) sum += normals[from + column * 3 + part] ?? 0;
    for (let column = 0; column < columns; column += 1) normals[from + column * 3 + part] = sum;
  }
}

/** A linear transformation, given by the rows of its matrix, and the position of the origin. */
export interface Placement {
  rows: readonly [Vector, Vector, Vector];
  at: Vector;
  scale: number;
}

/** Adds the points of a part to a mesh in their place, and decides how fine the part must be. */
export class Builder {
  readonly mesh: Mesh;
  readonly #placement: Placement;
  /** Pixels of the picture for each metre of the part. */
  readonly #detail: number;
  readonly #surface: number;
  readonly #isClosed: boolean;

  constructor(mesh: Mesh, placement: Placement, detail: number, surface: number, isClosed: boolean) {
    this.mesh = mesh;
    this.#placement = placement;
    this.#detail = detail;
    this.#surface = surface;
    this.#isClosed = isClosed;
  }

  beginPatch(): number {
    this.mesh.beginPatch(this.#surface, this.#isClosed);
    return this.mesh.pointCount;
  }

  /** Number of straight sides that look round at this radius. */
  sidesOf(radius: number, most = 40): number {
    const sides = 2.8 * Math.sqrt(radius * this.#detail);
    return Math.max(8, Math.min(most, Math.ceil(sides / 2) * 2));
  }

  pixels(length: number): number {
    return length * this.#detail;
  }

  /** Adds a point with a normal of any length. */
  addPoint(x: number, y: number, z: number, nx: number, ny: number, nz: number): void {
    const { rows, at } = this.#placement;
    const [a, b, c] = rows;
    const to = this.mesh.addPoint() * pointSize;
    const { points } = this.mesh;
    const by = 1 / (long(nx, ny, nz) || 1);
    points[to] = a[0] * x + a[1] * y + a[2] * z + at[0];
    points[to + 1] = b[0] * x + b[1] * y + b[2] * z + at[1];
    points[to + 2] = c[0] * x + c[1] * y + c[2] * z + at[2];
    points[to + 3] = (a[0] * nx + a[1] * ny + a[2] * nz) * by;
    points[to + 4] = (b[0] * nx + b[1] * ny + b[2] * nz) * by;
    points[to + 5] = (c[0] * nx + c[1] * ny + c[2] * nz) * by;
    points[to + 6] = x;
    points[to + 7] = y;
    points[to + 8] = z;
  }
}

type PairOfPoints = readonly [x: number, y: number];

/** Adds an outline with a thickness: two faces, a bevel that catches the light, and the sides. */
function addSlab(builder: Builder, outline: readonly PairOfPoints[], depth: number): void {
  const corners = counterclockwise(outline);
  const bevel = Math.min(depth * 0.25, 0.04);
  const inset = corners.map((_, index) => insetAt(corners, index, bevel));
  const half = depth / 2;
  for (const side of [1, -1]) {
    const first = builder.beginPatch();
    for (const [x, y] of inset) builder.addPoint(x, y, side * half, 0, 0, side);
    for (const [a, b, c] of triangled(inset)) builder.mesh.addTriangle(first + a, first + b, first + c);
  }
  for (const index of corners.keys()) addSide(builder, corners, inset, index, half, bevel);
}

function counterclockwise(outline: readonly PairOfPoints[]): readonly PairOfPoints[] {
  let area = 0;
  for (const [index, [x, y]] of outline.entries()) {
    const [nextX, nextY] = outline[(index + 1) % outline.length] ?? [0, 0];
    area += x * nextY - nextX * y;
  }
  return area < 0 ? outline.toReversed() : outline;
}

function pointAt(list: readonly PairOfPoints[], index: number): PairOfPoints {
  return list[(index + list.length) % list.length] ?? [0, 0];
}

/** Direction away from the side that follows a corner. */
function outward(corners: readonly PairOfPoints[], index: number): PairOfPoints {
  const [[x, y], [nextX, nextY]] = [pointAt(corners, index), pointAt(corners, index + 1)];
  const by = 1 / (long(nextX - x, nextY - y, 0) || 1);
  return [(nextY - y) * by, (x - nextX) * by];
}

function insetAt(corners: readonly PairOfPoints[], index: number, by: number): PairOfPoints {
  const [[ax, ay], [bx, by_], [x, y]] = [
    outward(corners, index - 1),
    outward(corners, index),
    pointAt(corners, index),
  ];
  const share = by / Math.max(0.35, 1 + ax * bx + ay * by_);
  return [x - (ax + bx) * share, y - (ay + by_) * share];
}

/** Adds a side from face to face with rounded edges. Corners of less than 40 degrees are smooth. */
function addSide(
  builder: Builder,
  corners: readonly PairOfPoints[],
  inset: readonly PairOfPoints[],
  index: number,
  half: number,
  bevel: number,
): void {
  const own = outward(corners, index);
  const first = builder.beginPatch();
  for (const [corner, neighbour] of [
    [index, index - 1],
    [index + 1, index + 1],
  ] as const) {
    const [x, y] = outward(corners, neighbour);
    const isSmooth = x * own[0] + y * own[1] > 0.76;
    const [nx, ny] = isSmooth ? [(x + own[0]) / 2, (y + own[1]) / 2] : own;
    const [outer, inner] = [pointAt(corners, corner), pointAt(inset, corner)];
    const add = ([px, py]: PairOfPoints, z: number, flat: number): void =>
      builder.addPoint(px, py, z, nx * (1 - Math.abs(flat)), ny * (1 - Math.abs(flat)), flat);
    add(inner, half, 0.8);
    add(outer, half - bevel, 0.15);
    add(outer, bevel - half, -0.15);
    add(inner, -half, -0.8);
  }
  builder.mesh.addGrid(first, 2, 4);
}

function triangled(corners: readonly PairOfPoints[]): [number, number, number][] {
  const left = corners.map((_, index) => index);
  const triangles: [number, number, number][] = [];
  while (left.length > 2) {
    const ear = left.findIndex((_, index) => isEar(corners, left, index));
    const [before, own, after] = neighboursOf(left, Math.max(0, ear));
    triangles.push([before, own, after]);
    left.splice(Math.max(0, ear), 1);
  }
  return triangles;
}

function neighboursOf(left: readonly number[], index: number): [number, number, number] {
  const of = (step: number): number => left[(index + step + left.length) % left.length] ?? 0;
  return [of(-1), of(0), of(1)];
}

function isEar(corners: readonly PairOfPoints[], left: readonly number[], index: number): boolean {
  const [before, own, after] = neighboursOf(left, index);
  const [a, b, c] = [pointAt(corners, before), pointAt(corners, own), pointAt(corners, after)];
  if (turn(a, b, c) <= 0) return false;
  return left.every((other) => {
    if (other === before || other === own || other === after) return true;
    const point = pointAt(corners, other);
    return turn(a, b, point) < 0 || turn(b, c, point) < 0 || turn(c, a, point) < 0;
  });
}

function turn([ax, ay]: PairOfPoints, [bx, by]: PairOfPoints, [cx, cy]: PairOfPoints): number {
  return (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
}
