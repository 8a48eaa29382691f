/** The comparison as a table that reads well on a terminal and in Markdown. */
import type { Comparison, Spread } from './measures.ts';

export function formatTable(comparisons: Comparison[]): string {
  const head = ['', 'ours', 'peer', 'ours/peer'];
  const rows = comparisons.map(({ measure, digits, ours, peer, ratio }) => [
    measure,
    formatSpread(ours, digits),
    formatSpread(peer, digits),
    Number.isFinite(ratio) ? ratio.toFixed(2) : '–',
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function formatSpread(spread: Spread, digits: number): string {
  const text = spread.median.toFixed(digits);
  if (spread.least === spread.most) return text;
  return `${text} (${spread.least.toFixed(digits)}–${spread.most.toFixed(digits)})`;
}
