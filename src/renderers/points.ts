/** Lists of points, as arrays or as text in the notation of SVG: "x y, x y", or with three numbers each. */

export type Points<Point extends readonly number[]> = string | readonly Point[];

export function pointsOf<Point extends readonly number[]>(points: Points<Point>): readonly Point[] {
  if (typeof points !== 'string') return points;
  return points.split(', ').map((point) => point.split(' ').map(Number) as readonly number[] as Point);
}
