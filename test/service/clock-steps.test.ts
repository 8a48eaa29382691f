/**
 * Promise: if the system clock is changed or the machine sleeps, no job or result is lost and no client waits
 * longer.
 */
import { expect, it, vi } from 'vitest';
import { JobClock } from '../../src/service/jobs/job-expiry.ts';
import {
  accepted,
  askStatus,
  makeDataDir,
  openService,
  openStore,
  statusOnce,
  submit,
} from './service-harness.ts';

const hour = 3_600_000;
const retentionMs = 30 * 60_000;

/** The two clocks of a machine. `tell` resolves once the service has noticed that they differ. */
class Machine {
  wall = 1_800_000_000_000;
  elapsed = 5_000;
  readonly clocks = { now: () => this.wall, elapsed: () => this.elapsed };

  pass(ms: number): void {
    this.wall += ms;
    this.elapsed += ms;
  }
}

async function whenNoticed(troubles: string[], text: string): Promise<void> {
  await vi.waitFor(() => expect(troubles.join('\n')).toContain(text), { timeout: 20_000 });
}

it.each([
  [2 * hour, 'forward by 2 h 0 min'],
  [25 * hour, 'forward by 25 h 0 min'],
  [-25 * hour, 'back by 25 h 0 min'],
])('a clock step of %d ms leaves results, running jobs and the queue as before', async (stepMs, words) => {
  const machine = new Machine();
  const { url, held, troubles } = await openService({ retentionMs, ...machine.clocks });
  const done = await submit(url, { scene: 'done' });
  (await held.next()).complete('done');
  await statusOnce(url, done, 'COMPLETED');
  const running = await submit(url, { scene: 'running' });
  const run = await held.next();
  const waiting = await submit(url, { scene: 'waiting' });

  machine.pass(4_000);
  machine.wall += stepMs;
  await whenNoticed(troubles, `the system clock moved ${words}`);
  expect((await askStatus(url, done)).status).toBe(200);
  expect((await askStatus(url, waiting)).json).toMatchObject({ status: 'IN_QUEUE' });
  run.complete('done after all');
  const ended = await statusOnce(url, running, 'COMPLETED');
  expect(ended).toMatchObject({ executionTime: 4_000 });

  machine.pass(retentionMs);
  expect((await askStatus(url, done)).status).toBe(404);
  expect(troubles).toHaveLength(1);
});

it('a start after a clock step continues with the same ages', async () => {
  const machine = new Machine();
  const dataDir = await makeDataDir();
  const first = await openService({ dataDir, retentionMs, ...machine.clocks });
  const done = await submit(first.url, { scene: 'done' });
  (await first.held.next()).complete('done');
  await statusOnce(first.url, done, 'COMPLETED');
  const waiting = await submit(first.url, { scene: 'waiting' });
  machine.wall += 25 * hour;
  await whenNoticed(first.troubles, 'the system clock moved');
  await first.close();

  machine.pass(retentionMs - 1_000);
  machine.elapsed = 17;
  const second = await openService({ dataDir, retentionMs, workers: 0, ...machine.clocks });
  expect((await askStatus(second.url, done)).status).toBe(200);
  expect((await askStatus(second.url, waiting)).json).toMatchObject({ status: 'IN_QUEUE' });
  machine.pass(1_000);
  expect((await askStatus(second.url, done)).status).toBe(404);
  expect(second.troubles).toEqual([]);
});

it('an empty store forgets a clock step', async () => {
  const machine = new Machine();
  const dir = await makeDataDir();
  const options = { retentionMs, ...machine.clocks };
  const first = await openStore(options, dir);
  const id = await accepted(first, 'a', '{}');
  machine.wall += hour;
  expect([await first.keepClockStep(), await first.keepClockStep()]).toEqual([hour, 0]);
  expect(first.clock.now()).toBe(machine.wall - hour);
  await first.cancel('a', id);
  first.close();

  const second = await openStore(options, dir);
  expect(second.clock.now()).toBe(machine.wall - hour);
  second.close();
  machine.pass(retentionMs);
  const third = await openStore(options, dir);
  expect([third.clock.now(), await third.keepClockStep()]).toEqual([machine.wall, 0]);
});

it('a clock step does not matter if another machine leads next', async () => {
  const { file } = await openStore();
  const machine = new Machine();
  const clocks = { wall: machine.clocks.now, elapsed: machine.clocks.elapsed };
  const clock = new JobClock(file.db, clocks, true);
  machine.wall += hour;
  expect([clock.stepMs, clock.now()]).toEqual([0, machine.wall - hour]);
});
