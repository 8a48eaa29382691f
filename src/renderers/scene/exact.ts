/** Arithmetic with the same bits on every machine and version of Node, unlike Math.sin, Math.pow and the like. */
import { each, type Vector } from './vector.ts';

/**
 * Rounds off the last bits, which may differ if a number comes from Math.sin. All drawing starts from such
 * numbers.
 */
export function snap(value: number): number {
  return Math.round(value * 0x10_0000) / 0x10_0000;
}

export function snapped(vector: Vector): Vector {
  return each((axis) => snap(vector[axis]));
}

/** Sine with seven correct digits. */
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
