/** Numbers are shown as people read them. */
import { expect, it } from 'vitest';
import { formatDuration, plural } from '../../src/lib/text/format.ts';
import type { PictureTotals } from '../../src/runner/core/picture.ts';
import { describeValues, formatBytes, formatRate } from '../../src/terminal/words.ts';

it.each([
  [0, '0 s'],
  [59_400, '59 s'],
  [59_600, '1 min 0 s'],
  [200_000, '3 min 20 s'],
  [3_600_000, '1 h 0 min'],
  [8 * 3_600_000 + 300_000, '8 h 5 min'],
])('the duration of %i ms is shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

it.each([
  [12.34, '12.3/s'],
  [0.5, '30.0/min'],
  [0.001, '3.6/h'],
])('the rate of %d a second is shown as %s', (rate, text) => expect(formatRate(rate)).toBe(text));

it('counts and sizes are shown with their units', () => {
  expect([plural(1, 'scene'), plural(0, 'scene'), plural(12_345, 'scene')]).toEqual([
    '1 scene',
    '0 scenes',
    '12,345 scenes',
  ]);
  expect([formatBytes(1), formatBytes(2_500_000), formatBytes(3e9)]).toEqual(['1 kB', '2.5 MB', '3.0 GB']);
});

it.each<[PictureTotals, string]>([
  [{ files: 1, bytes: 1, odd: 1 }, '1 picture has an empty value'],
  [{ files: 3, bytes: 1, clips: 3, odd: 2 }, '2 clips have an empty value'],
  [{ files: 3, bytes: 1, clips: 2, odd: 1 }, '1 file has an empty value'],
])('clips are called clips, and pictures and clips together files: %j', (totals, text) => {
  expect(describeValues(totals)).toContain(text);
});
