/** Every event as one JSON object a line on stdout. */
import type { Listener } from '../pipeline/ports.ts';
import { writeOut } from './console.ts';

export function jsonLines(now: () => number): Listener {
  return (event) => {
    const { type, ...rest } = event;
    writeOut(JSON.stringify({ type, at: new Date(now()).toISOString(), ...rest }));
  };
}
