/** Values out of a job's output, such as a score: what `output.values` asks for. */
import { valueAt, type JsonObject } from '../../lib/text/json.ts';
import type { PictureOutput } from './picture.ts';

/** One entry of `output.values`. */
export interface NamedValue {
  name: string;
  /** Where it is: keys, outermost first. */
  at: string[];
}

type Values = Record<string, number | string | boolean>;

/** By name: numbers, texts, true and false; what is not there has no entry, nor has anything else that is at its place. */
export function valuesIn(output: PictureOutput | undefined, asked: readonly NamedValue[]): Values {
  const values: Values = {};
  for (const { name, at } of asked) {
    const value = keptAt(output, at);
    if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
      values[name] = value;
  }
  return values;
}

/** Names of those at whose place there is something else. */
export function oddValues(output: PictureOutput | undefined, asked: readonly NamedValue[]): string[] {
  return asked.flatMap(({ name, at }) => (typeof keptAt(output, at) === 'object' ? [name] : []));
}

function keptAt({ rest = {} }: PictureOutput = {}, at: readonly string[]): unknown {
  const joined = at.join('.');
  return Object.hasOwn(rest, joined) ? valueAt(rest[joined], []) : valueAt(rest, at);
}

/** The columns of a row with its values, which go before columns of their names. */
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
