/** What a job's output says beside its pictures, so much of it as is worth keeping. */
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';

/** Bytes of what is kept, as JSON in UTF-8. */
const maxKeptBytes = 2_000;
/** Longer texts are pictures, or nothing that a value could be. */
const maxTextLength = 500;
const deepest = 6;
const maxKeys = 200;

export interface OutputRest {
  rest: JsonObject;
  /** There was more. */
  isCut?: true;
}

/**
 * The keys of the objects around a picture, innermost first, each as the innermost of them has it; of a list with as many
 * items as there are pictures (`count`) the one of this picture. What is at one of the paths `wanted` (keys, outermost first) goes before all
 * else. Base64 and addresses are left out. Undefined where nothing is left.
 */
export function restOfOutput(
  owners: readonly Record<string, unknown>[],
  { index, count }: { index: number; count: number },
  wanted: readonly (readonly string[])[],
): OutputRest | undefined {
  const all: Record<string, unknown> = Object.assign({}, ...owners.toReversed());
  const first = new Set(wanted.map(([key = '']) => key));
  const keys = Object.keys(all).toSorted((a, b) => Number(first.has(b)) - Number(first.has(a)));
  const rest: JsonObject = {};
  let left = maxKeptBytes;
  let isCut = keys.length > maxKeys;
  const itemOf = (value: unknown): unknown =>
    count > 1 && Array.isArray(value) && value.length === count ? value[index] : value;
  for (const key of keys.slice(0, maxKeys)) {
    const value = isAround(all[key], owners) ? undefined : small(itemOf(all[key]), 0);
    if (value === undefined) continue;
    const bytes = Buffer.byteLength(JSON.stringify({ [key]: value }));
    if (bytes > left) isCut = true;
    else {
      rest[key] = value;
      left -= bytes;
    }
  }
  if (Object.keys(rest).length === 0 && !isCut) return undefined;
  return { rest, ...(isCut && { isCut }) };
}

/** Whether it is what holds one of the objects around the picture: that, or the list that it is in. */
function isAround(value: unknown, owners: readonly unknown[]): boolean {
  return owners.includes(value) || (Array.isArray(value) && value.some((item) => owners.includes(item)));
}

/** Without what is too long for it; undefined where nothing is left. */
function small(value: unknown, depth: number): JsonValue | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.length > maxTextLength || isAddress(value) ? undefined : value;
  if (depth === deepest) return undefined;
  if (Array.isArray(value)) {
    const items = value.slice(0, maxKeys).flatMap((item) => small(item, depth + 1) ?? []);
    return items.length === 0 ? undefined : items;
  }
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value)
    .slice(0, maxKeys)
    .map(([key, inner]) => [key, small(inner, depth + 1)] as const)
    .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isAddress(text: string): boolean {
  return /^\s*(?:https?:\/\/|data:)/i.test(text);
}
