/** Reads a line of JSON Lines: an object, whose values keep their types. */
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
  if (nestingOf(text) > deepestNesting) {
    return {
      kind: 'bad',
      line,
      problem: `is nested more than ${deepestNesting} levels deep`,
      ...idOf(value),
    };
  }
  const lost = numbersLostIn(text);
  if (lost.length === 0) return { kind: 'row', columns: value, line };
  const problem = `holds ${lost.join(', ')}, which cannot be kept exactly; write it in quotes`;
  return { kind: 'bad', line, problem, ...idOf(value) };
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

function idOf(columns: JsonObject): { id?: string } {
  const id = columns['id'];
  return typeof id === 'string' && id !== '' ? { id } : {};
}
