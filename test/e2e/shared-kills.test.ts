/**
 * Promise: four runs share a batch and are killed and stopped at random. No scene is lost, and none that is
 * set aside is submitted again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it, onTestFailed } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import { random, runs } from '../fakes/tier.ts';
import { SharedNight, nightMs, nights, outMs } from './shared-night.ts';

let server: PostgresServer;

describe.skipIf(noPostgres !== undefined)(`shared${noPostgres ? ` (skipped: ${noPostgres})` : ''}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it.each(nights(runs(20, { ms: 15_000, weight: 4 })))(
    'batch survives random kills and stops (unanswered: %s, round %i)',
    { timeout: nightMs },
    async (unanswered, round) => {
      onTestFailed(() => void process.stdout.write(server.log()));
      const night = await SharedNight.begin(server.url, `${unanswered}-${round}`, unanswered);
      await night.strike((start) => {
        const program = start(server.url);
        const signal = (name: NodeJS.Signals): boolean => program.child.kill(name);
        return {
          program,
          strike: () => {
            if (random(2) === 0) return void signal('SIGKILL');
            signal('SIGSTOP');
            return delay(outMs()).then(() => void signal('SIGCONT'));
          },
        };
      });
      await night.expectBooksInOrder(unanswered);
    },
  );
});
