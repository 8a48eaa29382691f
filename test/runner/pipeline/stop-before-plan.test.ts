/**
 * Promise: a stop while the manifest is read or compared ends the run in an orderly way, and the next run
 * does all remaining work once.
 */
import { expect, it } from 'vitest';
import type { ListedScene } from '../../../src/runner/core/scene.ts';
import type { ManifestScenes } from '../../../src/runner/pipeline/ports.ts';
import { Stop } from '../../../src/runner/pipeline/stop.ts';
import { firstTier, isWhole, rest } from '../../fakes/tier.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const leave = { kind: 'terminated', text: 'Terminated (SIGTERM)' } as const;
const drain = { kind: 'incomplete', text: 'Asked to finish (SIGHUP)' } as const;

/** The rows are compared in slices of 500, and this is more than two slices. */
const rows = 1_020;
const many = manifestOf(Array.from({ length: rows }, (_, i) => [`s${i}`, `scene ${i}`]));
const two = manifestOf([
  ['s0', 'scene 0'],
  ['s1', 'scene 1'],
]);
const fast = { concurrency: 400 };

rest.it(
  'a stop ends the run with the name of the signal, sends nothing, and the next run saves every scene',
  async () => {
    const world = new World();
    const stop = new Stop();
    const result = await world.run({ manifest: stoppingAt(510, () => stop.request('leave', leave)), stop });
    expect(result).toMatchObject({
      ending: { kind: 'terminated', text: expect.stringContaining('was not compared') as string },
      counts: { waiting: 0, saved: 0 },
      report: undefined,
    });
    expect(world.service.jobs).toEqual([]);
    await expectCompleteAfter(world);
  },
);

const drains: [during: string, listOf: (stop: Stop) => ManifestScenes | undefined][] = [
  ['the comparison', (stop: Stop) => stoppingAt(510, () => stop.request('drain', drain))],
  [
    'the reading',
    (stop: Stop) => {
      stop.request('drain', drain);
      return undefined;
    },
  ],
];

it.each(isWhole ? drains : drains.slice(0, 1))(
  'a run that is asked to finish during %s collects what is in flight and submits nothing',
  async (_, listOf) => {
    const world = new World();
    await world.run({ manifest: two, until: 1 });
    expect(world.service.jobs).toHaveLength(2);
    const stop = new Stop();
    const result = await world.run({ manifest: listOf(stop), stop });
    expect(result).toMatchObject({
      ending: { kind: 'incomplete', text: expect.stringContaining('Asked to finish (SIGHUP)') as string },
      counts: { saved: 2, active: 0, waiting: 0 },
      report: 'report',
    });
    await expectCompleteAfter(world);
  },
);

firstTier.it('a run is not complete although all scenes that the batch knew are saved', async () => {
  const world = new World();
  await world.run({ manifest: two });
  const stop = new Stop();
  const result = await world.run({ manifest: stoppingAt(510, () => stop.request('drain', drain)), stop });
  expect(result).toMatchObject({ ending: { kind: 'incomplete' }, report: undefined });
});

firstTier.it(
  'a stop during the report ends the run when the grace is over, and says so although every scene is saved',
  async () => {
    const world = new World();
    const stop = new Stop();
    const result = await world.run({
      manifest: two,
      stop,
      writeReport: async (_, signal) => {
        stop.request('leave', leave);
        await passUntil(world, signal);
        return undefined;
      },
    });
    expect(result).toMatchObject({ ending: leave, counts: { saved: 2 }, report: undefined });
  },
);

firstTier.it('a run writes the report of the rest although a request took all of the grace', async () => {
  const world = new World();
  const stop = new Stop();
  world.service.status = async (_job, signal) => {
    stop.request('leave', leave);
    await passUntil(world, signal);
    return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
  };
  const writeReport = async (_: unknown, { aborted }: AbortSignal): Promise<string | undefined> =>
    aborted ? undefined : 'report';
  expect(await world.run({ manifest: two, stop, writeReport })).toMatchObject({
    ending: leave,
    report: 'report',
  });
});

async function passUntil(world: World, signal: AbortSignal | undefined): Promise<void> {
  const isOver = (): boolean => signal?.aborted !== false;
  while (!isOver()) {
    world.clock.advance();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Returns the long list. It calls `happen` when this many rows were read. */
function stoppingAt(row: number, happen: () => void): ManifestScenes {
  function* scenes(): Generator<ListedScene> {
    let read = 0;
    for (const scene of many.scenes()) {
      read += 1;
      if (read === row) happen();
      yield scene;
    }
  }
  return { allowsFewer: true, scenes, badRows: () => [] };
}

async function expectCompleteAfter(world: World): Promise<void> {
  const result = await world.run({ manifest: many, settings: fast });
  expect(result).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: rows, withdrawn: 0 } });
  expect(world.service.jobs).toHaveLength(rows);
}
