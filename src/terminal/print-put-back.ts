/** Which scenes were put back to be rendered again, and what that may cost. */
import { writeOut } from './console.ts';
import { harmless } from './fit-text.ts';
import { writeJsonLine } from './json-lines.ts';
import { plural, screenful } from './words.ts';

export interface ShownPutBack {
  scenes: number;
  /** Jobs in flight that were given up. */
  givenUp: number;
  chosen: Iterable<{ id: string; was: string }>;
  /** What follows `nightrender run` for this batch. */
  file: string;
  /** Pictures that are kept as `.former`, and a sentence about them without its full stop, where there are any. */
  kept?: number;
  keptText?: string | undefined;
}

export function printPutBack(
  { scenes, givenUp, chosen, file, kept = 0, keptText }: ShownPutBack,
  json: boolean,
): void {
  if (json) {
    for (const { id, was } of chosen) writeJsonLine('scene-put-back', { scene: id, was });
    return writeJsonLine('put-back', { scenes, givenUp, kept });
  }
  if (scenes + givenUp === 0) return writeOut('Nothing to put back.');
  if (givenUp > 0) writeOut(`${plural(givenUp, 'job')} in flight given up; they may be billed.`);
  if (scenes === 0) return;
  writeOut(`${plural(scenes, 'scene waits', 'scenes wait')} to be rendered again:`);
  let shown = 0;
  for (const { id, was } of chosen) {
    if (shown === screenful) break;
    writeOut(harmless(`  ${id} (${was})`));
    shown += 1;
  }
  if (scenes > shown)
    writeOut(`  and ${(scenes - shown).toLocaleString('en')} more; --json names all of them`);
  if (keptText !== undefined) writeOut(`${keptText}.`);
  writeOut(`At least ${plural(scenes, 'new job')} will be billed: \`nightrender run ${file}\`.`);
}
