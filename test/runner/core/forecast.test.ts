/**
 * Promise: cost and duration of a run are forecast from earlier runs, or else from `pricing`. If neither is
 * known, the forecast is unknown.
 */
import { describe, expect, it } from 'vitest';
import { forecast, type ForecastRequest, type Experience } from '../../../src/runner/core/forecast.ts';

const nothing: Experience = {
  saved: 0,
  spent: undefined,
  jobs: 0,
  sample: 0,
  executionMs: null,
  inFlightMs: null,
  lastRun: null,
};
const seen: Experience = {
  saved: 100,
  spent: 2,
  jobs: 110,
  sample: 100,
  executionMs: 3_000,
  inFlightMs: 8_000,
  lastRun: { jobs: 110, tookMs: 110_000, concurrency: 8 },
};
const asked: ForecastRequest = {
  scenes: 1_000,
  concurrency: 16,
  pricing: { perSecond: 0.001, currency: 'USD' },
  expectMs: undefined,
  limits: {},
  leftMs: undefined,
};

describe('a forecast', () => {
  it('is unknown before anything was rendered, and without a price', () => {
    expect(forecast(asked, nothing)).toMatchObject({ cost: null, time: null, cuts: [] });
    const unpriced = { ...asked, pricing: undefined, limits: { cost: 1 } };
    expect(forecast(unpriced, { ...seen, spent: undefined })).toMatchObject({
      isPriced: false,
      cost: null,
      cuts: [],
    });
    expect(forecast({ ...asked, leftMs: 1 }, nothing)).toMatchObject({ isPriced: true, cuts: [] });
    expect(forecast(asked, { ...seen, spent: 0 }).cost).toBeNull();
  });

  it('takes `pricing` if nothing was rendered yet, if that says all that has a price', () => {
    const pricing = { perSecond: 0.001, perPicture: 0.003, perMegapixel: 0.01, currency: 'USD' };
    expect(forecast({ ...asked, pricing }, { ...nothing, spent: 0 }).cost).toBeNull();
    const expectMs = 8_000;
    const told = forecast(
      { ...asked, expectMs, pricing: { ...pricing, expectMs } },
      { ...nothing, spent: 0 },
    );
    expect(told.cost?.amount).toBeCloseTo(21);
    expect(told.cost?.assumed).toEqual({ ms: 8_000, pictures: 1, pixels: 1e6 });
    expect(told.time).toEqual({ fromMs: 500_000, toMs: 500_000 });
    const byPicture = { ...asked, pricing: { perPicture: 0.003, currency: 'USD' }, limits: { cost: 1 } };
    expect(forecast(byPicture, { ...nothing, spent: 0 })).toMatchObject({
      cost: { amount: 3, assumed: { pictures: 1 } },
      time: null,
      cuts: [{ limit: 'cost', scenes: 333 }],
    });
    expect(forecast(byPicture, seen).cost).toEqual({ amount: 20, perScene: 0.02, currency: 'USD' });
    expect(forecast({ ...asked, expectMs, pricing: undefined }, nothing)).toMatchObject({
      cost: null,
      time: { fromMs: 500_000 },
    });
  });

  it('takes the cost of a saved scene, and spans from full slots to the throughput of the last run', () => {
    expect(forecast(asked, seen)).toMatchObject({
      cost: { amount: 20, perScene: 0.02, currency: 'USD' },
      time: { fromMs: 500_000, toMs: 1_000_000 },
    });
  });

  it('takes no less than one job does, however many may be in flight', () => {
    expect(forecast({ ...asked, scenes: 2 }, { ...seen, lastRun: null }).time).toEqual({
      fromMs: 8_000,
      toMs: 8_000,
    });
  });

  it('says how far the limits let it come', () => {
    const limits = { cost: 12, jobs: 500 };
    expect(forecast({ ...asked, limits, leftMs: 250_000 }, seen).cuts).toEqual([
      { limit: 'jobs', of: 500, submitted: 110, scenes: 390 },
      { limit: 'cost', of: 12, spent: 2, currency: 'USD', scenes: 500 },
      { limit: 'time', leftMs: 250_000, scenes: 250 },
    ]);
    expect(forecast({ ...asked, limits: { cost: 22, jobs: 1_110 }, leftMs: 1_000_000 }, seen).cuts).toEqual(
      [],
    );
  });
});
