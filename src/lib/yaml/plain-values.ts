/** Numbers, paths and switches, as a pipeline.yaml has them. */
import { z } from 'zod';

export const count = (min: number, max: number, what: string) => {
  const expected = `${what}, a whole number from ${min} to ${max}`;
  return z.int(expected).min(min, expected).max(max, expected);
};

export const path = z.string('a path').min(1, 'a path');
export const flag = z.boolean('true or false').default(false);

export const money = (what: string) => z.number(what).positive(what);
