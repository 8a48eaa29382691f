/**
 * Kills the program at every half call of a scenario, and again in the run that resumes it. Compares the
 * result of each with its account. A half call is the moment before or after a call.
 */
import { expect } from 'vitest';
import { differences } from './death-rules.ts';
import type { Scenario } from './scenario.ts';
import { walk, type MakeWorld, type Seen } from './walk.ts';

/** A step, and the half call at which its first run is killed. */
export interface Place {
  step: number;
  first: number;
}

/**
 * Runs the scenario once for each chosen place, kills the program there, and checks the account at the end.
 * Returns the number of kills, in all and in resumed runs.
 */
export async function dieEverywhere(
  scenario: Scenario,
  choose: (places: Place[]) => readonly Place[],
  makeWorld?: MakeWorld,
): Promise<{ deaths: number; inResume: number }> {
  const undisturbed = await walk(scenario, undefined, makeWorld);
  expect(differences(scenario, undisturbed, undisturbed), 'undisturbed').toEqual([]);
  const counted = { deaths: 0, inResume: 0 };
  const places = undisturbed.halves.flatMap((halves, step) =>
    scenario.steps[step]?.isSetup === true
      ? []
      : Array.from({ length: halves }, (_, half) => ({ step, first: half + 1 })),
  );
  for (const { step, first } of choose(places)) {
    const seconds = await dieAt(scenario, undisturbed, { step, first }, makeWorld);
    counted.deaths += 1 + seconds;
    counted.inResume += seconds;
  }
  await undisturbed.world.close();
  return counted;
}

/** Returns the number of kills in the resumed runs. */
async function dieAt(
  scenario: Scenario,
  undisturbed: Seen,
  { step, first }: Place,
  makeWorld?: MakeWorld,
): Promise<number> {
  const every = scenario.everyNthInResume;
  // The offset depends on `first`, so that over all places every half call of the resumed run is tried.
  for (let nth = 0; ; nth++) {
    const kills = [first, 1 + ((first * 7) % every) + nth * every];
    const seen = await walk(scenario, { step, kills }, makeWorld);
    const place = `step ${step + 1}, killed at half calls ${kills.slice(0, seen.deaths).join(' and ')}`;
    expect(differences(scenario, seen, undisturbed), place).toEqual([]);
    await seen.world.close();
    // With a database, a run sometimes makes one call more or fewer, so the last half call of a step may
    // never come.
    if (seen.deaths === 0 && makeWorld !== undefined && first > 1)
      return dieAt(scenario, undisturbed, { step, first: first - 1 }, makeWorld);
    expect(seen.deaths, place).toBeGreaterThanOrEqual(1);
    if (seen.deaths === 1) return nth;
  }
}
