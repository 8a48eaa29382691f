/** Triangles for the renderer: points with normals, and the surface of each triangle. */

/** Numbers for each point: its position in the world, its normal, and its position in its part. */
export const pointSize = 9;

/** The first points and triangles of a mesh. */
export interface Extent {
  points: number;
  triangles: number;
}

export class Mesh {
  points = new Float32Array(pointSize * 8192);
  pointCount = 0;
  corners = new Int32Array(3 * 8192);
  /**
   * Patch of each triangle. Patches are smooth, so one sample of a pixel stands for all that show the same
   * patch.
   */
  patches = new Int32Array(8192);
  triangleCount = 0;
  /** Surface of each patch. */
  readonly surfaces: number[] = [];
  /** For each patch: true if it belongs to a closed part, whose back is never seen. */
  readonly closed: boolean[] = [];

  beginPatch(surface: number, isClosed = false): void {
    this.surfaces.push(surface);
    this.closed.push(isClosed);
  }

  /** Returns the index of a new point. */
  addPoint(): number {
    if ((this.pointCount + 1) * pointSize > this.points.length) this.points = doubled(this.points);
    this.pointCount += 1;
    return this.pointCount - 1;
  }

  addTriangle(a: number, b: number, c: number, patch = this.surfaces.length - 1): void {
    if (this.triangleCount === this.patches.length) {
      this.patches = doubled(this.patches);
      this.corners = doubled(this.corners);
    }
    const at = this.triangleCount * 3;
    this.corners[at] = a;
    this.corners[at + 1] = b;
    this.corners[at + 2] = c;
    this.patches[this.triangleCount] = patch;
    this.triangleCount += 1;
  }

  /** Adds two triangles for each cell of a grid of points, which were added row by row. */
  addGrid(first: number, rows: number, columns: number): void {
    for (let row = 0; row + 1 < rows; row += 1) {
      for (let column = 0; column + 1 < columns; column += 1) {
        const at = first + row * columns + column;
        this.addTriangle(at, at + 1, at + columns);
        this.addTriangle(at + 1, at + columns + 1, at + columns);
      }
    }
  }

  /** Cuts off everything with a negative distance. */
  clip(distanceOf: (x: number, y: number, z: number) => number): void {
    const { points, corners } = this;
    const distances = new Float64Array(this.pointCount);
    for (let point = 0, at = 0; point < distances.length; point += 1, at += pointSize)
      distances[point] = distanceOf(points[at] ?? 0, points[at + 1] ?? 0, points[at + 2] ?? 0);
    const count = this.triangleCount * 3;
    for (let at = 0; at < count; at += 3) {
      const [a, b, c] = [corners[at] ?? 0, corners[at + 1] ?? 0, corners[at + 2] ?? 0];
      const [isA, isB, isC] = [(distances[a] ?? 0) >= 0, (distances[b] ?? 0) >= 0, (distances[c] ?? 0) >= 0];
      if (isA && isB && isC) continue;
      if (isA || isB || isC) this.#addClipped([a, b, c], distances, this.patches[at / 3] ?? 0);
      this.corners.fill(0, at, at + 3);
    }
  }

  #addClipped(corners: readonly number[], distances: Float64Array, patch: number): void {
    const kept: number[] = [];
    for (const [index, from] of corners.entries()) {
      const to = corners[(index + 1) % 3] ?? 0;
      const [here, there] = [distances[from] ?? 0, distances[to] ?? 0];
      if (here >= 0) kept.push(from);
      if (here >= 0 !== there >= 0) kept.push(this.#addBetween(from, to, here / (here - there)));
    }
    const [a = 0, b = 0, c = 0, d] = kept;
    this.addTriangle(a, b, c, patch);
    if (d !== undefined) this.addTriangle(a, c, d, patch);
  }

  #addBetween(from: number, to: number, share: number): number {
    const added = this.addPoint();
    for (let part = 0; part < pointSize; part += 1) {
      const one = this.points[from * pointSize + part] ?? 0;
      const other = this.points[to * pointSize + part] ?? 0;
      this.points[added * pointSize + part] = one + (other - one) * share;
    }
    return added;
  }
}

function doubled<List extends Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>>(list: List): List {
  const larger =
    list instanceof Float32Array ? new Float32Array(list.length * 2) : new Int32Array(list.length * 2);
  larger.set(list);
  return larger as List;
}
