/** Values from a job's output, such as a score, as `output.values` defines them. */
import { valueAt, type JsonObject } from '../../lib/text/json.ts';
import type { PictureOutput } from './picture.ts';

/** One entry of `output.values`. */
export interface NamedValue {
  name: string;
  /** Path in the output: keys, outermost first. */
  at: string[];
}

type Values = Record<string, number | string | boolean>;

/** Returns numbers, texts and booleans by name. Missing values and values of other types are left out. */
export function valuesIn(output: PictureOutput | undefined, asked: readonly NamedValue[]): Values {
  const values: Values = {};
  for (const { name, at } of asked) {
    const value = keptAt(output, at);
    if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
      values[name] = value;
  }
  return values;
}

/** Returns the names of values whose path holds an object, a list or null. */
export function oddValues(output: PictureOutput | undefined, asked: readonly NamedValue[]): string[] {
  return asked.flatMap(({ name, at }) => (typeof keptAt(output, at) === 'object' ? [name] : []));
}

function keptAt({ rest = {} }: PictureOutput = {}, at: readonly string[]): unknown {
  const joined = at.join('.');
  return Object.hasOwn(rest, joined) ? valueAt(rest[joined], []) : valueAt(rest, at);
}

/** Returns the columns of a row together with its values. A value replaces a column of the same name. */
export function withValues(
  columns: JsonObject,
  output: PictureOutput | undefined,
  asked: readonly NamedValue[],
): JsonObject {
  if (asked.length === 0) return columns;
  const names = new Set(asked.map(({ name }) => name));
  const others = Object.entries(columns).filter(([name]) => !names.has(name));
  return { ...Object.fromEntries(others), ...valuesIn(output, asked) };
}
