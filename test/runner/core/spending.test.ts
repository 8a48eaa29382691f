/**
 * Promise: a billed job is never counted as less than it may cost, and a lost job counts as an average one.
 */
import { describe, expect, it } from 'vitest';
import {
  addBrought,
  batchCost,
  broughtBy,
  expectedMost,
  formatCost,
  hasPrice,
  nothingBrought,
  nothingStated,
  allowedSubmissions,
  withEnd,
  type BatchSpending,
  type JobEnd,
  type Pricing,
} from '../../../src/runner/core/spending.ts';

const file = (width: number, label?: string) => ({
  file: `${width}.png`,
  width,
  height: 1_000,
  bytes: 9,
  sha256: 'ab',
  ...(label !== undefined && { label }),
});
/** Output of two jobs: three pictures with five megapixels in all. The file beside them is not a picture. */
const brought = addBrought(
  broughtBy([file(1_000), file(2_000), file(500, 'depth')]),
  broughtBy([file(2_000)]),
);
const nothing: BatchSpending = {
  jobs: 0,
  executedMs: 0,
  untold: 0,
  untimed: 0,
  rendered: 0,
  brought: nothingBrought,
  times: [],
  ...nothingStated,
};
const currency = 'USD';
const clip = (seconds?: number) => ({
  ...file(1_000),
  ...(seconds !== undefined && { output: { clip: { durationMs: seconds * 1_000 } } }),
});

