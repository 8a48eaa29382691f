/** JSON as a type, and the one spelling of a value that fingerprints are taken of. */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
