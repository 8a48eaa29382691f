/** Promise: what is refused however few are sent hardly slows a run down, and a limit that nobody told of is found soon. */
import { describe, expect, it } from 'vitest';
import { fixedWindow, tokenBucket, type Limit } from '../../fakes/limited-service.ts';
import { within } from '../../fakes/load.ts';
import { isWhole } from '../../fakes/tier.ts';
import { saturate } from '../../fakes/saturated.ts';

const seeds = isWhole ? [1, 2, 3, 4] : [1];
const lastsMs = 40_000;

describe.each([
  { share: 0.02, least: 0.85 },
  { share: 0.05, least: 0.9 },
  { share: 0.2, least: 0.85 },
  { share: 0.8, least: 0.4 },
])('a service that refuses $share of all requests, however few are sent,', ({ share, least }) => {
  it.each(seeds)('takes nearly all of the others (seed %i)', async (seed) => {
    const limit =
      (random: () => number): Limit =>
      () =>
        random() < share;
    const { taken } = await saturate({ seed, perSecond: 100, limit, lastsMs });
    const possible = (lastsMs / 1_000) * 99 * (1 - share);
    expect(taken.length / possible, 'of what is possible').toBeGreaterThan(least);
  });
});

describe.each<{ limit: string; perSecond: number; make: () => Limit }>([
  { limit: 'a bucket of 6', perSecond: 100, make: () => tokenBucket(60, 6) },
  { limit: 'seconds of 60', perSecond: 100, make: () => fixedWindow(60, 1_000) },
  { limit: 'a bucket of 6', perSecond: 1_000, make: () => tokenBucket(60, 6) },
])('60 requests a second, in $limit, of which nobody told,', ({ perSecond, make }) => {
  it.each(seeds.slice(0, 3))(
    `are found within five seconds where ${perSecond} are wanted (seed %i)`,
    async (seed) => {
      const { taken, refused } = await saturate({ seed, perSecond, limit: make, lastsMs });
      const [used, lost] = [within(taken, 5_000, lastsMs), within(refused, 5_000, lastsMs)];
      expect(used / ((60 * (lastsMs - 5_000)) / 1_000), 'of what is allowed').toBeGreaterThan(0.85);
      expect(lost / (used + lost), '429').toBeLessThan(0.08);
    },
  );
});
