/** Values out of a job's output, such as a score: what `output.values` asks for. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { PictureOutput } from './picture.ts';

/** One entry of `output.values`. */
export interface NamedValue {
  name: string;
  /** Where it is: keys, outermost first. */
  at: string[];
}

/** By name: numbers, texts, true and false; what is not there has no entry, nor has anything else that is at its place. */
export function valuesIn({ rest = {} }: PictureOutput = {}, asked: readonly NamedValue[]): JsonObject {
  const found = asked.map(({ name, at }) => [name, valueAt(rest, at)] as const);
  return Object.fromEntries(
    found.filter(
      (entry): entry is [string, JsonValue] => entry[1] !== undefined && typeof entry[1] !== 'object',
    ),
  );
}

/** Names of those at whose place there is something else. */
export function oddValues({ rest = {} }: PictureOutput, asked: readonly NamedValue[]): string[] {
  return asked.flatMap(({ name, at }) => {
    const value = valueAt(rest, at);
    return typeof value === 'object' && value !== null ? [name] : [];
  });
}

/** A list of one counts as its item. */
function valueAt(rest: JsonObject, at: readonly string[]): JsonValue | undefined {
  const sole = (value: JsonValue | undefined): JsonValue | undefined =>
    Array.isArray(value) && value.length === 1 ? value[0] : value;
  return at.reduce<JsonValue | undefined>((value, key) => {
    const within = sole(value);
    return isJsonObject(within) && Object.hasOwn(within, key) ? sole(within[key]) : undefined;
  }, rest);
}
