/** Promise: whatever disks, clocks, people and the service do to a batch over a few starts, no picture is wrong, every payment is reported, and in the end every scene is saved. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runs, sampled } from '../fakes/tier.ts';
import { night } from './night.ts';
import { plantedBugs } from './planted.ts';

/** A failure names the seed that replays its night: `NIGHT_SEED=<seed> npm run simulate`. */
const nights = runs(300, { ms: 250, weight: 5 });
const first = Number(process.env['NIGHT_SEED'] ?? 1);

/** Nights of one test. 300 in one test exceeded its timeout on a machine with a load of 25. */
const portion = 50;
const portions = Array.from({ length: Math.ceil(nights / portion) }, (_, i) => first + i * portion);

it.each(portions)('every promise holds in simulated nights, from seed %i', async (from) => {
  const sums = { starts: 0, kills: 0, damages: 0 };
  const wrong: string[] = [];
  const count = Math.min(portion, first + nights - from);
  for (let seed = from; seed < from + count; seed++) {
    const result = await night(seed);
    for (const sentence of result.wrong)
      wrong.push(`NIGHT_SEED=${seed}: ${sentence}\n${result.trace.slice(-20).join('\n')}`);
    sums.starts += result.starts;
    sums.kills += result.kills;
    sums.damages += result.damages;
  }
  expect(wrong.slice(0, 3)).toEqual([]);
  expect(sums.starts).toBeGreaterThan(3 * count);
  expect(sums.kills).toBeGreaterThan(count / 3);
  expect(sums.damages).toBeGreaterThan(count / 10);
});

it('the simulation can plant at least twenty bugs, each at exactly one place', () => {
  expect(plantedBugs.length).toBeGreaterThanOrEqual(20);
  const places = plantedBugs.map(({ name, file, from }) => ({
    name,
    places: readFileSync(file, 'utf8').split(from).length - 1,
  }));
  expect(places).toEqual(plantedBugs.map(({ name }) => ({ name, places: 1 })));
});

it('the simulation repeats a night exactly', async () => {
  for (const seed of sampled([3, 7, 11], { ms: 400 })) {
    const once = await night(seed);
    const twice = await night(seed);
    expect(twice.trace).toEqual(once.trace);
    expect(twice.hash).toBe(once.hash);
  }
});
