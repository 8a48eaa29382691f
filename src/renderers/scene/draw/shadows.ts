/** Shadows: how much of sun and sky reaches a point, by height maps from the direction of the sun and from above. */
import type { PicturePlan } from '../plan-picture.ts';
import { cross, long, mean, minus, normal, snapped, type Vector } from '../vector.ts';
import { type Extent, fillTriangle, makeSamples, type Mesh, pointSize, samplesOfAPixel } from './mesh.ts';

/** A square map of the heights of the farthest points in a direction. */
interface HeightMap {
  cells: number;
  heights: Float32Array;
  /** Cells for each metre. */
  scale: number;
  center: Vector;
  right: Vector;
  above: Vector;
  toward: Vector;
}

const nothing = -1e9;

export class Shadows {
  readonly #sun: HeightMap;
  readonly #sky: HeightMap;
  readonly #size: number;
  readonly #contact: Float32Array;

  /** Only triangles of things whose patch passes `doesThrow` throw shadows. */
  constructor(
    mesh: Mesh,
    plan: PicturePlan,
    things: Extent,
    width: number,
    doesThrow: (patch: number) => boolean,
  ) {
    const low = snapped(plan.box.low);
    const high = snapped(plan.box.high);
    const center = mean(low, high);
    const reach = 0.62 * long(...minus(high, low)) + 0.2;
    this.#size = reach;
    this.#sun = emptyMap(
      Math.min(512, 96 + width),
      reach * 1.05,
      center,
      normal(snapped(plan.daylight.sunAt)),
    );
    this.#sky = emptyMap(160, reach * 1.7, center, [0, 1, 0]);
    this.#sun.heights = fill(this.#sun, mesh, things, doesThrow);
    this.#sky.heights = fill(this.#sky, mesh, things, doesThrow);
    this.#contact = this.#groundOf(Math.max(0, low[1]) + 0.02);
  }

  /** Computes a map of the light on the ground, which things on and above it darken. */
  #groundOf(height: number): Float32Array {
    const { cells, scale, center } = this.#sky;
    const map = new Float32Array(cells * cells);
    for (let cell = 0; cell < map.length; cell += 1) {
      const x = ((cell % cells) + 0.5 - cells / 2) / scale + center[0];
      const z = (Math.floor(cell / cells) + 0.5 - cells / 2) / scale + center[2];
      map[cell] = 0.3 + 0.7 * this.skyAt(x, height, z);
    }
    return map;
  }

  /** Share of the sun at a point: 0 is in shadow, with soft edges. */
  sunAt(x: number, y: number, z: number): number {
    const map = this.#sun;
    const { right, above, toward, center, scale, cells, heights } = map;
    const dx = x - center[0];
    const dy = y - center[1];
    const dz = z - center[2];
    const u = (dx * right[0] + dy * right[1] + dz * right[2]) * scale + cells / 2 - 0.5;
    const v = (dx * above[0] + dy * above[1] + dz * above[2]) * scale + cells / 2 - 0.5;
    if (!(u > 3 && v > 3 && u < cells - 5 && v < cells - 5)) return 1;
    const height = dx * toward[0] + dy * toward[1] + dz * toward[2] + 1.6 / scale;
    const column = Math.floor(u);
    const row = Math.floor(v);
    const fu = u - column;
    const fv = v - row;
    let lit = 0;
    for (let down = -1; down <= 2; down += 1) {
      const weight = down === -1 ? 1 - fv : down === 2 ? fv : 1;
      const at = (row + down) * cells + column;
      const ends =
        ((heights[at - 1] ?? 0) < height ? 1 - fu : 0) + ((heights[at + 2] ?? 0) < height ? fu : 0);
      const middle = ((heights[at] ?? 0) < height ? 1 : 0) + ((heights[at + 1] ?? 0) < height ? 1 : 0);
      lit += weight * (ends + middle);
    }
    return lit / 9;
  }

  /** Share of the sky at a point, from 0 to 1: lower beneath and beside other things. */
  skyAt(x: number, y: number, z: number): number {
    const { center, scale, cells, heights } = this.#sky;
    const u = (x - center[0]) * scale + cells / 2;
    const v = (z - center[2]) * scale + cells / 2;
    if (!(u > 9 && v > 9 && u < cells - 9 && v < cells - 9)) return 1;
    const height = y - center[1];
    let hidden = 0;
    for (let tap = 0; tap < taps.length; tap += 3) {
      const cell = Math.floor(v + (taps[tap + 1] ?? 0)) * cells + Math.floor(u + (taps[tap] ?? 0));
      const over = ((heights[cell] ?? 0) - height) * scale * (taps[tap + 2] ?? 0);
      hidden += over > 1 ? 1 : over > 0 ? over : 0;
    }
    const du = Math.abs(u / cells - 0.5);
    const dv = Math.abs(v / cells - 0.5);
    const edge = Math.min(1, (0.5 - Math.max(du, dv)) * 9 - 0.5);
    return 1 - (hidden * 3 * edge) / taps.length;
  }

  /** Share of light on the ground: dark where something stands on it. */
  contactAt(x: number, z: number): number {
    const { center, scale, cells } = this.#sky;
    const u = (x - center[0]) * scale + cells / 2 - 0.5;
    const v = (z - center[2]) * scale + cells / 2 - 0.5;
    if (!(u > 1 && v > 1 && u < cells - 2 && v < cells - 2)) return 1;
    const column = Math.floor(u);
    const row = Math.floor(v);
    const fu = u - column;
    const fv = v - row;
    const at = row * cells + column;
    const map = this.#contact;
    const upper = (map[at] ?? 0) * (1 - fu) + (map[at + 1] ?? 0) * fu;
    const lower = (map[at + cells] ?? 0) * (1 - fu) + (map[at + cells + 1] ?? 0) * fu;
    return upper * (1 - fv) + lower * fv;
  }

  get size(): number {
    return this.#size;
  }
}

