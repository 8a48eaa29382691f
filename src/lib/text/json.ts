/** JSON as a type, and the one spelling of a value that fingerprints are taken of. */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** By keys, outermost first; a list of one counts as its item. Undefined where they lead nowhere. */
export function valueAt(value: unknown, keys: readonly string[]): unknown {
  const sole: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const [key, ...more] = keys;
  if (key === undefined) return sole;
  return isJsonObject(sole) && Object.hasOwn(sole, key) ? valueAt(sole[key], more) : undefined;
}

/** The value as JSON with the keys of every object in code unit order, so that equal values read the same. */
export function canonicalJson(value: JsonValue): string {
  // Most values are in order as they stand, and sorting every one of a million takes seconds.
  if (isInOrder(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, inner: JsonValue) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(byKey)) : inner,
  );
}

/** Whole numbers come before all other keys in any object, as they do in a sorted one. */
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
  /** Missing where the text is no JSON. */
  value?: JsonValue;
  /** Why it cannot be used, in words that follow the place or the name: "is not valid JSON: …". */
  problem?: string;
}

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

/** Why valid JSON cannot be sent as it stands, in words that follow the place; undefined where it can. */
export function whyNotKept(json: string): string | undefined {
  if (nestingOf(json) > deepestNesting) return `is nested more than ${deepestNesting} levels deep`;
  const lost = numbersLostIn(json);
  if (lost.length === 0) return undefined;
  return `holds ${lost.join(', ')}, which would lose digits; write it in quotes`;
}

/** No input is nested like this, and what walks it later must not run out of stack. */
const deepestNesting = 100;

function nestingOf(json: string): number {
  const brackets = (json.match(/[[{]/g) ?? []).length;
  if (brackets <= deepestNesting) return brackets;
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

/** Whole numbers, and numbers beyond all bounds, that `JSON.parse` changes without a word. */
function numbersLostIn(json: string): string[] {
  if (!/\d{16}|\d[eE]\+?\d{3}/.test(json)) return [];
  const numbers = withoutStrings(json).match(/-?\d[\d.eE+-]*/g) ?? [];
  return numbers.filter((number) => {
    const isWhole = /^-?\d+$/.test(number);
    return isWhole ? !Number.isSafeInteger(Number(number)) : !Number.isFinite(Number(number));
  });
}
