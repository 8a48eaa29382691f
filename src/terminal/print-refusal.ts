/** Why a command was rejected: on stderr for people, as one JSON object on stdout where asked for. */
import { writeError } from './console.ts';
import { harmlessLines } from './fit-text.ts';
import { writeJsonLine } from './json-lines.ts';

export interface ShownRefusal {
  ending: string;
  exitCode: number;
  text: string;
  problems: { where: string; text: string }[];
}

export function printRefusal(refusal: ShownRefusal, json: boolean): void {
  if (json) writeJsonLine('refused', refusal);
  for (const { where, text } of refusal.problems)
    writeError(harmlessLines(where === '' ? text : `${where}: ${text}`));
  writeError(harmlessLines(refusal.text));
}
