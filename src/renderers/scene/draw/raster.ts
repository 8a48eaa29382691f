/** A depth buffer: finds the nearest triangle at each sample of some lines. */

/** Number of samples in a pixel. Each is on its own line, with its own offset to the right. */
export const samplesOfAPixel = 4;
const asides = [0.375, 0.875, 0.125, 0.625] as const;

export interface Samples {
  width: number;
  /** First line of samples, and number of lines. */
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
