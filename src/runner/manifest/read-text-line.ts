/** Reads a line of plain text: a prompt, as it stands. */
import type { ManifestEntry } from './manifest.ts';

export function readTextLine(text: string, line: number): ManifestEntry {
  return { kind: 'row', columns: { prompt: text }, line };
}
