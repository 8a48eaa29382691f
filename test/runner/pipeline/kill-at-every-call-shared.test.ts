/**
 * Promise: with the checkpoint in PostgreSQL, a run that crashed at any call of a port can be continued as
 * well.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';
import { isWhole, random } from '../../fakes/tier.ts';
import { SharedWorld } from '../../fakes/shared-world.ts';
import { dieEverywhere, type Place } from './kills/die-everywhere.ts';
import { scenarios } from './kills/scenarios.ts';

let server: PostgresServer;

/** Number of crashes in each scenario. `kill-at-every-call.test.ts` tries every call with the same rules. */
const firstDeaths = 1;
const tried = isWhole
  ? scenarios
  : Array.from({ length: 2 }, () => scenarios[random(scenarios.length)]).flatMap((one) => one ?? []);

const some = (places: Place[]): Place[] => places.slice(random(places.length)).slice(0, firstDeaths);

describe.skipIf(noPostgres !== undefined)(
  `in PostgreSQL${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      // No test here loses power, so fsync is off. Compiling statements took half of the server's time, so
      // JIT is off.
      server = await startPostgres('fsync=off', 'jit=off');
    });
    afterAll(() => server.stop());

    it.each([...new Set(tried)].map((scenario) => [scenario.name, scenario] as const))(
      '%s',
      async (_, scenario) => {
        const makeWorld = (behaviour: typeof scenario.behaviour) => SharedWorld.make(server.url, behaviour);
        const { deaths } = await dieEverywhere(scenario, some, makeWorld);
        expect(deaths).toBeGreaterThanOrEqual(firstDeaths);
      },
    );
  },
);
