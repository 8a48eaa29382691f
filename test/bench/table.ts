/** Formats tables for a terminal and for Markdown. */
import type { Comparison, Spread } from './measures.ts';
import type { Target } from './target.ts';

export function formatComparisons(comparisons: Comparison[]): string {
  const rows = comparisons.map(({ measure, digits, ours, peer, ratio }) => [
    measure,
    formatSpread(ours, digits),
    peer === undefined ? '–' : formatSpread(peer, digits),
    Number.isFinite(ratio) ? ratio.toFixed(2) : '–',
  ]);
  return formatTable(['', 'ours', 'peer', 'ours/peer'], rows);
}

export function formatTargets(targets: Target[]): string {
  const rows = targets.map(({ measure, wanted, measured, isReached, peer }) => [
    measure,
    wanted,
    measured,
    isReached ? 'reached' : 'missed',
    peer,
  ]);
  return formatTable(['target', 'to reach', 'measured', '', 'peer'], rows);
}

/** Returns a table for the README, with one row for each target. */
export function formatAllTargets(outcomes: { name: string; targets: Target[] }[]): string {
  const rows = outcomes.flatMap(({ name, targets }) =>
    targets.map(({ measure, wanted, measured, isReached, peer }, i) => [
      i === 0 ? name : '',
      measure,
      wanted,
      isReached ? measured : `${measured}, missed`,
      peer,
    ]),
  );
  return formatTable(['scenario', 'measure', 'target', 'measured', 'peer'], rows);
}

function formatTable(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
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
