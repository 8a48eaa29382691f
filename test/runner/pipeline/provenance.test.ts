/** Promise: the provenance of a picture is that of its job, and a crash at any moment changes nothing. */
import { expect, it } from 'vitest';
import { firstTier, sampledUpTo } from '../../fakes/tier.ts';
import { manifestOf, World, type RunOptions } from '../../fakes/world.ts';

const manifest = manifestOf([
  ['a', 'sea'],
  ['b', 'moon'],
]);

it('every picture has its provenance after a crash at any call', async () => {
  const unharmed = newWorld();
  await finish(unharmed);
  for (const killAt of sampledUpTo(unharmed.killer.halves, { ms: 30 })) {
    const world = newWorld();
    await world.run({ manifest, killAt });
    await finish(world, { afterMs: 1_000 });
    expectOwn(world, `killed at ${killAt}`);
  }
});

firstTier.it(
  'the provenance is completed if the program crashed between a picture and its sidecar',
  async () => {
    const world = newWorld();
    const write = world.images.write.bind(world.images);
    world.images.write = async (picture, file) => {
      await write({ ...picture, beside: [] }, file);
      world.killer.isDead = true;
    };
    await world.run({ manifest, until: 60_000 });
    expect(world.images.files.size).toBeGreaterThan(0);
    expect(world.images.sidecars.size).toBe(0);
    world.images.write = write;
    const jobs = world.service.jobs.length;
    await finish(world, { afterMs: 1_000 });
    expectOwn(world, 'resumed');
    expect(world.service.jobs.length).toBe(jobs);
  },
);

firstTier.it('the provenance goes with its picture when the row is edited', async () => {
  const world = newWorld();
  await finish(world);
  await finish(world, {
    manifest: manifestOf([
      ['a', 'storm'],
      ['b', 'moon'],
    ]),
  });
  const files = [...world.images.files.keys()].toSorted();
  expect(files).toEqual(['a.png', expect.stringMatching(/^a\.replaced-/), 'b.png']);
  expectOwn(world, 'edited');
});

firstTier.it('the provenance is ignored in the comparison if the same damaged bytes come twice', async () => {
  const world = new World(() => ({ pictures: [{ base64: Buffer.from('bad').toString('base64') }] }));
  world.images.hasProvenance = true;
  await finish(world, { manifest: manifestOf([['a', 'sea']]) });
  const digests = world.db
    .prepare<[], { failure_digest: string }>('SELECT failure_digest FROM attempts')
    .all();
  expect(new Set(digests.map((row) => row.failure_digest)).size).toBe(1);
  expect(digests).toHaveLength(2);
});

function newWorld(): World {
  const world = new World();
  world.images.hasProvenance = true;
  return world;
}

async function finish(world: World, options: Partial<RunOptions> = {}): Promise<void> {
  expect(await world.run({ manifest, ...options })).toBeDefined();
}

/**
 * Expects that every recorded picture exists byte for byte, and that its own metadata and its sidecar name
 * the right job.
 */
function expectOwn({ db, images }: World, when: string): void {
  const saved = db
    .prepare<[], { file: string; jobId: string; bytes: number }>(
      'SELECT file, job_id AS jobId, bytes FROM pictures JOIN attempts USING (attempt)',
    )
    .all();
  expect(saved.length, when).toBeGreaterThan(1);
  for (const { file, jobId, bytes } of saved) {
    expect(images.files.get(file), when).toMatch(new RegExp(` by ${jobId}$`));
    expect(images.files.get(file)?.length, when).toBe(bytes);
    expect(images.sidecars.get(file), when).toBe(jobId);
  }
  expect(images.sidecars.size, when).toBe(images.files.size);
}
