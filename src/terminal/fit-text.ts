/** Texts of others (prompts, ids, words of the service) on a terminal: harmless, and cut or broken where there is no room. */
import stringWidth from 'string-width';

/**
 * What a terminal would obey or hide becomes visible: control characters and escape sequences, marks that turn the
 * direction of writing, and characters of no width that are no part of another.
 */
export function harmless(text: string): string {
  if (isPlain(text)) return text;
  return text.replaceAll(obeyed, (mark) => escapes[mark] ?? codeOf(mark));
}

/** As above, with its own lines, which stand by themselves. */
export function harmlessLines(text: string): string {
  return text.split('\n').map(harmless).join('\n');
}

/** Harmless and within `columns` cells; what is left out is at the end, or, where the end is kept, at the beginning. */
export function fitted(text: string, columns: number, keep: 'start' | 'end' = 'start'): string {
  const shown = harmless(text);
  return keep === 'start' ? cutTo(shown, columns) : turned(cutTo(turned(shown), columns));
}

/** From the last to the first of what is seen as one character. */
function turned(text: string): string {
  return Array.from(characters.segment(text), ({ segment }) => segment)
    .toReversed()
    .join('');
}

/** The text within `columns` cells, cut between characters that are seen as one; what is cut off leaves a `…`. */
export function cutTo(text: string, columns: number): string {
  if (text.length <= columns && isPlain(text)) return text;
  if (isPlain(text)) return `${text.slice(0, Math.max(0, columns - 1))}…`.slice(0, columns);
  if (text.length * widest <= columns || stringWidth(text) <= columns) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of characters.segment(text)) {
    used += stringWidth(segment);
    if (used > columns - 1) break;
    cut += segment;
  }
  return columns < 1 ? '' : `${cut}…`;
}

/** The text and spaces up to `columns` cells. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

/** Cells that the text takes. */
export function widthOf(text: string): number {
  return isPlain(text) ? text.length : stringWidth(text);
}

const widest = 2;
const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Most texts are, and need no closer look. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

/** A joiner between two pictures and a variation of one are part of them. */
const obeyed = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e001f}]/gu;

const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function codeOf(mark: string): string {
  // Half of a character.
  if (/\p{Cs}/u.test(mark)) return '\ufffd';
  const code = (mark.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\u{${code}}`;
}

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
