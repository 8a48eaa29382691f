/** Promise: a program that dies at any call of any port is continued as well where the checkpoint is in PostgreSQL. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../../engines/postgres.ts';
import { isWhole, random } from '../../fakes/tier.ts';
import { SharedWorld } from '../../fakes/shared-world.ts';
import { dieEverywhere, type Place } from './kills/die-everywhere.ts';
import { scenarios } from './kills/scenarios.ts';

let server: PostgresServer;

/** Of each scenario; the rules that they try are those of `kill-at-every-call.test.ts`, which tries all. */
const firstDeaths = 1;
const tried = isWhole
  ? scenarios
  : Array.from({ length: 2 }, () => scenarios[random(scenarios.length)]).flatMap((one) => one ?? []);

const some = (places: Place[]): Place[] => places.slice(random(places.length)).slice(0, firstDeaths);

describe.skipIf(noPostgres !== undefined)(
  `in PostgreSQL${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      // Nothing here dies with the machine, and compiling statements took half of the server's time.
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
