/**
 * Runs both sides under the same load: in turn if they would take CPU time from each other, otherwise at the same time.
 */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Load } from './load.ts';
import { compare, type Results } from './measures.ts';
import { makePicture } from './picture.ts';
import { Refusal } from './refusal.ts';
import { runSide, type Result, type SideOptions } from './run-side.ts';
import type { Scenario } from './scenario.ts';
import { ours, peer, type Side } from './sides.ts';
import type { Target } from './target.ts';

export interface Comparing {
  turns: 'in turn' | 'at once' | 'ours alone';
  /** True if our results count even if the peer fails. Default: false. */
  mayPeerFail?: boolean;
  /** True if each round has other execution times. Default: all rounds have the same. */
  isDrawnAnew?: boolean;
  sideOptions?: SideOptions;
  judge(results: Results, load: Load, picture: Buffer): Target[] | Promise<Target[]>;
}

/** Returns a function that runs a scenario. */
export function comparing(how: Comparing): Scenario['run'] {
  return async (scenario, { profile }) => {
    const { load } = scenario;
    const picture = await makePicture(load.pictureBytes, load.seed);
    const results = await runRounds(scenario, picture, how);
    if (profile !== undefined) await profileOurs(load, picture, profile);
    const targets = await how.judge(results, load, picture);
    return { comparisons: compare(load, results), targets, details: results };
  };
}

async function runRounds(scenario: Scenario, picture: Buffer, how: Comparing): Promise<Results> {
  const results: Results = { ours: [], peer: [] };
  for (let round = 1 - scenario.warmUps; round <= scenario.rounds; round++) {
    const seed = scenario.load.seed + (how.isDrawnAnew === true ? Math.max(0, round - 1) : 0);
    const load = { ...scenario.load, seed };
    const run = async (side: Side): Promise<void> => {
      const result = await runOrFail(side, load, picture, how);
      if (round > 0 && result !== undefined) results[side.name].push(result);
      const name = round > 0 ? `round ${round} of ${scenario.rounds}` : 'warm-up';
      const time = result === undefined ? 'did not get through' : `${(result.wallMs / 1_000).toFixed(2)} s`;
      console.error(`${scenario.name}, ${name}, ${side.name}: ${time}`);
    };
    if (how.turns === 'at once') await bothEnded(run(ours), run(peer));
    else {
      // The sides alternate, so that a machine that becomes slower or faster affects both.
      await run(ours);
      if (how.turns === 'in turn') await run(peer);
    }
  }
  return results;
}

/** Waits for all runs, then throws if one failed. A run that is still active would disturb the next round. */
async function bothEnded(...runs: Promise<void>[]): Promise<void> {
  await Promise.allSettled(runs);
  await Promise.all(runs);
}

async function runOrFail(
  side: Side,
  load: Load,
  picture: Buffer,
  { mayPeerFail = false, sideOptions }: Comparing,
): Promise<Result | undefined> {
  try {
    return await runSide(side, load, picture, sideOptions);
  } catch (error) {
    if (!(error instanceof Refusal && mayPeerFail && side === peer)) throw error;
    console.error(error.message);
    return undefined;
  }
}

async function profileOurs(load: Load, picture: Buffer, folder: string): Promise<void> {
  const dir = resolve(folder);
  mkdirSync(dir, { recursive: true });
  await runSide(ours, load, picture, { nodeArgs: ['--cpu-prof', '--cpu-prof-dir', dir] });
  console.log(`\nThe CPU profile of our side is in ${dir}`);
}
