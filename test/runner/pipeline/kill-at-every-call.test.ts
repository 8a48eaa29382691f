/** Promise: a program that dies before or after any call of any port is continued by the next start, and nothing is lost or paid twice. */
import { afterAll, describe, expect, it } from 'vitest';
import { sampled } from '../../fakes/sampled.ts';
import { isWhole } from '../../fakes/whole.ts';
import { differences } from './kills/account.ts';
import type { Scenario } from './kills/scenario.ts';
import { scenarios } from './kills/scenarios.ts';
import { walk, type Seen } from './kills/walk.ts';

/** How many deaths a twentieth makes in a resume hangs on the draw a little. */
const share = isWhole ? 1 : 0.04;
const tried = { deaths: 0, inResume: 0 };

describe('survives a death at every call, and another one in what resumes it', () => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (_, scenario) => {
    const counted = await dieEverywhere(scenario);
    tried.deaths += counted.deaths;
    tried.inResume += counted.inResume;
    expect(counted.deaths).toBeGreaterThanOrEqual(Math.floor(share * scenario.atLeast.deaths));
    expect(counted.inResume).toBeGreaterThanOrEqual(Math.floor(share * scenario.atLeast.inResume));
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

/** How many different deaths there were; each was followed by the rest of the night, and by an account of it. */
async function dieEverywhere(scenario: Scenario): Promise<{ deaths: number; inResume: number }> {
  const undisturbed = await walk(scenario);
  expect(differences(scenario, undisturbed, undisturbed), 'undisturbed').toEqual([]);
  const counted = { deaths: 0, inResume: 0 };
  const places = undisturbed.halves.flatMap((halves, step) =>
    scenario.steps[step]?.isSetup === true
      ? []
      : Array.from({ length: halves }, (_, half) => ({ step, first: half + 1 })),
  );
  for (const { step, first } of sampled(places)) {
    const seconds = await dieAt(scenario, undisturbed, step, first);
    counted.deaths += 1 + seconds;
    counted.inResume += seconds;
  }
  return counted;
}

/** How many deaths followed in what resumes it. */
async function dieAt(scenario: Scenario, undisturbed: Seen, step: number, first: number): Promise<number> {
  const every = scenario.everyNthInResume;
  // Another one each time, so that in the end all have had their turn.
  for (let nth = 0; ; nth++) {
    const kills = [first, 1 + ((first * 7) % every) + nth * every];
    const seen = await walk(scenario, { step, kills });
    const place = `step ${step + 1}, killed at half calls ${kills.slice(0, seen.deaths).join(' and ')}`;
    expect(differences(scenario, seen, undisturbed), place).toEqual([]);
    seen.world.db.close();
    expect(seen.deaths, place).toBeGreaterThanOrEqual(1);
    if (seen.deaths === 1) return nth;
  }
}
