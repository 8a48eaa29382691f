/** Round shapes as rows of points: turned on a lathe, or a tube along a curve; pure. */
import { cosine, normal, sine } from '../exact.ts';
import { cross, dot, each, minus, plus, times, type Vector } from '../vector.ts';

type Pair = readonly [out: number, up: number];

/** Cosines and sines of a full turn; the last equals the first. */
export function turns(sides: number): Pair[] {
  return Array.from({ length: sides + 1 }, (_, side) => {
    const angle = ((side % sides) / sides) * 2 * Math.PI;
    return [cosine(angle), sine(angle)] as const;
  });
}

export function lathe(profile: readonly Pair[], around: readonly Pair[]): Vector[][] {
  return profile.map(([out, up]) => around.map(([cos, sin]): Vector => [sin * out, up, cos * out]));
}

/** A tube along a curve, without twisting. */
export function tube(points: readonly Vector[], radius: number, steps: number, sides: number): Vector[][] {
  const path = curve(points, steps);
  let side: Vector = [0.3, 0.2, 0.93];
  return path.map((point, step) => {
    const along = normal(minus(path[step + 1] ?? point, path[step - 1] ?? point));
    side = normal(minus(side, times(along, dot(side, along))));
    const other = cross(along, side);
    return turns(sides).map(([cos, sin]) =>
      plus(point, plus(times(side, cos * radius), times(other, sin * radius))),
    );
  });
}

/** Catmull-Rom spline through points, with `steps` steps between neighbours. */
export function curve(points: readonly Vector[], steps: number): Vector[] {
  const from = (index: number): Vector =>
    points[Math.max(0, Math.min(index, points.length - 1))] ?? [0, 0, 0];
  return Array.from({ length: (points.length - 1) * steps + 1 }, (_, step): Vector => {
    const [index, t] = [Math.floor(step / steps), (step % steps) / steps];
    const [a, b, c, d] = [from(index - 1), from(index), from(index + 1), from(index + 2)];
    const bent = (i: 0 | 1 | 2): number =>
      2 * a[i] - 5 * b[i] + 4 * c[i] - d[i] + (3 * (b[i] - c[i]) + d[i] - a[i]) * t;
    return each((axis) => b[axis] + ((c[axis] - a[axis] + bent(axis) * t) * t) / 2);
  });
}
