/** What `work` prints: a line for each thing that happens, with its time. */
import { writeOut } from './console.ts';
import { harmless } from './fit-text.ts';
import { writeJsonLine } from './json-lines.ts';
import { formatInstant } from './words.ts';

export function printWork(text: string, json: boolean): void {
  if (json) writeJsonLine('work', { text });
  else writeOut(`${formatInstant(Date.now())}  ${harmless(text)}`);
}
