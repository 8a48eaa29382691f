/**
 * Promise: a finished job is not paid for twice if its result is refused for a while, and an answer about
 * another job is never used.
 */
import { describe, expect, it } from 'vitest';
import { readSpending } from '../../../src/runner/checkpoint/read-totals.ts';
import { batchCost } from '../../../src/runner/core/spending.ts';
import type { Failure } from '../../../src/runner/core/failure.ts';
import type { StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const pricing = { perPicture: 0.003, currency: 'USD' };
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const withheld = (more: Partial<Failure> = {}): StatusReply => ({
  kind: 'failure',
  failure: { kind: 'poll-failed', text: 'its result is 503: busy', ...more },
  done: { status: 'COMPLETED', executionTimeMs: 7 },
});
const foreign: StatusReply = {
  kind: 'failure',
  failure: { kind: 'poll-failed', text: 'the status of job another' },
  isForeign: true,
};

describe('a result that is refused', () => {
  it.each([10_000, 60_000, 25 * minutes])('for %i ms costs no second job', async (ms) => {
    const world = new World();
    world.service.instead.status = () => (world.clock.elapsed() < ms ? withheld() : undefined);
    const settings = { concurrency: 4, pricing, limits: { cost: 0.6 } };
    const result = await world.run({ manifest: list(20), settings });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(20);
  });

  it('for as long as `halt.unreachable` ends the run, and the same command collects it', async () => {
    const world = new World();
    world.service.instead.status = () => withheld();
    const first = await world.run({ manifest: list(20), settings: { concurrency: 4 } });
    expect(first?.ending).toMatchObject({
      kind: 'halted',
      text: expect.stringContaining('`halt.unreachable`') as string,
    });
    expect(world.service.jobs).toHaveLength(4);
    for (const job of world.service.jobs) job.completesAt = world.clock.now();
    world.service.instead = {};
    const second = await world.run({ manifest: list(20), settings: { concurrency: 4 } });
    expect(second?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(20);
  });

  it('for as long while other results arrive is given up, and its cost is recorded', async () => {
    const world = new World(() => ({ executionMs: 5 * minutes }));
    world.service.instead.status = (id) => (id === 'job-1' ? withheld() : undefined);
    const result = await world.run({ manifest: list(20), settings: { pricing } });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(21);
    expect(result?.lostResults).toBe(1);
    expect(world.service.log).not.toContain('cancel job-1');
    const [given] = world.rows<{ kind: string; text: string }>(
      "SELECT failure_kind AS kind, failure_text AS text FROM attempts WHERE job_id = 'job-1'",
    );
    expect(given).toMatchObject({
      kind: 'job-overdue',
      text: expect.stringMatching(
        /could not be read for 30 min \d+ s; the latest: its result is 503/,
      ) as string,
    });
    expect(batchCost(readSpending(world.db), 0, pricing).spent).toBeCloseTo(21 * pricing.perPicture);
  });

  it('at the moment when a job that takes too long is given up is still requested', async () => {
    // The first job shows that other jobs fit the time-out.
    const world = new World((scene) => (scene === 'scene 1' ? {} : { executionMs: 40 * minutes }));
    let refused = 0;
    world.service.instead.status = (id) =>
      world.service.log.includes(`cancel ${id}`) && (refused += 1) < 4 ? withheld() : undefined;
    world.service.instead.cancel = () => {
      for (const job of world.service.jobs) job.completesAt = world.clock.now();
      return { kind: 'unsupported', text: 'it is done' };
    };
    await world.run({ manifest: list(2) });
    expect(world.service.jobs).toHaveLength(2);
    expect(refused).toBeGreaterThan(3);
  });
});

describe('a missing part of a result', () => {
  const missing = (times: number, more: Partial<Failure>): World => {
    const world = new World();
    let asked = 0;
    world.service.instead.status = (id) =>
      id === 'job-1' && (asked += 1) <= times ? withheld({ kind: 'download-failed', ...more }) : undefined;
    return world;
  };

  it('is requested while the service keeps it, and costs no second job', async () => {
    const world = new World(() => ({ executionMs: 5 * minutes }));
    world.service.instead.status = (id) =>
      id === 'job-1' && world.clock.elapsed() < 25 * minutes
        ? withheld({ kind: 'download-failed', text: 'a.mp4 of node 9 came empty' })
        : undefined;
    expect((await world.run({ manifest: list(20) }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(20);
  });

  it('gets four tries before its job is paid for again if the service says that it is gone', async () => {
    const late = missing(3, { isGone: true });
    expect((await late.run({ manifest: list(1) }))?.ending.kind).toBe('complete');
    expect(late.service.jobs).toHaveLength(1);
    const gone = missing(4, { isGone: true });
    expect((await gone.run({ manifest: list(1) }))?.ending.kind).toBe('complete');
    expect(gone.service.jobs).toHaveLength(2);
    expect(gone.service.log.filter((line) => line === 'status job-1')).toHaveLength(4);
  });
});

describe('a status that names another job', () => {
  it('is requested again the first time', async () => {
    const world = new World();
    const asked = new Set<string>();
    world.service.instead.status = (id) => {
      if (asked.has(id)) return undefined;
      asked.add(id);
      return foreign;
    };
    expect((await world.run({ manifest: list(5) }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(5);
  });

  it('ends the run the second time in a row, with all jobs in flight kept', async () => {
    const world = new World();
    world.service.instead.status = (id) => (id === 'job-1' ? undefined : foreign);
    const result = await world.run({ manifest: list(8), settings: { concurrency: 4 } });
    expect(result?.ending).toMatchObject({
      kind: 'halted',
      text: expect.stringContaining('the status of job another, twice in a row') as string,
    });
    expect(result?.counts.saved).toBeLessThanOrEqual(1);
    const submitted = world.service.jobs.length;
    world.service.instead = {};
    expect((await world.run({ manifest: list(8) }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(8);
    expect(submitted).toBeLessThan(8);
  });
});
