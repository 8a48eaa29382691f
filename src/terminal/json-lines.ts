/** JSON lines on stdout, one for each event. */
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { writeOut } from './terminal.ts';

export function jsonLines(now: () => number): Listener {
  return ({ type, ...facts }) => writeJsonLine(type, facts, now());
}

/** `at`: epoch ms. */
export function writeJsonLine(type: string, facts: object, at = Date.now()): void {
  writeOut(JSON.stringify(jsonLine(type, facts, at)));
}

/** Returns the time in ISO 8601, the form of all times in JSON output. `at`: epoch ms. */
export function jsonInstant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Returns a line with `type` and `at`; `run-started` also gets `formatVersion`. `at`: epoch ms. */
export function jsonLine(type: string, facts: object, at: number): object {
  const version = type === ('run-started' satisfies Event['type']) ? { formatVersion } : {};
  return { type, at: new Date(at).toISOString(), ...version, ...facts };
}

/** Increases if a field or a line is removed or changes its meaning. Additions don't change it. */
export const formatVersion = 1;
