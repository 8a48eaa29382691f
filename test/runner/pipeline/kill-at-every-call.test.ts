/** Promise: after a crash before or after any call of a port, the next start continues, and nothing is lost or paid twice. */
import { afterAll, describe, expect, it } from 'vitest';
import { isWhole, sampled } from '../../fakes/tier.ts';
import { dieEverywhere } from './kills/die-everywhere.ts';
import { scenarios } from './kills/scenarios.ts';

/** `npm test` kills once in each scenario. */
const someOf = <Place>(places: readonly Place[]): readonly Place[] =>
  isWhole ? places : sampled(places, { ms: 200 });
const tried = { deaths: 0, inResume: 0 };

describe('survives a death at every call, and another one in what resumes it', () => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (_, scenario) => {
    const counted = await dieEverywhere(scenario, someOf);
    tried.deaths += counted.deaths;
    tried.inResume += counted.inResume;
    // How many of a few deaths come in a resume depends on the draw.
    const { deaths, inResume } = isWhole ? scenario.atLeast : { deaths: 1, inResume: 0 };
    expect(counted.deaths).toBeGreaterThanOrEqual(deaths);
    expect(counted.inResume).toBeGreaterThanOrEqual(inResume);
  });
});

it('tries 3,000 deaths and more, at least a third of them in a resume', () => {
  const sum = (what: 'deaths' | 'inResume'): number =>
    scenarios.reduce((total, { atLeast }) => total + atLeast[what], 0);
  expect(sum('deaths')).toBeGreaterThanOrEqual(3_000);
  expect(sum('inResume')).toBeGreaterThanOrEqual(sum('deaths') / 3);
});

afterAll(() => {
  process.stdout.write(`${tried.deaths} deaths, ${tried.inResume} of them in a resume\n`);
});
