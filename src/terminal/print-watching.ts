/** What is said of the page on which a batch can be watched. */
import { writeError, writeOut } from './console.ts';
import { harmless } from './fit-text.ts';
import { writeJsonLine } from './json-lines.ts';

export interface Watching {
  url: string;
  dir: string;
  shownDir: string;
  hasBatch: boolean;
}

export function printWatching({ url, dir, shownDir, hasBatch }: Watching, json: boolean): void {
  if (json) return writeJsonLine('watching', { url, dir });
  const waits = hasBatch ? '' : ' There is no batch there yet; the page waits for it.';
  writeOut(`${shownDir} can be watched at ${url} (on this machine, read only).${waits}`);
  writeOut('Ctrl-C ends the page; a run goes on without it.');
}

export function printWatchFailure(text: string): void {
  writeError(`watch: ${harmless(text)}`);
}
