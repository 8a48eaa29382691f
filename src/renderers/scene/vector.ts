/** Points and directions in space, and arithmetic that gives the same bits on every machine; pure. */

export type Vector = readonly [x: number, y: number, z: number];
export type Axis = 0 | 1 | 2;

export function each(value: (axis: Axis) => number): Vector {
  return [value(0), value(1), value(2)];
}

export function plus(one: Vector, other: Vector): Vector {
  return [one[0] + other[0], one[1] + other[1], one[2] + other[2]];
}

export function minus(one: Vector, other: Vector): Vector {
  return [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
}

export function times(vector: Vector, by: number): Vector {
  return [vector[0] * by, vector[1] * by, vector[2] * by];
}

export function mean(one: Vector, other: Vector): Vector {
  return each((axis) => (one[axis] + other[axis]) / 2);
}

export function dot(one: Vector, other: Vector): number {
  return one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
}

export function cross(one: Vector, other: Vector): Vector {
  return [
    one[1] * other[2] - one[2] * other[1],
    one[2] * other[0] - one[0] * other[2],
    one[0] * other[1] - one[1] * other[0],
  ];
}

export function lengthOf(vector: Vector): number {
  return Math.hypot(...vector);
}

export function unit(vector: Vector): Vector {
  return times(vector, 1 / (lengthOf(vector) || 1));
}

/** Unit vector: turned by `around` from +z towards +x, and raised by `up`, in radians. */
export function toward(around: number, up: number): Vector {
  return [Math.sin(around) * Math.cos(up), Math.sin(up), Math.cos(around) * Math.cos(up)];
}

/** Returns two directions perpendicular to `back`: to the right, level, and upwards. */
export function across(back: Vector): [right: Vector, above: Vector] {
  const right = unit([back[2], 0, -back[0]]);
  return [right, cross(back, right)];
}

/** Rounds off the last bits, which differ between machines for Math.sin. All drawing starts from these. */
export function snap(value: number): number {
  return Math.round(value * 0x10_0000) / 0x10_0000;
}

export function snapped(vector: Vector): Vector {
  return each((axis) => snap(vector[axis]));
}

/** Sine with seven correct digits, and the same bits on every machine and version of Node, unlike Math.sin. */
export function sine(angle: number): number {
  const turns = angle / (2 * Math.PI);
  let x = (turns - Math.floor(turns + 0.5)) * 4;
  if (x > 1) x = 2 - x;
  if (x < -1) x = -2 - x;
  const y = x * x;
  const small = 0.079692626246167 + y * (-0.00468175413531869 + y * 0.000160441184787);
  return x * (1.5707963267948966 + y * (-0.645964097506246 + y * small));
}

export function cosine(angle: number): number {
  return sine(angle + Math.PI / 2);
}

/** Approximates `Math.exp(-value)`. */
export function falling(value: number): number {
  const slow = 1 + value * (0.25 + value * 0.03125);
  return 1 / (slow * slow * slow * slow);
}

export function long(x: number, y: number, z: number): number {
  return Math.sqrt(x * x + y * y + z * z);
}

export function normal(vector: Vector): Vector {
  const by = 1 / (long(...vector) || 1);
  return each((axis) => vector[axis] * by);
}

/** A list of points, as an array or as text in the notation of SVG: "x y, x y", or with three numbers each. */
export type Points<Point extends readonly number[]> = string | readonly Point[];

export function pointsOf<Point extends readonly number[]>(points: Points<Point>): readonly Point[] {
  if (typeof points !== 'string') return points;
  return points.split(', ').map((point) => point.split(' ').map(Number) as readonly number[] as Point);
}