describe('the amount spent', () => {
  it('adds up all jobs with a price', () => {
    const spending = { ...nothing, jobs: 2, executedMs: 4_000, rendered: 2, brought, times: [2_000, 2_000] };
    const spent = (pricing: object) => batchCost(spending, 0, { currency, ...pricing }).spent;
    expect(spent({ perPicture: 0.01 })).toBeCloseTo(0.03);
    expect(spent({ perMegapixel: 0.01 })).toBeCloseTo(0.05);
    expect(spent({ perSecond: 0.01 })).toBeCloseTo(0.04);
    expect(spent({ perSecond: 0.01, perPicture: 0.01, perMegapixel: 0.01 })).toBeCloseTo(0.12);
  });

  it('counts a job without recorded pictures as an average one, or as one picture if there is no other', () => {
    const pricing = { perPicture: 0.02, perMegapixel: 0.003, currency };
    expect(batchCost({ ...nothing, rendered: 4, brought }, 0, pricing).spent).toBeCloseTo(2 * (0.06 + 0.015));
    expect(batchCost({ ...nothing, untold: 2, untimed: 2, rendered: 2 }, 3, pricing)).toMatchObject({
      spent: 2 * 0.023,
      inFlight: 3 * 0.023,
    });
    // Jobs in flight count with the highest number of pictures, each of the largest size.
    expect(batchCost({ ...nothing, rendered: 2, brought }, 1, pricing).inFlight).toBeCloseTo(0.04 + 0.012);
  });

  it('counts the seconds of clips, and takes a clip of unknown duration for an average one', () => {
    const pricing = { perSecondOfVideo: 0.1, currency };
    const spent = (rendered: number, ...saved: ReturnType<typeof clip>[][]) => {
      const all = saved.map(broughtBy).reduce(addBrought, nothingBrought);
      return batchCost({ ...nothing, rendered, brought: all }, 1, pricing);
    };
    expect(spent(2, [clip(4)], [clip(8)])).toMatchObject({ spent: 1.2, inFlight: 0.8 });
    expect(spent(2, [clip(4), clip(8)], [clip()]).spent).toBeCloseTo(1.8);
    // One job was lost. It counts with two clips, as the other job.
    expect(spent(2, [clip(4), clip(8)])).toMatchObject({ spent: 2.4, inFlight: 1.6 });
    expect(spent(2)).toMatchObject({ spent: 1, inFlight: 0.5 });
  });

  it('uses `pricing.expect` for jobs without a reported time', () => {
    const pricing = { perSecond: 0.01, expectMs: 8_000, currency };
    expect(batchCost({ ...nothing, untold: 1, untimed: 3, rendered: 3 }, 2, pricing)).toMatchObject({
      spent: 0.24,
      inFlight: 0.16,
    });
    const timed = { ...nothing, executedMs: 2_000, untold: 1, untimed: 1, rendered: 2, times: [2_000] };
    expect(batchCost(timed, 0, pricing).spent).toBeCloseTo(0.04);
  });

  it('counts a job that is lost as one usual job, at most as long as any may execute', () => {
    const lost = { ...nothing, executedMs: 30_000, untold: 2, untimed: 2, times: [4_000, 6_000, 20_000] };
    const spent = (maxMs: number, spending: BatchSpending = lost) =>
      batchCost(spending, 0, { perSecond: 0.01, expectMs: 9_000, maxMs, currency }).spent;
    expect(spent(60_000)).toBeCloseTo(0.42);
    expect(spent(5_000)).toBeCloseTo(0.4);
    // The limit also applies before any time is known. Reported times are never reduced.
    expect(spent(5_000, { ...nothing, untold: 2, untimed: 2 })).toBeCloseTo(0.1);
    expect(spent(5_000, { ...nothing, executedMs: 30_000, times: [30_000] })).toBeCloseTo(0.3);
  });

  const seen = { reportedMs: undefined, seenMs: 7_000 };
  it.each<[string, JobEnd, Partial<BatchSpending>]>([
    [
      'is saved: as reported',
      { reportedMs: 2_000, seenMs: 7_000, made: [file(1_000)] },
      { executedMs: 2_000, rendered: 1, times: [2_000] },
    ],
    [
      'is saved: else as seen',
      { ...seen, made: [file(1_000)] },
      { executedMs: 7_000, rendered: 1, times: [7_000] },
    ],
    [
      'is saved, and nobody knows how long it took',
      { ...seen, seenMs: undefined, made: [file(1_000)] },
      { untimed: 1, rendered: 1 },
    ],
    ['was bad', { ...seen, made: 'blank-picture' }, { executedMs: 7_000, rendered: 1 }],
    ['was ended by the service', { ...seen, made: 'job-failed' }, { executedMs: 7_000 }],
    ['was ended by the service at once', { ...seen, seenMs: undefined, made: 'job-failed' }, {}],
    [
      'is lost, however long it was waited for',
      { ...seen, made: 'unknown' },
      { untold: 1, untimed: 1, rendered: 1 },
    ],
    [
      'states its price',
      { ...seen, reportedMs: 2_000, made: [file(1_000)], cost: { at: 'cost', amount: 0.5 } },
      { times: [2_000], statedJobs: 1, stated: 0.5, prices: [0.5] },
    ],
    [
      'has failed and states its price',
      { ...seen, made: 'blank-picture', cost: { at: 'cost', amount: 0.5 } },
      { statedJobs: 1, stated: 0.5 },
    ],
    [
      'is saved and states no price',
      { ...seen, made: [file(1_000)], cost: { at: 'cost' } },
      { executedMs: 7_000, rendered: 1, times: [7_000], unstated: 1 },
    ],
    [
      'has failed and states no price',
      { ...seen, made: 'job-failed', cost: { at: 'cost' } },
      { executedMs: 7_000 },
    ],
    [
      'is lost after its time was told',
      { ...seen, reportedMs: 2_000, made: 'unknown' },
      { executedMs: 2_000, untold: 1, rendered: 1, times: [2_000] },
    ],
  ])('adds a job that %s', (_, end, added) => {
    const { brought: _brought, ...rest } = withEnd(nothing, end, 0.5);
    const { brought: _none, ...before } = nothing;
    expect(rest).toEqual({ ...before, ...added });
  });
});

