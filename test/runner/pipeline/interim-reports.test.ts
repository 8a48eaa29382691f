/** Promise: a killed run leaves a report, and writing it never delays the run. */
import { expect, it } from 'vitest';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import type { Report } from '../../../src/runner/pipeline/ports.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const manifest = manifestOf(Array.from({ length: 60 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

/** Returns a world with jobs of one minute each. */
const hour = (): World => new World(() => ({ executionMs: minutes }));

/**
 * Makes each report take `tookMs`. Records when reports began (ms after the start), how many were cut, and
 * how many were written at once.
 */
function reportsOf(world: World, tookMs: number) {
  const begunAt: number[] = [];
  let atOnce = 0;
  let most = 0;
  let cut = 0;
  const update: Report['update'] = async (signal) => {
    begunAt.push(world.clock.elapsed());
    most = Math.max(most, ++atOnce);
    await world.clock.sleep(tookMs, signal);
    if (signal.aborted) cut += 1;
    // A disk operation in progress is not cut.
    await world.clock.sleep(50, new AbortController().signal);
    atOnce -= 1;
  };
  const writeReport: Report['write'] = async () => {
    expect(atOnce).toBe(0);
    return 'report';
  };
  return { begunAt, most: () => most, cut: () => cut, options: { updateReport: update, writeReport } };
}

it('an interim report is written every five minutes if that is quick, one at a time', async () => {
  const world = hour();
  const { begunAt, most, options } = reportsOf(world, 100);
  const settings = { concurrency: 1, report: { every: 5 * minutes } };
  const result = await world.run({ manifest, settings, ...options });
  expect(result?.ending.kind).toBe('complete');
  expect(begunAt[0]).toBe(5 * minutes);
  expect(begunAt[1]).toBe(10 * minutes + 150);
  expect(begunAt.length).toBeGreaterThanOrEqual(11);
  expect(most()).toBe(1);
});

it('an interim report takes no more than 3 % of the time, and is cut if the run ends', async () => {
  const world = hour();
  const { begunAt, cut, options } = reportsOf(world, minutes);
  const settings = { concurrency: 1, report: { every: 5 * minutes } };
  await world.run({ manifest, settings, ...options });
  expect(begunAt).toEqual([5 * minutes, 5 * minutes + 31 * (minutes + 50)]);
  expect(cut()).toBe(0);
  const short = hour();
  const last = reportsOf(short, 100 * minutes);
  const result = await short.run({ manifest, settings, ...last.options });
  expect(last.cut()).toBe(1);
  expect(result?.report).toBe('report');
  expect(short.clock.elapsed()).toBeLessThan(70 * minutes);
});

it('an interim report is cut at once if the run is told to leave', async () => {
  const world = hour();
  const { cut, options } = reportsOf(world, 100 * minutes);
  await world.run({
    manifest,
    settings: { concurrency: 1, report: { every: 5 * minutes } },
    ...options,
    onEvent: (event, stop) => {
      if (event.type === 'scene-saved' && event.scene === 's9')
        stop.request('leave', { kind: 'interrupted', text: 'Stopped' });
    },
  });
  expect(cut()).toBe(1);
  expect(world.clock.elapsed()).toBeLessThan(15 * minutes);
});

it('an interim report that the disk rejects is reported once, and the run continues', async () => {
  const world = hour();
  const updateReport = async (): Promise<void> => {
    throw new FatalFailure({ kind: 'output-unwritable', text: 'cannot write report: the disk is full' });
  };
  const settings = { concurrency: 1, report: { every: 5 * minutes } };
  const result = await world.run({ manifest, settings, updateReport });
  expect(result?.ending.kind).toBe('complete');
  expect(world.events.filter(({ type }) => type === 'warning')).toEqual([
    {
      type: 'warning',
      text: 'the report of the run so far was not written: cannot write report: the disk is full',
    },
  ]);
});

it('an interim report that shows a bug ends the run as a bug', async () => {
  const world = hour();
  const bug = new Error('a bug');
  const updateReport = async (): Promise<void> => {
    throw bug;
  };
  const settings = { concurrency: 1, report: { every: 5 * minutes } };
  await expect(world.run({ manifest, settings, updateReport })).rejects.toBe(bug);
});

it('an interim report is not written if it is not wanted, or without a plan', async () => {
  const world = hour();
  const { begunAt, options } = reportsOf(world, 100);
  await world.run({ manifest, settings: { concurrency: 1 }, ...options });
  expect(begunAt).toEqual([]);
});
