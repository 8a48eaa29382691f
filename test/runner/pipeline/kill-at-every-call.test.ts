/**
 * Promise: after a crash before or after any call of a port, the next run continues, and nothing is lost or
 * paid twice.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { firstTier, isWhole, sampled } from '../../fakes/tier.ts';
import { dieEverywhere } from './kills/die-everywhere.ts';
import { scenarios } from './kills/scenarios.ts';

/** `npm test` crashes each scenario as often as its time budget allows. The longer tier tries every place. */
const someOf = <Place>(places: readonly Place[]): readonly Place[] =>
  isWhole ? places : sampled(places, { ms: 200 });
const tried = { deaths: 0, inResume: 0 };

describe('a batch survives a crash at every call, and another one in the resumed run', () => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (_, scenario) => {
    const counted = await dieEverywhere(scenario, someOf);
    tried.deaths += counted.deaths;
    tried.inResume += counted.inResume;
    // With a few random crashes, none may fall into a resumed run.
    const { deaths, inResume } = isWhole ? scenario.atLeast : { deaths: 1, inResume: 0 };
    expect(counted.deaths).toBeGreaterThanOrEqual(deaths);
    expect(counted.inResume).toBeGreaterThanOrEqual(inResume);
  });
});

firstTier.it('at least 3,000 crashes are tried, a third of them in resumed runs', () => {
  const sum = (what: 'deaths' | 'inResume'): number =>
    scenarios.reduce((total, { atLeast }) => total + atLeast[what], 0);
  expect(sum('deaths')).toBeGreaterThanOrEqual(3_000);
  expect(sum('inResume')).toBeGreaterThanOrEqual(sum('deaths') / 3);
});

afterAll(() => {
  process.stdout.write(`${tried.deaths} deaths, ${tried.inResume} of them in a resume\n`);
});
