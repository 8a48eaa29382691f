/** Promise: a run shows the worker counts that the service reports, and asks for them rarely. */
import { expect, it } from 'vitest';
import type { HealthReply } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const list = manifestOf(Array.from({ length: 40 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const settings = { service: { kind: 'jobs' }, concurrency: 1 };
const health = { workers: { running: 2, idle: 1 }, jobs: { inQueue: 7 } };

/** Returns how often a run of some minutes asked for the health, and what it reported. */
async function asked(reply: () => HealthReply | undefined) {
  const world = new World(() => ({ executionMs: 10_000 }));
  world.service.instead.health = reply;
  const result = await world.run({ manifest: list, settings });
  expect(result?.ending.kind).toBe('complete');
  const told = world.events.filter(({ type }) => type === 'service-health');
  const troubles = world.events.filter(({ type }) => type === 'request-troubled');
  return {
    times: world.service.log.filter((line) => line === 'health').length,
    told,
    troubles,
    tookMs: world.clock.elapsed(),
  };
}

it('the watch of the health asks now and then, and says what came', async () => {
  const { times, told, tookMs } = await asked(() => ({ kind: 'answers', health }));
  expect(tookMs).toBeGreaterThan(300_000);
  expect(times).toBeGreaterThan(5);
  expect(times).toBeLessThanOrEqual(tookMs / 30_000 + 1);
  expect(told).toHaveLength(times);
  expect(told[0]).toEqual({ type: 'service-health', ...health });
});

it('the watch of the health gives up if the service does not report it', async () => {
  const { times, told } = await asked(() => ({ kind: 'unknown', text: '404' }));
  expect([times, told]).toEqual([1, []]);
});

it('the watch of the health asks again after a question that failed, which is no trouble', async () => {
  const failure = { kind: 'poll-failed', text: 'the service answered 500' } as const;
  const { times, told, troubles } = await asked(() => ({ kind: 'failure', failure }));
  expect(times).toBeGreaterThan(5);
  expect([told, troubles]).toEqual([[], []]);
});

it('the watch of the health says nothing of an answer without numbers', async () => {
  const { times, told } = await asked(() => ({ kind: 'answers' }));
  expect(times).toBeGreaterThan(5);
  expect(told).toEqual([]);
});

it('the watch of the health ends the run with the bug if asking has one', async () => {
  await expect(
    asked(() => {
      throw new TypeError('a bug');
    }),
  ).rejects.toThrow('a bug');
});

it('the watch of the health asks nothing in a run that is over in a moment', async () => {
  const world = new World(() => ({ queueMs: 0, executionMs: 500 }));
  await world.run({ manifest: manifestOf([['a', 'fox']]), settings });
  expect(world.service.log).not.toContain('health');
});

it('the watch of the health does not make a run longer that has nothing left to do', async () => {
  const world = new World();
  world.service.instead.health = () => ({ kind: 'answers', health });
  await world.run({ manifest: manifestOf([['a', 'fox']]), settings });
  const without = new World();
  await without.run({ manifest: manifestOf([['a', 'fox']]) });
  expect(world.clock.elapsed()).toBe(without.clock.elapsed());
});
