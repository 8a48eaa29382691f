/** Points as they are written in SVG: "x y, x y", or with a third number each; or a list where they are worked out. */

export type Points<Point extends readonly number[]> = string | readonly Point[];

export function pointsOf<Point extends readonly number[]>(points: Points<Point>): readonly Point[] {
  if (typeof points !== 'string') return points;
  return points.split(', ').map((point) => point.split(' ').map(Number) as readonly number[] as Point);
}
