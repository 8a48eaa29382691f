/** Markdown as the manual uses it, laid out for a terminal: headings, paragraphs, lists, tables and code. */
import { widthOf } from './fit-text.ts';
import type { Paint } from './frame.ts';
import { tableLines } from './format-table.ts';
import { bold, paintedLine, spans, wrapped } from './wrap-spans.ts';

/** Longer lines of prose are hard to read, however wide the terminal is. */
const maxProseColumns = 100;
const indent = '  ';

/** `paint` is the identity where the terminal has no colours: code then keeps its backticks. */
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
    // The items of a list stand close together.
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
  /** Whether the line above belongs to a paragraph or an item that this one may continue. */
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

/** A `\|` is no border. */
function cellsOf(line: string): string[] {
  return line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}
