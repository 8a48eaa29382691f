/** Promise: a job with an unreadable status is given up at its deadline, and an outage gives up no job. */
import { describe, expect, it } from 'vitest';
import type { StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { moveJob } from '../../fakes/service-jobs.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const garbled: StatusReply = { kind: 'failure', failure: { kind: 'poll-failed', text: '502 <html>' } };
const busy: StatusReply = { kind: 'failure', failure: { kind: 'overloaded', text: '429' } };

/**
 * Returns a world whose run crashed with `count` jobs in flight. Status requests for the first `bad` jobs get
 * `answer`.
 */
async function inFlight(count: number, bad: number, waiting = 0, answer = garbled): Promise<World> {
  const world = new World();
  await world.run({ manifest: list(count + waiting), settings: { concurrency: count }, until: 900 });
  expect(world.service.jobs).toHaveLength(count);
  world.service.instead.status = (id) => (Number(id.slice(4)) <= bad ? answer : undefined);
  return world;
}

describe('a job whose status is never readable', () => {
  it.each([
    ['garbled', garbled],
    ['429', busy],
  ])('is given up and rendered again if it is the last one (%s)', async (_name, answer) => {
    const world = await inFlight(1, 1, 0, answer);
    const result = await world.run({ manifest: list(1) });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(2);
    expect(world.service.log).toContain('cancel job-1');
    const [first] = world.rows<{ kind: string; text: string }>(
      'SELECT failure_kind AS kind, failure_text AS text FROM attempts ORDER BY number',
    );
    expect(first?.kind).toBe('job-overdue');
    expect(first?.text).toContain(answer === busy ? 'the latest: 429' : 'the latest: 502 <html>');
  });

  it('is given up within minutes by a run that begins when it is overdue', async () => {
    const world = await inFlight(1, 1);
    const result = await world.run({ manifest: list(1), afterMs: 100 * minutes });
    expect(result?.ending.kind).toBe('complete');
    expect(world.clock.elapsed()).toBeLessThan(5 * minutes);
    const [first] = world.rows<{ text: string }>('SELECT failure_text AS text FROM attempts ORDER BY number');
    expect(first?.text).toContain(
      'no status 1 h 30 min after its submission (`timeouts.queue` and `timeouts.execution`); the latest: 502 <html>',
    );
  });

  it.each([
    ['and nothing else is left', 0],
    ['with all lanes taken, and scenes waiting', 8],
  ])('is given up with others of its kind, %s', async (_name, waiting) => {
    const world = await inFlight(3, 3, waiting);
    const result = await world.run({
      manifest: list(3 + waiting),
      afterMs: 100 * minutes,
      settings: { concurrency: 3 },
    });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(6 + waiting);
  });

  it('is given up if it is the last one, although another could not be read for a while', async () => {
    const world = new World((scene) => (scene === 'scene 0' ? { executionMs: 20 * minutes } : {}));
    const isAlone = (): boolean => world.events.some(({ type }) => type === 'scene-saved');
    let asked = 0;
    world.service.instead.status = (id) =>
      (id === 'job-1' && isAlone()) || (id === 'job-2' && (asked += 1) < 8) ? garbled : undefined;
    const result = await world.run({ manifest: list(2) });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.log).toContain('cancel job-1');
    expect(world.service.jobs).toHaveLength(3);
  });

  it('is kept if it is readable now and then, however often it was not', async () => {
    const world = await inFlight(2, 0);
    for (const job of world.service.jobs) moveJob(job, 140 * minutes);
    let asked = 0;
    world.service.instead.status = (id) => (id === 'job-1' && (asked += 1) % 5 !== 0 ? garbled : undefined);
    const result = await world.run({ manifest: list(2), afterMs: 100 * minutes });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.log).not.toContain('cancel job-1');
    expect(world.service.jobs).toHaveLength(2);
    expect(asked).toBeGreaterThan(10);
  });

  it('is kept while only the clock says that it is overdue', async () => {
    const world = await inFlight(2, 0);
    const isDown = (): boolean => world.clock.elapsed() < 20 * minutes;
    for (const job of world.service.jobs) moveJob(job, 48 * 60 * minutes);
    world.service.instead.status = () => (isDown() ? garbled : undefined);
    world.service.instead.health = () =>
      isDown() ? { kind: 'failure', failure: { kind: 'poll-failed', text: '502' } } : undefined;
    const result = await world.run({ manifest: list(2), afterMs: 48 * 60 * minutes });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(2);
  });
});

describe('an outage', () => {
  it('of everything gives up nothing, and ends the run', async () => {
    const world = await inFlight(5, 5, 5);
    world.service.instead.health = () => ({
      kind: 'failure',
      failure: { kind: 'poll-failed', text: 'refused' },
    });
    const result = await world.run({ manifest: list(10), afterMs: 100 * minutes });
    expect(result?.ending.kind).toBe('halted');
    expect(result?.counts).toMatchObject({ active: 5, waiting: 5 });
  });

  it.each([
    ['with scenes waiting', 20],
    ['at the end of a batch', 0],
  ])('of status requests alone costs one job a run at most (%s)', async (_name, waiting) => {
    const world = await inFlight(10, 10_000, waiting);
    for (const runs of [1, 2, 3]) {
      const result = await world.run({
        manifest: list(10 + waiting),
        afterMs: 100 * minutes,
        settings: { concurrency: 10 },
      });
      expect(result?.ending.kind).toBe('halted');
      expect(world.service.jobs.length).toBeLessThanOrEqual(10 + runs);
    }
    world.service.instead = {};
    for (const job of world.service.jobs) job.completesAt = world.clock.now();
    const result = await world.run({ manifest: list(10 + waiting) });
    expect(result?.ending.kind).toBe('complete');
  });
});

it('a run ends if the service never says anything but 429, with one job given up to find out', async () => {
  const world = await inFlight(1, 10_000, 0, busy);
  const result = await world.run({ manifest: list(1) });
  expect(result?.ending.kind).toBe('halted');
  expect(world.service.jobs).toHaveLength(2);
});

describe('a replica that still says IN_QUEUE of a job that is gone', () => {
  it('does not keep the run waiting', async () => {
    const world = await inFlight(1, 0);
    let asked = 0;
    world.service.instead.status = (id) => {
      if (id !== 'job-1') return undefined;
      asked += 1;
      return asked % 2 === 0
        ? { kind: 'running', status: 'IN_QUEUE', isExecuting: false }
        : { kind: 'missing', text: '404' };
    };
    const result = await world.run({ manifest: list(1), afterMs: 40 * minutes });
    expect(result?.ending.kind).toBe('complete');
    expect(world.clock.elapsed()).toBeLessThan(5 * minutes);
    expect(world.rows('SELECT state FROM attempts ORDER BY number')).toEqual([
      { state: 'expired' },
      { state: 'saved' },
    ]);
  });

  it('costs no job that got two 404s by accident', async () => {
    const world = new World(() => ({ queueMs: 20 * minutes }));
    let asked = 0;
    world.service.instead.status = () => {
      asked += 1;
      return asked === 20 || asked === 22 ? { kind: 'missing', text: '404' } : undefined;
    };
    const result = await world.run({ manifest: list(1) });
    expect(result?.ending.kind).toBe('complete');
    expect(asked).toBeGreaterThan(22);
    expect(world.service.jobs).toHaveLength(1);
  });
});
