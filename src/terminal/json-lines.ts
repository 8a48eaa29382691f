/** What happened as one JSON object a line, on stdout. */
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { writeOut } from './console.ts';

export function jsonLines(now: () => number): Listener {
  return ({ type, ...facts }) => writeJsonLine(type, facts, now());
}

/** `at`: epoch ms. */
export function writeJsonLine(type: string, facts: object, at = Date.now()): void {
  writeOut(JSON.stringify(jsonLine(type, facts, at)));
}

/** As everywhere in JSON for others: ISO 8601. `at`: epoch ms. */
export function jsonInstant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Every line has `type` and `at`; the first of a run also `formatVersion`. */
export function jsonLine(type: string, facts: object, at: number): object {
  const version = type === ('run-started' satisfies Event['type']) ? { formatVersion } : {};
  return { type, at: new Date(at).toISOString(), ...version, ...facts };
}

/** Becomes another where a field or a line goes away or means something else; what is added does not change it. */
export const formatVersion = 1;
