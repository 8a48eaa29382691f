/** Triangulates outlines with a thickness: two faces, a bevel that catches the light, and the sides. */
import { long } from '../exact.ts';
import type { Builder } from './builder.ts';

type Pair = readonly [x: number, y: number];

export function addSlab(builder: Builder, outline: readonly Pair[], depth: number): void {
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

function counterclockwise(outline: readonly Pair[]): readonly Pair[] {
  let area = 0;
  for (const [index, [x, y]] of outline.entries()) {
    const [nextX, nextY] = outline[(index + 1) % outline.length] ?? [0, 0];
    area += x * nextY - nextX * y;
  }
  return area < 0 ? outline.toReversed() : outline;
}

function at(list: readonly Pair[], index: number): Pair {
  return list[(index + list.length) % list.length] ?? [0, 0];
}

/** Direction away from the side that follows a corner. */
function outward(corners: readonly Pair[], index: number): Pair {
  const [[x, y], [nextX, nextY]] = [at(corners, index), at(corners, index + 1)];
  const by = 1 / (long(nextX - x, nextY - y, 0) || 1);
  return [(nextY - y) * by, (x - nextX) * by];
}

function insetAt(corners: readonly Pair[], index: number, by: number): Pair {
  const [[ax, ay], [bx, by_], [x, y]] = [
    outward(corners, index - 1),
    outward(corners, index),
    at(corners, index),
  ];
  const share = by / Math.max(0.35, 1 + ax * bx + ay * by_);
  return [x - (ax + bx) * share, y - (ay + by_) * share];
}

/** Adds a side from face to face with rounded edges. Corners of less than 40 degrees are smooth. */
function addSide(
  builder: Builder,
  corners: readonly Pair[],
  inset: readonly Pair[],
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
    const [outer, inner] = [at(corners, corner), at(inset, corner)];
    const add = ([px, py]: Pair, z: number, flat: number): void =>
      builder.addPoint(px, py, z, nx * (1 - Math.abs(flat)), ny * (1 - Math.abs(flat)), flat);
    add(inner, half, 0.8);
    add(outer, half - bevel, 0.15);
    add(outer, bevel - half, -0.15);
    add(inner, -half, -0.8);
  }
  builder.mesh.addGrid(first, 2, 4);
}

function triangled(corners: readonly Pair[]): [number, number, number][] {
  const left = corners.map((_, index) => index);
  const triangles: [number, number, number][] = [];
  while (left.length > 2) {
    const ear = left.findIndex((_, index) => isEar(corners, left, index));
    const [before, own, after] = around(left, Math.max(0, ear));
    triangles.push([before, own, after]);
    left.splice(Math.max(0, ear), 1);
  }
  return triangles;
}

function around(left: readonly number[], index: number): [number, number, number] {
  const of = (step: number): number => left[(index + step + left.length) % left.length] ?? 0;
  return [of(-1), of(0), of(1)];
}

function isEar(corners: readonly Pair[], left: readonly number[], index: number): boolean {
  const [before, own, after] = around(left, index);
  const [a, b, c] = [at(corners, before), at(corners, own), at(corners, after)];
  if (turn(a, b, c) <= 0) return false;
  return left.every((other) => {
    if (other === before || other === own || other === after) return true;
    const point = at(corners, other);
    return turn(a, b, point) < 0 || turn(b, c, point) < 0 || turn(c, a, point) < 0;
  });
}

function turn([ax, ay]: Pair, [bx, by]: Pair, [cx, cy]: Pair): number {
  return (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
}
