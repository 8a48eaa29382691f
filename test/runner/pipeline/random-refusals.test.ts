/** Promise: refusals that do not depend on the rate do not slow a run down. */
import { describe, expect, it } from 'vitest';
import { load, within } from '../../fakes/load.ts';
import { isWhole } from '../../fakes/tier.ts';
import { defaultSettings } from '../../fakes/world.ts';

const seeds = Array.from({ length: isWhole ? 20 : 1 }, (_, i) => i + 1);
const lastsMs = isWhole ? 40_000 : 15_000;
/** Requests per second that the rate limit allows. */
const perSecond = (0.99 * defaultSettings.rate.submit.perTenSeconds) / 10;

describe.each([0.02, 0.05, 0.2])(
  'a service that refuses %f of all submissions, however few are sent,',
  (share) => {
    it.each(seeds)('accepts all others at the full rate (seed %i)', async (seed) => {
      const { accepted, world } = await load({
        seed,
        isOneTooMany: (_now, _open, random) => random() < share,
        executionMs: 100,
        settings: { concurrency: 100 },
        scenes: lastsMs / 10,
        lastsMs,
      });
      const possible = perSecond * (1 - share);
      expect(accepted.length / ((possible * lastsMs) / 1_000), 'of what is possible').toBeGreaterThan(0.95);
      expect(longestSlump(accepted, possible / 2), 'seconds below half of it').toBeLessThanOrEqual(10);
      expect(world.rows("SELECT state FROM scenes WHERE state = 'failed'")).toEqual([]);
    });
  },
);

/** Returns the longest time, in consecutive seconds, with fewer than `least` requests per second. */
function longestSlump(instants: number[], least: number): number {
  let longest = 0;
  let slump = 0;
  for (let from = 0; from < lastsMs; from += 1_000) {
    slump = within(instants, from, from + 1_000) < least ? slump + 1 : 0;
    longest = Math.max(longest, slump);
  }
  return longest;
}
