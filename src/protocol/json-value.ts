/** Values parsed from JSON: tests for emptiness, integers with all their digits, and short descriptions. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';

/** True for null, and for a blank text or an empty list or object. */
export function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Returns the digits of a number or a numeric text; undefined if `JSON.parse` has rounded them. */
export function exactInteger(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  return /^\s*(-?\d{1,40})(?:\.0+)?\s*$/.exec(value)?.[1];
}

/** Maximum characters to parse. No worker puts longer JSON without a picture into a text. */
const maxJsonLength = 1_000_000;

/** Parses JSON with long integers as text, which `JSON.parse` rounds. Undefined if invalid or too long. */
export function parseExactly(text: string, maxLength = maxJsonLength): unknown {
  if (text.length > maxLength) return undefined;
  try {
    // The pattern takes quadratic time on invalid JSON.
    JSON.parse(text);
    return JSON.parse(text.replaceAll(stringOrNumber, quoteLongInteger)) as unknown;
  } catch {
    return undefined;
  }
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

function quoteLongInteger(token: string): string {
  return /^-?\d{16,}$/.test(token) ? `"${token}"` : token;
}

const maxListDepth = 3;
const maxKeys = 8;

/** Describes a value of any size in a few words. */
export function describeValue(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `the text "${oneLine(value, 80) ?? ''}"`;
  if (isJsonObject(value)) return describeObject(value);
  if (!Array.isArray(value) || value.length === 0 || depth >= maxListDepth) return kindOf(value);
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

/**
 * Returns the text of the last top-level member with this name, as written; undefined if there is none.
 * `json` must be a valid object, and `name` must not need escaping.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined;
  let at = skipSpace(json, json.indexOf('{') + 1);
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at);
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    if (isName(json.slice(at, keyEnd), name)) found = json.slice(start, end);
    at = skipSpace(json, end);
    if (json[at] === ',') at = skipSpace(json, at + 1);
  }
  return found;
}

/** True if the text is the name, which may be written with escapes. */
function isName(written: string, name: string): boolean {
  return written === `"${name}"` || (written.includes('\\') && JSON.parse(written) === name);
}

function endOfValue(json: string, start: number): number {
  if (json[start] === '"') return endOfString(json, start);
  if (json[start] !== '{' && json[start] !== '[') return endOfWord(json, start);
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const letter = json[at];
    if (letter === '"') at = endOfString(json, at) - 1;
    else if (letter === '{' || letter === '[') depth += 1;
    else if (letter === '}' || letter === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return json.length;
}

/** Returns the index after the closing quotation mark. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; ;) {
    const quote = json.indexOf('"', at);
    if (quote === -1) return json.length;
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function endOfWord(json: string, start: number): number {
  let at = start;
  while (at < json.length && !/[\s,}\]]/.test(json[at] ?? '')) at += 1;
  return at;
}

function skipSpace(json: string, start: number): number {
  let at = start;
  while (/\s/.test(json[at] ?? '.')) at += 1;
  return at;
}