/** Offset in x, offset in z, and 1 / distance, in cells of the map from above. */
const taps = Float64Array.from([
  1.5, 0.5, 0.5, -0.5, 1.5, 0.5, -1.5, -0.5, 0.5, 0.5, -1.5, 0.5, 4, 3, 0.18, -3, 4, 0.18, -4, -3, 0.18, 3,
  -4, 0.18,
]);

function emptyMap(cells: number, reach: number, center: Vector, toward: Vector): HeightMap {
  const right = toward[1] > 0.999 ? ([1, 0, 0] as const) : normal([toward[2], 0, -toward[0]]);
  const above: Vector = toward[1] > 0.999 ? [0, 0, 1] : cross(toward, right);
  return { cells, heights: new Float32Array(0), scale: cells / 2 / reach, center, right, above, toward };
}

/** Draws the triangles. A line of samples is a line of cells, so v is divided by a pixel's samples. */
function fill(
  map: HeightMap,
  mesh: Mesh,
  { points, triangles }: Extent,
  doesThrow: (patch: number) => boolean,
): Float32Array {
  const { cells, scale, center, right, above, toward } = map;
  const seen = new Float32Array(points * 3);
  for (let point = 0; point < points; point += 1) {
    const at = point * pointSize;
    const x = mesh.points[at] ?? 0;
    const y = mesh.points[at + 1] ?? 0;
    const z = mesh.points[at + 2] ?? 0;
    const dx = x - center[0];
    const dy = y - center[1];
    const dz = z - center[2];
    seen[point * 3] = (dx * right[0] + dy * right[1] + dz * right[2]) * scale + cells / 2;
    seen[point * 3 + 1] =
      ((dx * above[0] + dy * above[1] + dz * above[2]) * scale + cells / 2) / samplesOfAPixel;
    seen[point * 3 + 2] = dx * toward[0] + dy * toward[1] + dz * toward[2];
  }
  const samples = makeSamples(cells, cells, [0.5, 0.5, 0.5, 0.5]);
  samples.near.fill(nothing);
  for (let triangle = 0; triangle < triangles; triangle += 1) {
    if (!doesThrow(mesh.patches[triangle] ?? 0)) continue;
    const a = (mesh.corners[triangle * 3] ?? 0) * 3;
    const b = (mesh.corners[triangle * 3 + 1] ?? 0) * 3;
    const c = (mesh.corners[triangle * 3 + 2] ?? 0) * 3;
    fillTriangle(samples, seen, a, b, c, 0);
  }
  return samples.near;
}
