/** Makes texts from elsewhere (prompts, ids, statuses) safe for a terminal, and cuts or wraps them to its width. */
import stringWidth from 'string-width';

/** Makes characters visible that a terminal would interpret or hide, also of zero width. */
export function escapeControls(text: string): string {
  if (isPlain(text)) return text;
  return text.replaceAll(obeyed, (mark) => escapes[mark] ?? codeOf(mark));
}

/** Escapes control characters like `escapeControls`, but keeps line breaks. */
export function escapeControlsByLine(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

/** Escapes controls and cuts the text to `columns` cells: at its end, or at its start if `keep` is `end`. */
export function truncate(text: string, columns: number, keep: 'start' | 'end' = 'start'): string {
  const shown = escapeControls(text);
  return keep === 'start' ? cutTo(shown, columns) : reversed(cutTo(reversed(shown), columns));
}

function reversed(text: string): string {
  return Array.from(characters.segment(text), ({ segment }) => segment)
    .toReversed()
    .join('');
}

/** Cuts a text to `columns` cells between visible characters; a `…` replaces the rest. */
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

export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

export function widthOf(text: string): number {
  return isPlain(text) ? text.length : stringWidth(text);
}

const widest = 2;
const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** True for printable ASCII, which needs no further check. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

/** Characters that a terminal interprets or hides. Zero-width joiners and variation selectors are part of emoji, so they stay. */
const obeyed = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e001f}]/gu;

const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function codeOf(mark: string): string {
  // Half of a surrogate pair.
  if (/\p{Cs}/u.test(mark)) return '\ufffd';
  const code = (mark.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\u{${code}}`;
}

/** Wraps a text into lines of `columns` cells, indented by `indent` cells. The first indent holds `name`. */
export function wrapIndented(name: string, text: string, columns: number, indent = 12): string[] {
  const room = Math.max(10, columns - indent);
  const lines: string[] = [];
  let line = '';
  for (const word of escapeControls(text)
    .split(/ (?!%)/)
    .flatMap((each) => splitWord(each, room))) {
    const isFull = line !== '' && widthOf(line) + 1 + widthOf(word) > room;
    if (isFull) lines.push(line);
    line = line === '' || isFull ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines.map((part, i) => `${padTo(i === 0 ? name : '', indent)}${part}`.trimEnd());
}

/** Breaks a word that is longer than a line: some languages have no spaces, and neither have URLs. */
function splitWord(word: string, room: number): string[] {
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
