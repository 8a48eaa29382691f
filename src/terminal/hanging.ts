/** A text beside its name, broken between words where it is too wide for a line. */
import { harmless, padTo, widthOf } from './fit-text.ts';

/** `indent`: cells before the text, of which its name takes the first. Without bound where `columns` is infinite. */
export function hanging(name: string, text: string, columns: number, indent = 12): string[] {
  const room = Math.max(10, columns - indent);
  const lines: string[] = [];
  let line = '';
  for (const word of harmless(text)
    .split(/ (?!%)/)
    .flatMap((each) => broken(each, room))) {
    const isFull = line !== '' && widthOf(line) + 1 + widthOf(word) > room;
    if (isFull) lines.push(line);
    line = line === '' || isFull ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines.map((part, i) => `${padTo(i === 0 ? name : '', indent)}${part}`.trimEnd());
}

/** Some languages have no spaces, and neither have long addresses. */
function broken(word: string, room: number): string[] {
  if (widthOf(word) <= room) return [word];
  const parts: string[] = [];
  let part = '';
  for (const { segment } of characters.segment(word)) {
    if (widthOf(part + segment) > room) {
      parts.push(part);
      part = '';
    }
    part += segment;
  }
  return [...parts, part];
}

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
