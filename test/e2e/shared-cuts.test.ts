/**
 * Promise: four runs share a batch and lose the database at random for longer than their leases. No scene is
 * lost, and none that is set aside is submitted again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import { CuttableProxy, type Cut } from '../fakes/cuttable-proxy.ts';
import { random, runs } from '../fakes/tier.ts';
import { SharedNight, nightMs, nights, outMs } from './shared-night.ts';

let server: PostgresServer;
const cuts: Cut[] = ['both', 'there', 'back'];

describe.skipIf(noPostgres !== undefined)(`shared${noPostgres ? ` (skipped: ${noPostgres})` : ''}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it.each(nights(runs(20, { ms: 15_000, weight: 4 })))(
    'batch survives lost database connections (unanswered: %s, round %i)',
    { timeout: nightMs },
    async (unanswered, round) => {
      const night = await SharedNight.begin(server.url, `cut-${unanswered}-${round}`, unanswered);
      const fallen = await night.strike(async (start) => {
        const url = new URL(server.url);
        const way = await CuttableProxy.to(Number(url.port));
        onTestFinished(() => way.stop());
        url.port = String(way.port);
        return {
          program: start(url.href),
          strike: () => {
            way.cut(cuts[random(cuts.length)] ?? 'both');
            return delay(outMs()).then(() => way.mend());
          },
        };
      });
      expect(fallen).toBeGreaterThan(0);
      await night.expectBooksInOrder(unanswered);
    },
  );
});
