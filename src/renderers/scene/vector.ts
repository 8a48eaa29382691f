/** Points and directions in space; pure. */

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
