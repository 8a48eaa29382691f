/** Shapes of parts → triangles, with as many corners as can be told apart in the picture. */
import { cloudNoise } from '../picture/noise.ts';
import type { AnyShape } from '../around/backdrops.ts';
import { lathe, tube, turns, curve } from '../things/sheets.ts';
import { cross, each, minus, plus, times, type Vector } from '../vector.ts';
import { normal, snap, snapped } from '../exact.ts';
import type { Builder } from './builder.ts';
import { addSlab } from './slabs.ts';

type Pair = readonly [out: number, up: number];

export function addSolid(builder: Builder, shape: AnyShape): void {
  switch (shape.kind) {
    case 'box':
      return addBox(builder, snapped(shape.size), shape.rounding);
    case 'ball':
      return addBall(builder, snapped(shape.size), 0, 0);
    case 'lump':
      return addBall(builder, snapped(shape.size), shape.bumps, shape.seed);
    case 'post': {
      const [above, below, half] = [snap(shape.top), snap(shape.bottom), snap(shape.height) / 2];
      const sides = Math.min(shape.sides, builder.sidesOf(Math.max(above, below)));
      return addLathe(
        builder,
        [
          [0, -half],
          [below, -half],
          [above, half],
          [0, half],
        ],
        sides,
        0.7,
      );
    }
    case 'ring': {
      const [radius, thick] = [snap(shape.radius), snap(shape.thickness)];
      const around = turns(builder.sidesOf(thick, 20)).map(([cos, sin]): Pair => [
        radius + thick * cos,
        thick * sin,
      ]);
      return addLathe(builder, around, builder.sidesOf(radius), 0.5);
    }
    case 'turned':
      return addLathe(
        builder,
        shape.profile,
        builder.sidesOf(Math.max(...shape.profile.map(([out]) => out))),
        0.5,
        4,
      );
    case 'slab':
      return addSlab(
        builder,
        shape.outline.map(([x, y]): Pair => [snap(x), snap(y)]),
        snap(shape.depth),
      );
    case 'bend': {
      const steps = Math.max(2, Math.min(8, Math.ceil(builder.sidesOf(shape.radius * 6) / 4)));
      return addSheet(
        builder,
        tube(shape.points.map(snapped), snap(shape.radius), steps, builder.sidesOf(shape.radius, 20)),
      );
    }
    case 'sheet':
      return addSheet(builder, shape.rows);
  }
}

function addBall(builder: Builder, size: Vector, bumps: number, seed: number): void {
  const sides = builder.sidesOf(Math.max(...size) * (bumps > 0 ? 0.7 : 0.5));
  const arc = turns(sides).slice(0, sides / 2 + 1);
  const rows = lathe(
    arc.map(([cos, sin]) => [sin / 2, -cos / 2] as const),
    turns(sides),
  );
  const bumpy = ([x, y, z]: Vector): Vector => {
    const by = bumps > 0 ? 1 + bumps * 1.6 * cloudNoise(x * 4 + seed * 7.3, y * 4, z * 4, 3) : 1;
    return [x * by * size[0], y * by * size[1], z * by * size[2]];
  };
  addSheet(
    builder,
    rows.map((row) => row.map(bumpy)),
  );
}

/** An outline turned around the axis: smooth where two of its steps nearly agree, with an edge elsewhere. */
function addLathe(builder: Builder, given: readonly Pair[], sides: number, smooth: number, steps = 1): void {
  const profile = given.map(([out, up]): Vector => [snap(out), snap(up), 0]);
  const slopes = profile.slice(1).map((point, index) => normal(minus(point, profile[index] ?? point)));
  const around = turns(sides);
  let begin = 0;
  for (const [index, [out, up]] of slopes.entries()) {
    const next = slopes[index + 1];
    if (next !== undefined && out * next[0] + up * next[1] > smooth) continue;
    const run = curve(profile.slice(begin, index + 2), index > begin ? steps : 1);
    const outline = run.map(([x, y]): Pair => [Math.max(0, x), y]);
    if (sides >= 8) addSheet(builder, lathe(outline, around));
    else
      for (let side = 0; side < sides; side += 1)
        addSheet(builder, lathe(outline, around.slice(side, side + 2)));
    begin = index + 1;
  }
}

/** A ball around each corner of an inner box, and what is between. */
function addBox(builder: Builder, size: Vector, rounding: number): void {
  const radius = Math.min(rounding, ...size.map((side) => side / 2)) * 0.999;
  const arc = builder.pixels(radius);
  const shares = arc < 0.7 ? [1] : arc < 5 ? [0, 1] : arc < 16 ? [0, 0.5, 1] : [0, 0.3, 0.6, 1];
  const isSharp = shares.length === 1;
  const inner = each((axis) => size[axis] / 2 - radius);
  if (!isSharp) builder.beginPatch();
  for (const axis of [0, 1, 2] as const) {
    const [u, v] = [((axis + 1) % 3) as 0 | 1 | 2, ((axis + 2) % 3) as 0 | 1 | 2];
    const steps = (along: 0 | 1 | 2): number[] => {
      const out = shares.map((share) => inner[along] + radius * share);
      return [...out.map((step) => -step).toReversed(), ...out];
    };
    const [across, along] = [steps(u), steps(v)];
    for (const side of [-1, 1]) {
      if (isSharp) builder.beginPatch();
      const first = builder.mesh.pointCount;
      for (const a of across) {
        for (const b of along) {
          const at = each((part) => (part === axis ? (side * size[axis]) / 2 : part === u ? a : b));
          const flat = each((part) => (part === axis ? side : 0));
          if (isSharp) {
            builder.addPoint(at, flat);
            continue;
          }
          const within = each((part) => Math.max(-inner[part], Math.min(inner[part], at[part])));
          const out = normal(minus(at, within));
          builder.addPoint(plus(within, times(out, radius)), out);
        }
      }
      builder.mesh.addGrid(first, across.length, along.length);
    }
  }
}

/** Smooth through rows of points; rows whose ends meet go on around. */
function addSheet(builder: Builder, given: readonly (readonly Vector[])[]): void {
  const rows = given.map((row) => row.map(snapped));
  const columns = rows[0]?.length ?? 0;
  const middle = rows[Math.floor(rows.length / 2)] ?? [];
  const isRound = columns > 2 && areSame(middle[0], middle[columns - 1]);
  const pointAt = (row: number, column: number): Vector => {
    const line = rows[Math.max(0, Math.min(rows.length - 1, row))];
    const around = isRound
      ? (column + columns - 1) % (columns - 1)
      : Math.max(0, Math.min(columns - 1, column));
    return line?.[around] ?? [0, 0, 0];
  };
  const first = builder.mesh.pointCount;
  builder.beginPatch();
  for (const [row, line] of rows.entries()) {
    // All points of a pole are one: along it as along its neighbour.
    const isPole = areSame(line[0], line[1]);
    const beside = !isPole ? row : row === 0 ? 1 : row - 1;
    const normals = line.map((_, column) => {
      const along = minus(pointAt(beside, column + 1), pointAt(beside, column - 1));
      return normal(cross(along, minus(pointAt(row + 1, column), pointAt(row - 1, column))));
    });
    const mean = isPole && isRound ? normal(normals.slice(1).reduce(plus)) : null;
    for (const [column, at] of line.entries()) builder.addPoint(at, mean ?? normals[column] ?? [0, 1, 0]);
  }
  builder.mesh.addGrid(first, rows.length, columns);
}

function areSame(one: Vector | undefined, other: Vector | undefined): boolean {
  return one !== undefined && other !== undefined && minus(one, other).every((part) => part * part < 1e-12);
}
