/** Promise: no result expires during a run, however many jobs are in flight. */
import { expect, it } from 'vitest';
import { isWhole } from '../../fakes/tier.ts';
import { manifestOf, World } from '../../fakes/world.ts';

it.each(isWhole ? [1, 40, 300] : [1, 40])(
  'collects every result within a minute, with %i jobs in flight',
  async (concurrency) => {
    const count = concurrency * 2;
    // Queue and execution times are between seconds and a quarter of an hour, and are the same each time for
    // a scene.
    const world = new World((scene) => {
      const number = Number(scene.split(' ')[1]);
      return { queueMs: (number * 7_919) % 600_000, executionMs: 2_000 + ((number * 104_729) % 300_000) };
    });
    const list = manifestOf(Array.from({ length: count }, (_, i) => [`s${i}`, `scene ${i}`]));
    const result = await world.run({ manifest: list, settings: { concurrency } });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(count);
    const settledAt = new Map(
      world
        .rows<{ id: string; at: number }>('SELECT job_id AS id, settled_at AS at FROM attempts')
        .map(({ id, at }) => [id, at]),
    );
    const lags = world.service.jobs.map(
      ({ id, completesAt }) => (settledAt.get(id) ?? Infinity) - completesAt,
    );
    expect(Math.max(...lags)).toBeLessThan(60_000);
  },
);
