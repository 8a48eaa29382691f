/**
 * Promise: whatever kills the program and whatever the service does wrong, nothing is lost, no picture is
 * wrong, and every payment is reported.
 */
import { expect, it } from 'vitest';
import { describeResult } from '../chaos/describe-result.ts';
import { runChaos } from '../chaos/run-chaos.ts';
import { seed } from '../fakes/tier.ts';
import { folderWith } from './cli.ts';

/** A short form of `npm run chaos`. */
const kills = 12;
const scenes = 120;
/** Far longer than the test needs, because the program waits itself and the machine may be busy. */
const maxMs = 300_000;

it(
  `keeps every promise through ${kills} kills against a service that does everything wrong`,
  async () => {
    const result = await runChaos({ kills, scenes, seed, dir: folderWith({}) });
    expect(result.complaints, `seed ${seed}: ${describeResult(result, 0)}`).toEqual([]);
    const saved = result.books.scenes.filter(({ state }) => state === 'saved');
    expect(saved.length, 'bad luck alone makes few scenes fail').toBeGreaterThan(scenes * 0.9);
    expect(result.counts.metAtWork, 'the kills met runs at work').toBeGreaterThan(kills / 2);
  },
  maxMs,
);
