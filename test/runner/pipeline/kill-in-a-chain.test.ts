/**
 * Promise: if either batch of a chain crashes at any call, the chain can be continued. The second batch uses
 * the recorded pictures of the first, and nothing is paid twice.
 */
import { describe, expect, it } from 'vitest';
import type { PutBackChoice } from '../../../src/runner/core/retry-policy.ts';
import { isWhole, sampled } from '../../fakes/tier.ts';
import { manifestOf } from '../../fakes/world.ts';
import { Chain } from './kills/chain.ts';
import { dieEverywhere } from './kills/die-everywhere.ts';
import type { Scenario } from './kills/scenario.ts';

/**
 * Chain of the current walk. The second batch reads its list from the first, whatever manifest the step
 * states.
 */
let chain: Chain;

const listed = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
]);

const edited = manifestOf([
  ['a', 'sea'],
  ['b', 'hills at night'],
  ['d', 'a new row'],
]);

const again: PutBackChoice = { kinds: [], ids: ['a'], notAt: undefined, isAgain: true };

const runSecond = (): Promise<void> => chain.runSecond();

/** Crashes are in the first batch. The second also reads the first as a crash left it. */
const inTheFirst: Scenario = {
  name: 'in the first',
  steps: [
    { what: 'run', manifest: listed, afterDeath: 'on' },
    { what: 'run', manifest: listed, before: runSecond },
    { what: 'retry', choice: again, before: runSecond },
    { what: 'run', manifest: edited, before: runSecond, afterDeath: 'on' },
    { what: 'run', manifest: edited, before: runSecond },
    { what: 'run', manifest: edited, isSetup: true, before: runSecond, wrong: () => chain.wrong() },
  ],
  everyNthInResume: 97,
  atLeast: { deaths: 390, inResume: 30 },
};

const inTheSecond: Scenario = {
  name: 'in the second',
  steps: [
    {
      what: 'run',
      manifest: listed,
      before: () => chain.first.run({ manifest: listed }),
      wrong: () => chain.wrong(),
    },
    {
      what: 'run',
      manifest: listed,
      // A picture is replaced, one row is edited, one is added and one is removed.
      before: async () => {
        await chain.first.putBack(again);
        await chain.first.run({ manifest: edited, afterMs: 1_000 });
      },
      wrong: () => chain.wrong(),
    },
    { what: 'run', manifest: listed, wrong: () => chain.wrong() },
  ],
  everyNthInResume: 97,
  atLeast: { deaths: 630, inResume: 310 },
};

describe('a chain of batches survives a crash at every call', () => {
  it.each([
    ['first', inTheFirst],
    ['second', inTheSecond],
  ] as const)('in the %s', async (which, scenario) => {
    const counted = await dieEverywhere(
      scenario,
      (places) => (isWhole ? places : sampled(places, { ms: 40 })),
      async () => {
        chain = new Chain();
        return chain[which];
      },
    );
    process.stdout.write(`in the ${which}: ${counted.deaths} deaths, ${counted.inResume} in a resume\n`);
    const { deaths, inResume } = isWhole ? scenario.atLeast : { deaths: 1, inResume: 0 };
    expect(counted.deaths).toBeGreaterThanOrEqual(deaths);
    expect(counted.inResume).toBeGreaterThanOrEqual(inResume);
  });
});
