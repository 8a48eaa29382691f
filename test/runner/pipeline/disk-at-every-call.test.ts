/**
 * Promise: if the disk fails at any call, the run ends in an orderly way, and the next run continues where it
 * stopped.
 */
import { expect, it } from 'vitest';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import { pictureOf } from '../../fakes/fake-service.ts';
import { sampledUpTo } from '../../fakes/tier.ts';
import { manifestOf, World, type RunOptions } from '../../fakes/world.ts';

const manifest = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
]);

/** Earlier runs, named by what they left in the checkpoint. */
const left: [what: string, options: Partial<RunOptions>][] = [
  ['nothing', { until: 0, hang: 'checkpoint.reconcile' }],
  ['submissions', { until: 1, hang: 'service.submit' }],
  ['jobs', { until: 10_000, hang: 'service.status' }],
  ['pictures', { until: 60_000, hang: 'checkpoint.settle' }],
];

async function worldWith(options: Partial<RunOptions>): Promise<World> {
  const world = new World((scene) =>
    scene === 'hills' ? { pictures: [pictureOf('first'), pictureOf('second')] } : {},
  );
  world.service.knowsKeysMs = 30 * 60_000;
  await world.run({ manifest, ...options });
  return world;
}

const unwritable = (thrown: unknown): { kind: string } => {
  if (thrown instanceof FatalFailure) return thrown.failure;
  throw thrown;
};

it.each(left)(
  'a disk that fails at any call ends a run in order, after another run left %s',
  async (_, options) => {
    const unharmed = await worldWith(options);
    await unharmed.run({ manifest, settings: { report: { every: 1_000 } } });
    for (const failAt of sampledUpTo(unharmed.killer.diskCalls, { ms: 15, weight: 0.5 })) {
      const world = await worldWith(options);
      const ending = await world
        .run({ manifest, failAt, settings: { report: { every: 1_000 } } })
        .then((result) => result?.ending, unwritable);
      expect(world.killer.hasFailed).toBe(true);
      const calls = world.killer.calls.join(' ');
      expect(ending?.kind, calls).toBe('output-unwritable');
      expect(world.clock.sleeping, calls).toBe(0);
      const last = await world.run({ manifest });
      expect(last, calls).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 2 } });
      expect(world.service.jobs, calls).toHaveLength(2);
      expect([...world.images.files.keys()].toSorted()).toEqual(['a.png', 'b-2.png', 'b.png']);
    }
  },
);

it.each(left)(
  'a disk that fails at any call ends `cancel` in order, after a run left %s',
  async (_, options) => {
    const unharmed = await worldWith(options);
    await unharmed.cancel({});
    for (const failAt of sampledUpTo(unharmed.killer.diskCalls, { ms: 15, weight: 0.5 })) {
      const world = await worldWith(options);
      const ending = await world.cancel({ failAt }).then((result) => result?.ending, unwritable);
      expect(world.killer.hasFailed).toBe(true);
      const calls = world.killer.calls.join(' ');
      expect(ending?.kind, calls).toBe('output-unwritable');
      const last = await world.run({ manifest });
      expect(last?.ending.kind, calls).toBe('complete');
    }
  },
);
