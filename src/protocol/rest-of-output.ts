/** Reads what a job's output contains besides its pictures, shortened to what is worth keeping. */
import { isJsonObject, valueAt, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { isWordList } from './word-lists.ts';

/** Maximum bytes that are kept, as JSON in UTF-8. */
const maxKeptBytes = 2_000;
const maxDepth = 6;
/** Maximum keys of an object, and items of a list. */
const maxKeys = 200;

export interface OutputRest {
  /** Kept values. If an object was too long, a requested value within it is kept under its keys, joined by dots. */
  rest: JsonObject;
  /** True if there was more. */
  isCut?: true;
}

/**
 * Returns the members of the objects around a picture; the innermost object that has a key counts. A list
 * with as many items as pictures (`count`) yields the item of this picture. Values at the paths `wanted`
 * (keys, outermost first) come first. Leaves out base64, URLs and what `readWordLists` reads. Undefined if
 * nothing remains.
 */
export function restOfOutput(
  owners: readonly Record<string, unknown>[],
  { index, count }: { index: number; count: number },
  wanted: readonly (readonly string[])[],
): OutputRest | undefined {
  const all = Object.entries(Object.assign({}, ...owners.toReversed()) as Record<string, unknown>)
    .filter(([key, value]) => !isAround(value, owners) && !isWordList(key, value))
    .map(([key, value]): [string, unknown] => [key, itemOf(value, index, count)]);
  const rest = new Map<string, JsonValue>();
  let left = maxKeptBytes;
  let isCut = all.length > maxKeys;
  const keep = (key: string, found: unknown): void => {
    const value = rest.has(key) ? undefined : small(found, 0);
    if (value === undefined) return;
    const bytes = Buffer.byteLength(JSON.stringify({ [key]: value }));
    if (bytes > left) isCut = true;
    else {
      rest.set(key, value);
      left -= bytes;
    }
  };
  const within = Object.fromEntries(all);
  for (const path of wanted) keep(path.join('.'), valueAt(within, path));
  for (const [key, value] of all.slice(0, maxKeys)) keep(key, value);
  for (const [key = '', ...more] of wanted)
    if (more.length > 0 && rest.has(key)) rest.delete([key, ...more].join('.'));
  if (rest.size === 0 && !isCut) return undefined;
  return { rest: Object.fromEntries(rest), ...(isCut && { isCut }) };
}

function itemOf(value: unknown, index: number, count: number): unknown {
  return count > 1 && Array.isArray(value) && value.length === count ? value[index] : value;
}

/** True if the value contains one of the objects around the picture: that object itself, or the list that it is in. */
function isAround(value: unknown, owners: readonly unknown[]): boolean {
  return owners.includes(value) || (Array.isArray(value) && value.some((item) => owners.includes(item)));
}

/** Returns the value without base64, URLs and deep levels; undefined if nothing remains. */
function small(value: unknown, depth: number): JsonValue | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') return isAddress(value) || isBase64(value) ? undefined : value;
  if (depth === maxDepth) return undefined;
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

/** True for a long text that begins like base64. Hashes are shorter. */
function isBase64(text: string): boolean {
  return text.length > 200 && /^\s*[\w+/-]{60}/.test(text);
}
