/** How far a run is, in one line that is never wider than the terminal. */
import { showDuration } from '../core/duration.ts';
import { showCost } from '../core/spending.ts';
import type { Progress } from './progress.ts';
import { showRate } from './words.ts';

const mostCells = 30;
const fewestCells = 3;

/** `columns`: how many there are for it. What matters least goes first where they are too few: the bar, then numbers. */
export function progressLine(
  progress: Progress,
  columns: number,
  drawBar: (cells: number) => string,
): string {
  const numbers = narrowing(progress);
  const [all = ''] = numbers;
  const cells = Math.min(mostCells, columns - all.length - 1);
  if (cells >= fewestCells) return `${drawBar(cells)} ${all}`;
  return numbers.find((line) => line.length <= columns) ?? '';
}

/** The same numbers with ever fewer words. */
function narrowing(progress: Progress): string[] {
  const { total, saved, failed, inFlight, perSecond, leftMs, cost } = progress;
  const count = `${saved}/${total}`;
  const active = `${inFlight} in flight`;
  const lost = `${failed} failed`;
  const lostAny = failed > 0 ? lost : '';
  const rate = perSecond === undefined ? '' : showRate(perSecond);
  const left = leftMs === undefined ? '' : `${showDuration(leftMs)} left`;
  const money = cost === undefined ? '' : showCost(cost);
  const about = leftMs === undefined ? '' : `${roughly(leftMs)} left`;
  const lines = [
    [count, active, lost, rate, left, money],
    [count, active, lost, rate, about, money],
    [count, active, lost, about, money],
    [count, active, lostAny, about, money],
    [count, lostAny, about, money],
    [count, lostAny, about],
    [count, lostAny],
    [count],
    [`${Math.floor((saved / Math.max(1, total)) * 100)} %`],
  ];
  return lines.map((parts) => parts.filter((part) => part !== '').join('  '));
}

/** The larger of its two units. */
function roughly(ms: number): string {
  return showDuration(ms).split(' ').slice(0, 2).join(' ');
}
