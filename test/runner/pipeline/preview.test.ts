/** Promise: a preview renders the same part each time, and its pictures count for the full run. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/runner/core/scene.ts';
import { manifestOf, World } from '../../fakes/world.ts';
import { firstTier, runs } from '../../fakes/tier.ts';

const pairs = (count: number) =>
  Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
const list = (count: number) => manifestOf(pairs(count));
const preview = (world: World, part: Part, manifest = list(100)) =>
  world.run({ manifest, settings: { part } });

function savedIn(world: World): string[] {
  return world
    .rows<{ id: string }>("SELECT id FROM scenes WHERE state = 'saved' ORDER BY id")
    .map(({ id }) => id);
}

describe('a preview', () => {
  firstTier.it('renders as many as requested, from all over the list, and withdraws nothing', async () => {
    const world = new World();
    const result = await preview(world, { limit: 20 });
    expect(result?.ending).toEqual({
      kind: 'complete',
      text: 'The 20 scenes of this preview are saved; 80 wait for the full run',
    });
    expect(result?.counts).toMatchObject({ saved: 20, waiting: 80, withdrawn: 0 });
    const positions = savedIn(world).map((id) => Number(id.slice(1)));
    for (const quarter of [0, 25, 50, 75])
      expect(positions.some((at) => at >= quarter && at < quarter + 25)).toBe(true);
  });

  firstTier.it(
    'renders nothing more at its second start, and the rest is rendered once in the full run',
    async () => {
      const world = new World();
      await preview(world, { limit: 20 });
      await preview(world, { limit: 20 });
      await preview(world, { share: 0.2 });
      expect(world.service.jobs).toHaveLength(20);
      const full = await world.run({ manifest: list(100) });
      expect(full?.ending).toEqual({ kind: 'complete', text: 'Every scene is saved' });
      expect(full?.part).toBeUndefined();
      expect(world.service.jobs).toHaveLength(100);
    },
  );

  firstTier.it(
    'chooses the same scenes whatever was rendered before, and wherever they stand in the list',
    async () => {
      const [fresh, begun] = [new World(), new World()];
      await preview(fresh, { limit: 10 });
      await begun.run({ manifest: manifestOf(pairs(100).toReversed()), until: 12_000 });
      const before = new Set(savedIn(begun));
      expect(before.size).toBeGreaterThan(0);
      await preview(begun, { limit: 10 }, manifestOf(pairs(100).toReversed()));
      expect(savedIn(begun)).toEqual(expect.arrayContaining(savedIn(fresh)));
      const result = await preview(begun, { limit: 10 });
      expect(result?.part).toMatchObject({ saved: 10, waiting: 0 });
    },
  );

  firstTier.it.each([
    [{ share: 0.07 }, 7],
    [{ share: 0.001 }, 1],
    [{ share: 0.5, limit: 3 }, 3],
    [{ share: 0.02, limit: 50 }, 2],
    [{ limit: 500 }, 100],
  ])('%o of 100 scenes are %i', async (part, scenes) => {
    const world = new World();
    await preview(world, part);
    expect(savedIn(world)).toHaveLength(scenes);
  });

  firstTier.it('is a full run if it leaves nothing out', async () => {
    const result = await preview(new World(), { limit: 3 }, list(3));
    expect(result?.ending).toEqual({ kind: 'complete', text: 'Every scene is saved' });
  });

  firstTier.it('collects jobs that an earlier run left in flight, although they are not chosen', async () => {
    const world = new World();
    await world.run({ manifest: list(100), settings: { concurrency: 5 }, until: 1_000 });
    const inFlight = world.service.jobs.length;
    expect(inFlight).toBe(5);
    const result = await preview(world, { limit: 1 });
    expect(result?.ending.kind).toBe('complete');
    expect(result?.counts.active).toBe(0);
    expect(world.service.jobs.length).toBeLessThanOrEqual(inFlight + 1);
  });

  firstTier.it(
    'retries its scenes as usual, and ends as incomplete if one of them failed for good',
    async () => {
      const flaky = new World((_, nth) =>
        nth === 1 ? { failure: { kind: 'job-failed', text: 'no memory' } } : {},
      );
      expect((await preview(flaky, { limit: 3 }))?.ending.kind).toBe('complete');
      expect(flaky.service.jobs).toHaveLength(6);
      const broken = new World(() => ({ failure: { kind: 'job-failed', text: 'no memory' } }));
      const result = await preview(broken, { limit: 1 });
      expect(result?.ending).toEqual({ kind: 'incomplete', text: '1 scene of this preview is not saved' });
      expect(result?.part).toMatchObject({ failed: 1 });
    },
  );

  firstTier.it('counts only its own part, without bad rows and other scenes', async () => {
    const world = new World();
    const bad = [{ position: 9, source: 'list.csv:10', problem: 'is bad' }];
    const result = await preview(world, { limit: 1 }, manifestOf(pairs(3), bad));
    expect(result?.ending.kind).toBe('complete');
    const made = world.events.find(({ type }) => type === 'plan-made');
    expect(made).toMatchObject({ counts: { waiting: 3, invalid: 1 }, part: { waiting: 1, invalid: 0 } });
  });

  it('is never paid twice, whatever parts and crashes follow one another', async () => {
    const part = fc.option(
      fc.record(
        { share: fc.double({ min: 0.01, max: 1, noNaN: true }), limit: fc.integer({ min: 1, max: 12 }) },
        { requiredKeys: [] },
      ),
      { nil: undefined },
    );
    const start = fc.record({
      part,
      until: fc.option(fc.integer({ min: 100, max: 20_000 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(start, { minLength: 1, maxLength: 4 }), async (starts) => {
        const world = new World();
        for (const { part: chosen, until } of starts)
          await world.run({
            manifest: list(10),
            settings: chosen === undefined ? {} : { part: chosen },
            ...(until !== undefined && { until }),
          });
        const full = await world.run({ manifest: list(10) });
        expect(full?.counts).toMatchObject({ saved: 10, waiting: 0 });
        const unanswered = world.rows("SELECT 1 FROM attempts WHERE state = 'unanswered'").length;
        expect(world.service.jobs.length).toBeLessThanOrEqual(10 + unanswered);
        world.db.close();
      }),
      { numRuns: runs(60, { ms: 35 }) },
    );
  });
});
