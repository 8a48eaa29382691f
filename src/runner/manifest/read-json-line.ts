/** Reads a line of JSON Lines, or an element of a JSON array: an object, whose values keep their types. */
import { readExactJson, isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import type { ManifestEntry } from './manifest.ts';

export function readJsonLine(text: string, line: number): ManifestEntry {
  const { value, problem } = readExactJson(text);
  if (value === undefined) return { kind: 'bad', line, problem: problem ?? 'is not valid JSON' };
  if (!isJsonObject(value)) {
    return { kind: 'bad', line, problem: `is not a JSON object but ${nameOf(value)}` };
  }
  if (problem !== undefined) return { kind: 'bad', line, problem, ...idOf(value) };
  return { kind: 'row', columns: value, line };
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** Of a bad row. */
export function idOf(columns: JsonObject): { id?: string } {
  const id = columns['id'];
  return typeof id === 'string' && id !== '' ? { id } : {};
}
