/** Statistics that summarize many numbers. */

export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** Returns the smallest value that at least `share` (0 to 1) of the values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  return ascending(values)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface Point {
  x: number;
  y: number;
}

/** Returns the median of the slopes between all pairs of points (Theil and Sen). A few outliers hardly change it. */
export function slope(points: readonly Point[]): number {
  const kept = thinned(points);
  return median(
    kept.flatMap((a, i) =>
      kept.slice(i + 1).flatMap((b) => (b.x === a.x ? [] : [(b.y - a.y) / (b.x - a.x)])),
    ),
  );
}

/** Limits the points, because the number of pairs grows with its square. */
const mostPoints = 400;

function thinned(points: readonly Point[]): Point[] {
  const step = Math.ceil(points.length / mostPoints);
  return points.filter((_, i) => i % step === 0);
}

function ascending(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b);
}
