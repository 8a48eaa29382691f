/** Promise: the line of a bar fits the terminal, whatever the numbers, and no word of it is cut. */
import { expect, it } from 'vitest';
import { progressLine } from '../../src/terminal/progress-line.ts';
import type { Progress } from '../../src/terminal/progress.ts';

const bar = (cells: number): string => '#'.repeat(cells);
const hour = 3_600_000;

const large: Progress = {
  total: 2_000_000,
  saved: 1_234_567,
  failed: 12_345,
  inFlight: 1_000,
  queued: 752_088,
  perSecond: 123.4,
  leftMs: 145.2 * hour,
  cost: undefined,
};
const usual: Progress = {
  total: 1_632,
  saved: 815,
  failed: 0,
  inFlight: 16,
  queued: 801,
  perSecond: 0.5,
  leftMs: 27 * 60_000 + 12_000,
  cost: undefined,
};

it.each([
  [
    120,
    '############################## 1234567/2000000  1000 in flight  12345 failed  123.4/s  145 h 12 min left',
  ],
  [80, '###### 1234567/2000000  1000 in flight  12345 failed  123.4/s  145 h 12 min left'],
  [60, '1234567/2000000  1000 in flight  12345 failed  145 h left'],
  [41, '1234567/2000000  12345 failed  145 h left'],
  [40, '1234567/2000000  12345 failed'],
  [20, '1234567/2000000'],
  [6, '61 %'],
])('in %i columns, with large numbers', (columns, line) => {
  expect(progressLine(large, columns, bar)).toBe(line);
});

it.each([
  [120, `${bar(30)} 815/1632  16 in flight  0 failed  30.0/min  27 min 12 s left`],
  [80, `${bar(19)} 815/1632  16 in flight  0 failed  30.0/min  27 min 12 s left`],
  [60, '815/1632  16 in flight  0 failed  30.0/min  27 min 12 s left'],
  [57, '815/1632  16 in flight  0 failed  30.0/min  27 min left'],
  [40, '815/1632  16 in flight  27 min left'],
])('in %i columns, on a usual night', (columns, line) => {
  expect(progressLine(usual, columns, bar)).toBe(line);
});

it('fits in every width, and every piece of it stands in the widest line', () => {
  for (const progress of [large, usual, { ...usual, perSecond: undefined, leftMs: undefined }]) {
    const words = new Set(progressLine(progress, 200, bar).split(/ +/));
    for (let columns = 5; columns <= 130; columns++) {
      const line = progressLine(progress, columns, bar);
      expect(line.length, `${columns}: ${line}`).toBeLessThanOrEqual(columns);
      expect(line).not.toBe('');
      for (const word of line.split(/ +/)) if (!/^#+$|%|^\d+$/.test(word)) expect(words).toContain(word);
    }
  }
});

it('shows what was spent of the budget as long as there is room for it', () => {
  const progress = { ...usual, cost: { spent: 1.2345, currency: 'USD', limit: 5 } };
  expect(progressLine(progress, 120, bar)).toContain('27 min 12 s left  1.23 of 5.00 USD');
  expect(progressLine(progress, 60, bar)).toMatch(/^815\/1632 {2}16 in flight {2}.*1\.23 of 5\.00 USD$/);
  expect(progressLine(progress, 25, bar)).toBe('815/1632  27 min left');
});
