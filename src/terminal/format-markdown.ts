/** Formats the Markdown of the manual for a terminal: headings, paragraphs, lists, tables and code. */
import { widthOf } from './fit-text.ts';
import type { Paint } from './terminal.ts';

/** Longer lines of prose are hard to read, even on a wide terminal. */
const maxProseColumns = 100;
const indent = '  ';

/** `paint` returns its text if the terminal has no colours. Code keeps its backticks then. */
export function formatMarkdown(text: string, columns: number, paint: Paint): string {
  const hasColours = paint(' ', 'bold') !== ' ';
  const room = columns - indent.length;
  const prose = Math.min(room, maxProseColumns);
  const marked = (inline: string): string => spans(inline, hasColours);
  const laidOut = blocksOf(text).flatMap((block, i): string[] => {
    const before = i === 0 ? [] : [''];
    if (block.kind === 'heading') return [...before, bold(marked(block.text))];
    if (block.kind === 'code') return [...before, ...block.lines.map((line) => `${indent}${indent}${line}`)];
    if (block.kind === 'table')
      return [
        ...before,
        ...tableLines(
          block.rows.map((row) => row.map(marked)),
          room,
        ).map(indented),
      ];
    if (block.kind === 'paragraph') return [...before, ...wrapped(marked(block.text), prose).map(indented)];
    // Items of a list have no blank lines between them.
    const hang = ' '.repeat(widthOf(block.bullet) + 1);
    const lines = wrapped(marked(block.text), prose - block.depth - hang.length);
    const item = lines.map(
      (line, n) => `${' '.repeat(block.depth)}${n === 0 ? `${block.bullet} ` : hang}${line}`,
    );
    return [...(block.isFirst ? before : []), ...item.map(indented)];
  });
  return laidOut.map((line) => paintedLine(line.trimEnd(), paint)).join('\n');
}

function indented(line: string): string {
  return line === '' ? '' : `${indent}${line}`;
}

type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'item'; text: string; bullet: string; depth: number; isFirst: boolean }
  | { kind: 'code'; lines: string[] }
  | { kind: 'table'; rows: string[][] };

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  /** True if this line may continue the paragraph or item above. */
  let isOpen = false;
  let fence: string[] | undefined;
  for (const line of text.replaceAll(/<!--[^]*?-->\n?/g, '').split('\n')) {
    const last = blocks.at(-1);
    if (line.startsWith('```')) {
      if (fence === undefined) blocks.push({ kind: 'code', lines: (fence = []) });
      else fence = undefined;
      isOpen = false;
    } else if (fence !== undefined) fence.push(line);
    else if (line.trim() === '') isOpen = false;
    else if (line.startsWith('#')) {
      blocks.push({ kind: 'heading', text: line.replace(/^#+ /, '') });
      isOpen = false;
    } else if (line.startsWith('|')) {
      if (last?.kind === 'table' && isOpen) last.rows.push(cellsOf(line));
      else blocks.push({ kind: 'table', rows: [cellsOf(line)] });
      isOpen = true;
    } else {
      const [, depth = '', bullet, rest = ''] = /^( *)([-*]|\d+\.) +(.*)$/.exec(line) ?? [];
      if (bullet !== undefined)
        blocks.push({
          kind: 'item',
          text: rest,
          bullet: /\d/.test(bullet) ? bullet : '•',
          depth: depth.length,
          isFirst: last?.kind !== 'item',
        });
      else if (isOpen && (last?.kind === 'paragraph' || last?.kind === 'item'))
        last.text += ` ${line.trim()}`;
      else blocks.push({ kind: 'paragraph', text: line.trim() });
      isOpen = true;
    }
  }
  return blocks;
}

/** Splits a row into cells; `\|` is not a border. */
function cellsOf(line: string): string[] {
  return line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const gap = '  ';
/** A narrower column of prose is hard to read. */
const minProseColumns = 18;

/** Formats a table in columns if they fit, else in paragraphs, without columns of pictures only. */
function tableLines([titled = [], , ...body]: string[][], columns: number): string[] {
  const isShown = titled.map((_, i) => body.some((row) => row[i] !== ''));
  const [head = [], ...rows] = [titled, ...body].map((row) => row.filter((_cell, i) => isShown[i]));
  const widths = columnWidths([head, ...rows], columns);
  if (widths === undefined)
    return rows.flatMap((row, i) => [...(i === 0 ? [] : ['']), ...asParagraph(head, row, columns)]);
  const titles = head.map((title) => (title === '' ? '' : bold(title)));
  const laidOut = [titles, ...rows].map((row) => rowLines(row, widths));
  const isDense = laidOut.every((lines) => lines.length === 1);
  return laidOut.flatMap((lines, i) => [...(isDense || i < 2 ? [] : ['']), ...lines]);
}

/** Widths of columns: the widest are narrowed until all fit. Undefined if prose columns become too narrow. */
function columnWidths(rows: string[][], columns: number): number[] | undefined {
  const count = Math.max(...rows.map((row) => row.length));
  const over = (measure: (cell: string) => number): number[] =>
    Array.from({ length: count }, (_, i) => Math.max(...rows.map((row) => measure(row[i] ?? ''))));
  const natural = over(spanWidth);
  const longestWord = over((cell) => Math.max(...cell.split(' ').map(spanWidth)));
  const room = columns - gap.length * (count - 1);
  for (let most = Math.max(...natural); most >= minProseColumns; most--) {
    const widths = natural.map((width, i) => Math.min(width, Math.max(most, longestWord[i] ?? 0)));
    if (widths.reduce((sum, width) => sum + width, 0) <= room) return widths;
  }
  return undefined;
}

function rowLines(row: string[], widths: number[]): string[] {
  const cells = widths.map((width, i) => wrapped(row[i] ?? '', width));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, i) => padded(lines[line] ?? '', widths[i] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

function padded(text: string, width: number): string {
  return `${text}${' '.repeat(Math.max(0, width - spanWidth(text)))}`;
}

/** Formats a row as a paragraph: its first cell, then each other cell after its title. */
function asParagraph(head: string[], [first = '', ...rest]: string[], columns: number): string[] {
  const lines = rest.flatMap((cell, i) => {
    const title = head[i + 1] ?? '';
    return cell === '' ? [] : wrapped(title === '' ? cell : `${title}: ${cell}`, columns - gap.length);
  });
  return [...wrapped(first, columns), ...lines.map((line) => `${gap}${line}`)];
}

/** Private-use characters that start and end bold text; no text of the manual contains them. */
const on = '\ue000';
const off = '\ue001';
/** Stands for a space in short code, where lines must not break. */
const fixedSpace = '\ue002';
const maxUnbrokenCode = 26;

/** Marks text as bold. Marks within it are removed, because bold does not nest. */
function bold(text: string): string {
  return `${on}${unmarked(text)}${off}`;
}

/** Marks bold text and code in a line, and replaces links to other pages by the name of their topic. */
function spans(inline: string, hasColours: boolean): string {
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

function spanWidth(marked: string): number {
  return widthOf(unmarked(marked).replaceAll(fixedSpace, ' '));
}

function unmarked(marked: string): string {
  return marked.replaceAll(/[\ue000\ue001]/g, '');
}

/** Wraps a marked text to `columns` cells. Bold text that is wrapped is marked in each of its lines. */
function wrapped(marked: string, columns: number): string[] {
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

/** Replaces marks by escape sequences of the terminal. */
function paintedLine(line: string, paint: Paint): string {
  return line
    .replaceAll(/\ue000([^\ue001]*)\ue001/g, (_, text: string) => paint(text, 'bold'))
    .replaceAll(fixedSpace, ' ');
}
