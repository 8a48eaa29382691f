/**
 * Promise: a 404 for a job is believed only if the endpoint is known to exist. An endpoint that knows no job
 * halts the run.
 */
import { expect, it } from 'vitest';
import type { HealthReply, StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { moveJob } from '../../fakes/service-jobs.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const gone: StatusReply = { kind: 'missing', text: '404 page not found' };
const noHealth: HealthReply = { kind: 'unknown', text: '404' };

/** Returns a world whose run crashed with `count` jobs in flight. */
async function inFlight(count: number, waiting = 0): Promise<World> {
  const world = new World();
  await world.run({ manifest: list(count + waiting), settings: { concurrency: count }, until: 900 });
  expect(world.service.jobs).toHaveLength(count);
  return world;
}

it('submits exactly the expired jobs again, after all jobs were polled, when /health answers', async () => {
  const world = await inFlight(5);
  const result = await world.run({ manifest: list(5), afterMs: 40 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(10);
  const after = world.service.log.slice(world.service.log.lastIndexOf('submit scene 4', 8) + 1);
  const asked = after.slice(
    0,
    after.findIndex((line) => line.startsWith('submit')),
  );
  for (const id of ['job-1', 'job-2', 'job-3', 'job-4', 'job-5']) expect(asked).toContain(`status ${id}`);
});

it('submits nothing again after a stop of 20 minutes', async () => {
  const world = await inFlight(5);
  const result = await world.run({ manifest: list(5), afterMs: 20 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(5);
});

it('believes a 404 without /health once the endpoint answers for another job', async () => {
  const world = await inFlight(4);
  world.service.instead.health = () => noHealth;
  world.service.instead.status = (id) => (id === 'job-2' ? gone : undefined);
  const result = await world.run({ manifest: list(4), afterMs: 5 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(5);
  expect(world.service.submissionsOf('scene 1')).toBe(2);
});

it('stops with 12 if endpoint and jobs are gone, with one submission and every attempt as it was', async () => {
  const world = await inFlight(50, 10);
  world.service.instead.health = () => noHealth;
  world.service.instead.status = () => gone;
  let sent = 0;
  world.service.instead.submit = () => {
    sent += 1;
    return { kind: 'failure', failure: { kind: 'endpoint-unknown', text: '404 endpoint not found' } };
  };
  const result = await world.run({
    manifest: list(60),
    afterMs: 40 * minutes,
    settings: { concurrency: 50 },
  });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(sent).toBe(1);
  expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state = 'submitted'")).toEqual([{ n: 50 }]);
  expect(result?.counts).toMatchObject({ active: 50, waiting: 10, failed: 0 });
});

it('finds that out within seconds: doubted jobs make way for that one submission at once', async () => {
  const world = await inFlight(8, 10);
  world.service.instead.health = () => noHealth;
  world.service.instead.status = () => gone;
  world.service.instead.submit = () => ({
    kind: 'failure',
    failure: { kind: 'endpoint-unknown', text: '404 endpoint not found' },
  });
  const result = await world.run({
    manifest: list(18),
    afterMs: 40 * minutes,
    settings: { concurrency: 8 },
  });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(world.clock.elapsed()).toBeLessThan(10_000);
});

it('gives up one job to find out if no other scene waits, and no second one', async () => {
  const world = await inFlight(50);
  world.service.instead.health = () => noHealth;
  world.service.instead.status = () => gone;
  world.service.instead.submit = () => ({
    kind: 'failure',
    failure: { kind: 'endpoint-unknown', text: '404 endpoint not found' },
  });
  const result = await world.run({ manifest: list(50), afterMs: 40 * minutes });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state = 'submitted'")).toEqual([{ n: 49 }]);
});

it('renders all of them again without /health once that one submission is taken', async () => {
  const world = await inFlight(50);
  world.service.instead.health = () => noHealth;
  const result = await world.run({ manifest: list(50), afterMs: 40 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(100);
});

it('stops with 12 and leaves all as it was when /health says that the key is refused', async () => {
  const world = await inFlight(3);
  world.service.instead.status = () => gone;
  world.service.instead.health = () => ({ kind: 'failure', failure: { kind: 'key-refused', text: '401' } });
  const result = await world.run({ manifest: list(3), afterMs: 40 * minutes });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state = 'submitted'")).toEqual([{ n: 3 }]);
});

it('treats no job as expired if the clock was set forward by a day or set back', async () => {
  for (const afterMs of [24 * 60 * minutes, -24 * 60 * minutes]) {
    const world = await inFlight(3);
    const completes = Math.max(...world.service.jobs.map((job) => job.completesAt));
    // The service has its own clock. By that clock, a minute has passed.
    for (const job of world.service.jobs) moveJob(job, afterMs + minutes);
    expect(completes).toBeGreaterThan(0);
    const result = await world.run({ manifest: list(3), afterMs });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  }
});

it.each([
  ['whose /health answers', { kind: 'answers' }],
  ['without /health', noHealth],
] as const)('halts at an endpoint %s that loses every job it takes', async (_name, health) => {
  const world = new World();
  world.service.instead.health = () => health;
  world.service.instead.status = () => gone;
  const result = await world.run({ manifest: list(300) });
  expect(result?.ending).toMatchObject({ kind: 'halted' });
  expect(result?.ending.text).toContain('halt.consecutive');
  expect(result?.counts.failed).toBe(0);
  expect(world.service.jobs.length).toBeLessThan(30);
});

it('the service is not blamed because results are gone after a stop of 40 minutes', async () => {
  const world = await inFlight(30);
  const result = await world.run({ manifest: list(30), afterMs: 40 * minutes });
  expect(result?.ending.kind).toBe('complete');
});

it('a run waits for no retry that is due tomorrow because the clock was set back by a day', async () => {
  const world = new World((_, nth) => (nth === 1 ? { failure: { kind: 'job-failed', text: 'once' } } : {}));
  await world.run({
    manifest: list(3),
    onEvent: (event, stop) => {
      if (event.type === 'attempt-failed')
        stop.request('drain', { kind: 'limit-reached', text: 'limits.for' });
    },
  });
  expect(world.rows("SELECT count(*) AS n FROM scenes WHERE state = 'waiting'")).toEqual([{ n: 3 }]);
  const result = await world.run({ manifest: list(3), afterMs: -24 * 60 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.clock.elapsed()).toBeLessThan(10 * minutes);
});

it('leaves jobs with an unknown state to the next run if nothing more is submitted', async () => {
  const world = await inFlight(3, 5);
  world.service.instead.health = () => noHealth;
  world.service.instead.status = () => gone;
  const result = await world.run({
    manifest: list(8),
    afterMs: 5 * minutes,
    settings: { limits: { for: 1_000 }, concurrency: 3 },
    onEvent: (event, stop) => {
      if (event.type === 'recovered') stop.request('drain', { kind: 'limit-reached', text: 'limits.for' });
    },
  });
  expect(result?.ending.kind).toBe('limit-reached');
  expect(result?.counts).toMatchObject({ active: 3, waiting: 5 });
  expect(world.service.jobs).toHaveLength(3);
  world.service.instead = {};
  const next = await world.run({ manifest: list(8), afterMs: minutes });
  expect(next?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(8);
});

it('gives up one job if the cost limit allows no submission that would show it', async () => {
  const world = await inFlight(3, 2);
  world.service.instead.health = () => noHealth;
  const pricing = { perSecond: 0.01, currency: 'USD' };
  const result = await world.run({
    manifest: list(5),
    afterMs: 40 * minutes,
    settings: { pricing, limits: { cost: 5 }, concurrency: 3 },
  });
  expect(result?.ending.kind).toBe('complete');
  expect(result?.counts.saved).toBe(5);
  expect(world.rows("SELECT 1 FROM attempts WHERE state = 'expired'")).toHaveLength(3);
});
