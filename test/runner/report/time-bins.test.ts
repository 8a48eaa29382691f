/** Promise: charts of a run need only a few numbers, however long the run and however many the jobs. */
import { expect, it } from 'vitest';
import { DurationBins, NightBins } from '../../../src/runner/report/gallery-counts.ts';

it('bins of time count saved and failed scenes in their part of the night, and the very end in the last part', () => {
  const night = new NightBins(1_000, 1_000 + 120_000);
  for (const at of [1_000, 1_999, 2_000, 121_000]) night.add(at, 'saved');
  night.add(60_500, 'failed');
  for (const at of [999, 121_001]) night.add(at, 'saved');
  const { saved, failed, startedAt, endedAt } = night.result();
  expect([startedAt, endedAt, saved.length, failed.length]).toEqual([1_000, 121_000, 120, 120]);
  expect([saved[0], saved[1], saved[119], saved.reduce((sum, n) => sum + n, 0)]).toEqual([2, 1, 1, 4]);
  expect(failed[59]).toBe(1);
});

it('bins of time accept a night of no length', () => {
  const night = new NightBins(5, 5);
  night.add(5, 'saved');
  expect(night.result().saved[0]).toBe(1);
});

it('bins of durations give percentiles within 2 %, and one long job does not flatten the others', () => {
  const bins = new DurationBins();
  for (let ms = 1; ms <= 1000; ms++) bins.add(ms);
  bins.add(3_600_000);
  const times = bins.result();
  expect(times?.count).toBe(1001);
  expect(times?.mostMs).toBe(3_600_000);
  expect(Math.abs((times?.p50Ms ?? 0) - 500)).toBeLessThanOrEqual(10);
  expect(Math.abs((times?.p95Ms ?? 0) - 951)).toBeLessThanOrEqual(19);
  expect(times?.upToMs).toBeLessThan(2_000);
  expect(times?.bins.reduce((sum, n) => sum + n, 0)).toBe(1001);
  expect(times?.bins.at(-1)).toBe(1);
});

it('bins of durations have no values for an empty night, and accept zeros', () => {
  expect(new DurationBins().result()).toBeNull();
  const bins = new DurationBins();
  bins.add(0);
  expect(bins.result()).toMatchObject({ count: 1, p50Ms: 0, mostMs: 0 });
});