it.each([
  [0, undefined, '0.00 USD'],
  [1.239, 5, '1.24 of 5.00 USD'],
  [0.0042, 0.5, '0.0042 of 0.50 USD'],
  [1e-12, undefined, '0.00000000 USD'],
])('%s of %s is written as %s', (spent, limit, text) => {
  expect(formatCost({ spent, currency, ...(limit !== undefined && { limit }) })).toBe(text);
});

it('pricing is set if one of its rates is set', () => {
  expect([{ perSecond: 1 }, { perPicture: 1 }, { perMegapixel: 0 }, {}].map(hasPrice)).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

it('expects twice the longest job while few are known, and then a time that hardly any exceeds', () => {
  const times = Array.from({ length: 20 }, (_, index) => 1_000 * (index + 1));
  expect([[], times.slice(0, 19), times].map(expectedMost)).toEqual([undefined, 38_000, 19_000]);
});

describe('how many more may be sent', () => {
  const pricing = { perPicture: 0.003, expectMs: 1_000, currency };
  const one = broughtBy([file(1_000)]);
  const room = (inFlight: number, saved: number, prices: Pricing = pricing) => {
    const all = Array.from({ length: saved }, () => one).reduce(addBrought, nothingBrought);
    return allowedSubmissions(
      inFlight,
      { ...nothing, rendered: saved, brought: all },
      [],
      { cost: 0.03 },
      prices,
    );
  };

  it('is the budget that the jobs leave, whether or not there is a price', () => {
    const spending = { ...nothing, jobs: 3 };
    expect(allowedSubmissions(0, spending, [], { jobs: 5, cost: 1 }, undefined)).toBe(2);
    expect(allowedSubmissions(0, spending, [], { jobs: 5 }, pricing)).toBe(2);
    expect(allowedSubmissions(0, spending, [], {}, pricing)).toBe(Infinity);
  });

  it('is exact by the price of a picture', () => {
    expect([1, 3, 9, 10].map((saved) => room(0, saved))).toEqual([9, 7, 1, 0]);
    expect(room(7, 3)).toBe(0);
  });

  it('sends one job until it is known how many pictures a job brings, unless the user says what a job is', () => {
    const { expectMs: _, ...unsaid } = pricing;
    expect([0, 1, 2, 20].map((saved) => room(0, saved, unsaid))).toEqual([1, 3, 5, 0]);
    expect(room(1, 0, unsaid)).toBe(0);
    // Without a limit, no job waits to learn the price.
    expect(allowedSubmissions(5, nothing, [], {}, unsaid)).toBe(Infinity);
  });

  it('sends one job until it is known how long a clip lasts, whatever `expect` says', () => {
    const byVideo = { perSecondOfVideo: 0.1, expectMs: 60_000, currency };
    const after = (...clips: ReturnType<typeof clip>[]) => {
      const all = clips.map((each) => broughtBy([each])).reduce(addBrought, nothingBrought);
      return allowedSubmissions(
        0,
        { ...nothing, rendered: clips.length, brought: all },
        [],
        { cost: 9 },
        byVideo,
      );
    };
    expect([after(), after(clip()), after(clip(4)), after(clip(4), clip(8))]).toEqual([1, 1, 3, 5]);
    const many = Array.from({ length: 20 }, () => clip(4));
    // The limit of 9 USD leaves 1 USD, and each job may cost as much as the most expensive one.
    expect(after(...many)).toBe(3);
    expect(allowedSubmissions(0, nothing, [], {}, byVideo)).toBe(Infinity);
  });

  it('leaves room for several pictures a job until one is saved, and sends one if their size counts', () => {
    expect(room(0, 0)).toBe(3);
    const bySize = { perMegapixel: 0.00001, currency };
    expect(allowedSubmissions(0, nothing, [], { cost: 1 }, bySize)).toBe(1);
    const many = { ...one, jobs: 20, pictures: 20, pixels: 2e7 };
    expect(
      allowedSubmissions(0, { ...nothing, rendered: 20, brought: many }, [], { cost: 1 }, bySize),
    ).toBeGreaterThan(9_999);
  });
});
