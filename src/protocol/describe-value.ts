/** Says what a value parsed from JSON is, in a few words, whatever its size. */
import { oneLine } from './error-text.ts';
import { isRecord } from './json-value.ts';

const deepest = 3;
const maxKeys = 8;

export function describeValue(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `the text "${oneLine(value, 80) ?? ''}"`;
  if (isRecord(value)) return describeObject(value);
  if (!Array.isArray(value) || value.length === 0 || depth >= deepest) return kindOf(value);
  return `a list of ${value.length}, the first of them ${describeValue(value[0], depth + 1)}`;
}

function describeObject(object: Record<string, unknown>): string {
  const keys = Object.keys(object);
  const shown = keys.slice(0, maxKeys).map((key) => `"${oneLine(key, 40) ?? ''}" (${kindOf(object[key])})`);
  const rest = keys.length > shown.length ? ` and ${keys.length - shown.length} more` : '';
  return `an object with ${shown.join(', ') || 'no keys'}${rest}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'empty text' : `text of ${value.length} characters`;
  return typeof value;
}
