/** Reads a line of JSON Lines, or an element of a JSON array: an object, whose values keep their types. */
import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { ManifestEntry } from './manifest.ts';

export function readJsonLine(text: string, line: number): ManifestEntry {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'bad', line, problem: `is not valid JSON: ${reason}` };
  }
  if (!isJsonObject(value)) {
    return { kind: 'bad', line, problem: `is not a JSON object but ${nameOf(value)}` };
  }
  const problem = whyNotKept(text);
  if (problem === undefined) return { kind: 'row', columns: value, line };
  return { kind: 'bad', line, problem, ...idOf(value) };
}

/** Why valid JSON cannot be sent as it stands, in words that follow the place; undefined where it can. */
export function whyNotKept(json: string): string | undefined {
  if (nestingOf(json) > deepestNesting) return `is nested more than ${deepestNesting} levels deep`;
  const lost = numbersLostIn(json);
  if (lost.length === 0) return undefined;
  return `holds ${lost.join(', ')}, which cannot be kept exactly; write it in quotes`;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
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

/** Of a bad row. */
export function idOf(columns: JsonObject): { id?: string } {
  const id = columns['id'];
  return typeof id === 'string' && id !== '' ? { id } : {};
}
