/** Triangles for the renderer: points with normals, the surface of each triangle, and the samples that it covers. */

/** Numbers for each point: its position in the world, its normal, and its position in its part. */
export const pointSize = 9;

export interface Extent {
  points: number;
  triangles: number;
}

export class Mesh {
  points = new Float32Array(pointSize * 8192);
  pointCount = 0;
  corners = new Int32Array(3 * 8192);
  /** Patch of each triangle. One sample of a pixel stands for all of the same smooth patch. */
  patches = new Int32Array(8192);
  triangleCount = 0;
  readonly surfaces: number[] = [];
  /** For each patch: true if it belongs to a closed part, whose back is never seen. */
  readonly closed: boolean[] = [];

  beginPatch(surface: number, isClosed = false): void {
    this.surfaces.push(surface);
    this.closed.push(isClosed);
  }

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

/** Number of samples in a pixel. Each is on its own line, with its own offset to the right. */
export const samplesOfAPixel = 4;
const asides = [0.375, 0.875, 0.125, 0.625] as const;

/** A depth buffer: the nearest triangle at each sample of some lines. */
export interface Samples {
  width: number;
  top: number;
  lines: number;
  /** 1 / depth; larger is nearer. */
  near: Float32Array;
  ids: Int32Array;
  /** Offset of the samples of a line from the left side of their pixel. */
  asides: readonly number[];
}

export function makeSamples(width: number, lines: number, aside: readonly number[] = asides): Samples {
  const near = new Float32Array(width * lines);
  const ids = new Int32Array(width * lines);
  return { width, top: 0, lines, near, ids, asides: aside };
}

/** Fills samples that the triangle covers and is nearest at. `a`, `b`, `c`: indexes of its corners in `seen`. */
export function fillTriangle(
  samples: Samples,
  seen: Float32Array,
  a: number,
  b: number,
  c: number,
  id: number,
): void {
  // Sort corners from top to bottom, so that neighbours compute a shared edge identically.
  let first = a;
  let second = b;
  let third = c;
  if ((seen[first + 1] ?? 0) > (seen[second + 1] ?? 0)) {
    first = b;
    second = a;
  }
  if ((seen[second + 1] ?? 0) > (seen[third + 1] ?? 0)) {
    third = second;
    second = c;
  }
  if ((seen[first + 1] ?? 0) > (seen[second + 1] ?? 0)) {
    const lower = first;
    first = second;
    second = lower;
  }
  const ax = seen[first] ?? 0;
  const ay = seen[first + 1] ?? 0;
  const az = seen[first + 2] ?? 0;
  const bx = seen[second] ?? 0;
  const by = seen[second + 1] ?? 0;
  const bz = seen[second + 2] ?? 0;
  const cx = seen[third] ?? 0;
  const cy = seen[third + 1] ?? 0;
  const cz = seen[third + 2] ?? 0;
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  if (area * area < 1e-16) return;
  const across = ((bz - az) * (cy - ay) - (cz - az) * (by - ay)) / area;
  const along = ((cz - az) * (bx - ax) - (bz - az) * (cx - ax)) / area;
  const { width, top, near, ids } = samples;
  const begin = Math.max(top, Math.ceil(ay * samplesOfAPixel - 0.5));
  const end = Math.min(top + samples.lines, Math.ceil(cy * samplesOfAPixel - 0.5));
  const whole = (cx - ax) / (cy - ay);
  const upper = by > ay ? (bx - ax) / (by - ay) : 0;
  const lower = cy > by ? (cx - bx) / (cy - by) : 0;
  for (let line = begin; line < end; line += 1) {
    const y = (line + 0.5) / samplesOfAPixel;
    const aside = samples.asides[line & 3] ?? 0;
    const one = ax + (y - ay) * whole;
    const other = y < by ? ax + (y - ay) * upper : bx + (y - by) * lower;
    const from = Math.max(0, Math.ceil((one < other ? one : other) - aside));
    const to = Math.min(width, Math.ceil((one < other ? other : one) - aside));
    let nearness = az + (from + aside - ax) * across + (y - ay) * along;
    const row = (line - top) * width;
    for (let at = row + from; at < row + to; at += 1) {
      if (nearness > (near[at] ?? 0)) {
        near[at] = nearness;
        ids[at] = id;
      }
      nearness += across;
    }
  }
}
