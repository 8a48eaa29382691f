/**
 * Promise: after a tenth of the work, the forecast of the remaining time is off by at most a third of the
 * total time.
 */
import { expect, it } from 'vitest';
import { FinishedScenes } from '../../../src/runner/core/forecast.ts';
import { isWhole } from '../../fakes/tier.ts';
import { forecasts, type Night } from './night.ts';

const minuteMs = 60_000;
const seeds = Array.from({ length: isWhole ? 8 : 1 }, (_, i) => i + 1);
const shape = { medianMs: 20_000, sigma: 0.7, scenes: 3_000, workersAt: () => 16 };

/**
 * Simulated runs. `fromMs` is the time from which the forecast must be right, because an earlier change
 * cannot be predicted.
 */
const nights: [string, Omit<Night, 'seed'>, fromMs?: number][] = [
  ['jobs that all take the same', { ...shape, sigma: 0 }],
  ['jobs of nearly one length', { ...shape, sigma: 0.1 }],
  ['jobs of uneven length', { ...shape, sigma: 0.5 }],
  ['jobs of very uneven length', { ...shape, sigma: 1 }],
  ['many workers for very uneven jobs', { ...shape, sigma: 1, scenes: 10_000, workersAt: () => 40 }],
  ['few scenes', { ...shape, sigma: 0.35, scenes: 200 }],
  ['hundreds of workers', { ...shape, sigma: 0.35, scenes: 5_000, workersAt: () => 500 }],
  ['jobs that wait at the service', { ...shape, sigma: 1, queued: 48 }],
  ['scenes that wait for another attempt', { ...shape, sigma: 1, failing: 0.3, retryMs: minuteMs }],
  ['workers that have to be started', { ...shape, workersAt: (at) => (at < 5 * minuteMs ? 0 : 16) }],
  [
    'workers that come one after the other',
    { ...shape, workersAt: (at) => Math.min(16, 1 + Math.floor(at / 30_000)) },
    12 * minuteMs,
  ],
  [
    'half of the workers going away',
    { ...shape, workersAt: (at) => (at < 15 * minuteMs ? 32 : 16) },
    19 * minuteMs,
  ],
  [
    'as many workers again coming',
    { ...shape, scenes: 4_000, workersAt: (at) => (at < 15 * minuteMs ? 16 : 32) },
    19 * minuteMs,
  ],
  [
    'a service that stood still for ten minutes',
    { ...shape, workersAt: (at) => (at > 20 * minuteMs && at < 30 * minuteMs ? 0 : 16) },
    34 * minuteMs,
  ],
];

it.each(nights)('the forecast is within a third with %s', (_, night, fromMs = 0) => {
  for (const seed of seeds) {
    const told = forecasts({ ...night, seed }).filter(({ done, at }) => done >= 10 && at >= fromMs);
    expect(told.length).toBeGreaterThan(5);
    for (const { done, ratio } of told) {
      expect.soft(Math.abs(ratio - 1), `seed ${seed} at ${done} %: ${ratio}`).toBeLessThan(1 / 3);
    }
  }
});

it('the forecast is unknown until a few scenes were finished, and nothing if none is left', () => {
  const finished = new FinishedScenes(0);
  finished.add(1_000);
  finished.add(2_000);
  expect(finished.leftMs(2_000, 10, 1)).toBeUndefined();
  expect(finished.leftMs(2_000, 0, 0)).toBe(0);
  finished.add(3_000);
  expect(finished.leftMs(3_000, 10, 1)).toBeGreaterThan(0);
});

it('the forecast does not grow without end while nothing is finished', () => {
  const finished = new FinishedScenes(0);
  for (let i = 1; i <= 100; i++) {
    finished.addJobTime(1_000);
    finished.add(i * 1_000);
  }
  const soon = finished.leftMs(101_000, 100, 1) ?? Infinity;
  const hoursLater = finished.leftMs(10_000_000, 100, 1) ?? Infinity;
  expect(hoursLater).toBeLessThan(1.1 * soon);
});

it('the forecast keeps a night of any length in the same space', () => {
  const finished = new FinishedScenes(0);
  for (let i = 0; i < 20_000; i++) {
    finished.addJobTime(i);
    finished.add(i * 997);
  }
  expect(finished.gapsMs.length).toBeLessThanOrEqual(4_096);
  expect(finished.times.length).toBeLessThanOrEqual(150);
});
