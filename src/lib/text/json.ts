/** JSON as a type, and a canonical spelling of values for fingerprints. */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object. Undefined if the text is anything else. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the value at these keys; undefined if there is none. A list with one item counts as the item. */
export function valueAt(value: unknown, keys: readonly string[]): unknown {
  const sole: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const [key, ...more] = keys;
  if (key === undefined) return sole;
  return isJsonObject(sole) && Object.hasOwn(sole, key) ? valueAt(sole[key], more) : undefined;
}

/** Returns JSON with the keys of every object in code unit order, so that equal values have equal texts. */
export function canonicalJson(value: JsonValue): string {
  // Most values are in order already, and sorting every one of a million takes seconds.
  if (isInOrder(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, inner: JsonValue) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(byKey)) : inner,
  );
}

/** True if all keys are in order. Whole numbers precede other keys in any object, sorted or not. */
function isInOrder(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let last = '';
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    if (key < last || !isInOrder(value[key] ?? null)) return false;
    last = key;
  }
  return true;
}

function byKey([a]: [string, JsonValue], [b]: [string, JsonValue]): number {
  return a < b ? -1 : 1;
}

interface ExactJson {
  /** Absent if the text is not JSON. */
  value?: JsonValue;
  /** Why the value cannot be used, in words that follow its place or name: "is not valid JSON: …". */
  problem?: string;
}

/**
 * Parses JSON. Reports invalid JSON, nesting deeper than 100 levels and numbers that would lose digits as `problem`;
 * never throws.
 */
export function readExactJson(text: string): ExactJson {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problem: `is not valid JSON: ${reason}` };
  }
  const problem = whyNotKept(text);
  return problem === undefined ? { value } : { value, problem };
}

/** Returns why valid JSON cannot be sent unchanged, in words that follow its place; undefined if it can. */
export function whyNotKept(json: string): string | undefined {
  if (nestingOf(json) > maxNesting) return `is nested more than ${maxNesting} levels deep`;
  const lost = numbersLostIn(json);
  if (lost.length === 0) return undefined;
  return `holds ${lost.join(', ')}, which would lose digits; write it in quotes`;
}

/** Maximum nesting of an input, so that later code does not run out of stack. */
const maxNesting = 100;

function nestingOf(json: string): number {
  const brackets = (json.match(/[[{]/g) ?? []).length;
  if (brackets <= maxNesting) return brackets;
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of withoutStrings(json).matchAll(/[[{}\]]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function withoutStrings(json: string): string {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '""');
}

/** Finds whole numbers and infinite ones that `JSON.parse` changes silently. */
function numbersLostIn(json: string): string[] {
  if (!/\d{16}|\d[eE]\+?\d{3}/.test(json)) return [];
  const numbers = withoutStrings(json).match(/-?\d[\d.eE+-]*/g) ?? [];
  return numbers.filter((number) => {
    const isWhole = /^-?\d+$/.test(number);
    return isWhole ? !Number.isSafeInteger(Number(number)) : !Number.isFinite(Number(number));
  });
}
