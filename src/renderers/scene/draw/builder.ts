/** Adds the points of a part to a mesh in their place, and decides how fine the part must be. */
import { long } from '../exact.ts';
import type { Vector } from '../vector.ts';
import { pointSize, type Mesh } from './mesh.ts';

/** A linear transformation, given by the rows of its matrix, and the position of the origin. */
export interface Placement {
  rows: readonly [Vector, Vector, Vector];
  at: Vector;
  scale: number;
}

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

  /** Returns the index of the patch's first point. */
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
