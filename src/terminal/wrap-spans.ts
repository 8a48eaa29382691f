/** Inline Markdown as text with marks of no width around what stands out, wrapped between words. */
import type { Paint } from './frame.ts';
import { widthOf } from './fit-text.ts';

/** Bold begins and ends; no text of the manual holds these. */
const on = '\ue000';
const off = '\ue001';
/** A space at which no line is broken: in short code. */
const fixedSpace = '\ue002';
const maxUnbrokenCode = 26;

/** As `spans` marks what stands out; bold within bold is bold. */
export function bold(text: string): string {
  return `${on}${unmarked(text)}${off}`;
}

/** Links to other pages name their topic; code stands out by colour or, without one, by its backticks. */
export function spans(inline: string, hasColours: boolean): string {
  return inline
    .replaceAll(/!?\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]*)\)/g, (all, text: string, target: string) =>
      all.startsWith('!') ? '' : linked(text, target),
    )
    .split(/(`[^`]+`)/)
    .map((part) => {
      if (part.startsWith('`') && part.endsWith('`') && part.length > 2) {
        const code = part.length <= maxUnbrokenCode ? part.replaceAll(' ', fixedSpace) : part;
        return hasColours ? bold(code.slice(1, -1)) : code;
      }
      return part.replaceAll(/\\([\\_<>|#[\]])/g, '$1');
    })
    .join('')
    .replaceAll(/\*\*(.+?)\*\*/g, (_, text: string) => bold(text))
    .trim();
}

function linked(text: string, target: string): string {
  const [, topic] = /^(?:\.\/)?([\w-]+)\.md(?:#.*)?$/.exec(target) ?? [];
  if (topic !== undefined) return `${text} (help ${topic})`;
  return /^https?:/.test(target) && target !== text ? `${text} (${target})` : text;
}

/** Cells that a marked text takes. */
export function spanWidth(marked: string): number {
  return widthOf(unmarked(marked).replaceAll(fixedSpace, ' '));
}

function unmarked(marked: string): string {
  return marked.replaceAll(/[\ue000\ue001]/g, '');
}

/** Lines of at most `columns` cells, where no word is longer; what stands out does so in each of its lines. */
export function wrapped(marked: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  let isBold = false;
  const end = (): void => {
    lines.push(isBoldAfter(line) ? `${line}${off}` : line);
    isBold = isBoldAfter(line);
  };
  for (const word of marked.split(' ')) {
    if (line !== '' && spanWidth(line) + 1 + spanWidth(word) > columns) {
      end();
      line = isBold ? `${on}${word}` : word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  end();
  return lines;
}

function isBoldAfter(line: string): boolean {
  return line.lastIndexOf(on) > line.lastIndexOf(off);
}

/** What a terminal is sent. */
export function paintedLine(line: string, paint: Paint): string {
  return line
    .replaceAll(/\ue000([^\ue001]*)\ue001/g, (_, text: string) => paint(text, 'bold'))
    .replaceAll(fixedSpace, ' ');
}
