/** A plan's things and what is around them → one mesh. */
import type { AnyPart, Piece } from '../around/backdrops.ts';
import type { Standing } from '../layout/cluster.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { plus, type Vector } from '../vector.ts';
import { cosine, sine, snap, snapped } from '../exact.ts';
import { depthOf, type Eye } from './eye.ts';
import { Mesh, type Extent } from './mesh.ts';
import { Builder, type Placement } from './builder.ts';
import { addSolid } from './solids.ts';
import { soilOf } from '../around/ground.ts';
import { addGrass, farTrees } from './verdure.ts';
import type { Surfaces } from './surfaces.ts';

type Rows = Placement['rows'];

/** What is of things comes first. */
export function buildMesh(
  plan: PicturePlan,
  around: readonly Piece[],
  eye: Eye,
  surfaces: Surfaces,
): { mesh: Mesh; things: Extent } {
  const mesh = new Mesh();
  for (const thing of plan.things) {
    const place = placementOf(thing);
    for (const part of thing.parts) addPart(mesh, part, place, eye, surfaces);
  }
  const things = { points: mesh.pointCount, triangles: mesh.triangleCount };
  const here: Placement = { rows: product(turnOf([0, 0, 0]), turnOf([0, 0, 0]), 1), at: [0, 0, 0], scale: 1 };
  for (const { name, parts } of around) {
    for (const part of parts) {
      if (name !== 'city') addPart(mesh, part, here, eye, surfaces);
      // The windows of far towers are a pattern of their walls.
      else if (part.paint.material === 'matt')
        addPart(mesh, { ...part, paint: { ...part.paint, material: 'tower' } }, here, eye, surfaces);
    }
  }
  for (const part of farTrees(plan)) addPart(mesh, part, here, eye, surfaces);
  addGrass(mesh, plan, soilOf(plan), surfaces, eye.width);
  return { mesh, things };
}

export function placementOf({ at, yaw, lean, scale }: Standing): Placement {
  const rows = product(turnOf([0, yaw, 0]), turnOf([0, 0, lean]), snap(scale));
  return { rows, at: snapped(at), scale: snap(scale) };
}

function addPart(mesh: Mesh, part: AnyPart, whole: Placement, eye: Eye, surfaces: Surfaces): void {
  const at = plus(turned(whole.rows, snapped(part.at)), whole.at);
  const placement = { rows: product(whole.rows, turnOf(part.turn), 1), at, scale: whole.scale };
  const depth = Math.max(0.3, depthOf(eye, ...at));
  const surface = surfaces.of(part.paint.colour, part.paint.material);
  const isClosed = closed.has(part.shape.kind) && part.paint.material !== 'glass';
  addSolid(new Builder(mesh, placement, (eye.focal / depth) * whole.scale, surface, isClosed), part.shape);
}

const closed: ReadonlySet<string> = new Set(['box', 'ball', 'post', 'ring', 'slab', 'lump']);

/** Around x, then y, then z. */
function turnOf(turn: Vector): Rows {
  const [[a, b], [c, d], [e, f]] = snapped(turn).map(
    (angle) => [cosine(angle), sine(angle)] as const,
  ) as unknown as [[number, number], [number, number], [number, number]];
  return [
    [c * e, -c * f, d],
    [a * f + b * e * d, a * e - b * f * d, -b * c],
    [b * f - a * e * d, b * e + a * f * d, a * c],
  ];
}

export function turned([a, b, c]: Rows, [x, y, z]: Vector): Vector {
  return [a[0] * x + a[1] * y + a[2] * z, b[0] * x + b[1] * y + b[2] * z, c[0] * x + c[1] * y + c[2] * z];
}

function product(left: Rows, right: Rows, scale: number): Rows {
  const column = (axis: 0 | 1 | 2): Vector => turned(left, [right[0][axis], right[1][axis], right[2][axis]]);
  const [x, y, z] = [column(0), column(1), column(2)];
  const row = (axis: 0 | 1 | 2): Vector => [x[axis] * scale, y[axis] * scale, z[axis] * scale];
  return [row(0), row(1), row(2)];
}
