/** Lets the program die at every call of a scenario, and again in what resumes it, and holds each night against its account. */
import { expect } from 'vitest';
import { differences } from './death-rules.ts';
import type { Scenario } from './scenario.ts';
import { walk, type MakeWorld, type Seen } from './walk.ts';

/** A step, and the half call of it that is the last. */
export interface Place {
  step: number;
  first: number;
}

/** How many different deaths there were; each was followed by the rest of the night, and by an account of it. */
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

/** How many deaths followed in what resumes it. */
async function dieAt(
  scenario: Scenario,
  undisturbed: Seen,
  { step, first }: Place,
  makeWorld?: MakeWorld,
): Promise<number> {
  const every = scenario.everyNthInResume;
  // Another one each time, so that in the end all have had their turn.
  for (let nth = 0; ; nth++) {
    const kills = [first, 1 + ((first * 7) % every) + nth * every];
    const seen = await walk(scenario, { step, kills }, makeWorld);
    const place = `step ${step + 1}, killed at half calls ${kills.slice(0, seen.deaths).join(' and ')}`;
    expect(differences(scenario, seen, undisturbed), place).toEqual([]);
    await seen.world.close();
    // A run on a database makes now one call more, now one less: the last one of a step may not come.
    if (seen.deaths === 0 && makeWorld !== undefined && first > 1)
      return dieAt(scenario, undisturbed, { step, first: first - 1 }, makeWorld);
    expect(seen.deaths, place).toBeGreaterThanOrEqual(1);
    if (seen.deaths === 1) return nth;
  }
}
