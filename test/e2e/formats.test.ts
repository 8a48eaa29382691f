/**
 * Promise: copies (`output.formats`) exist when a scene is saved, move with their picture, and can be made
 * again.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { type Night, nightWith, pipeline } from './cli.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { canMount, mountSmallDisk } from './small-disk.ts';

const input = 'input: {scene: "{{ scene }}", width: 96, height: 64}\n';

function batch(formats: string, list: string, more = input): Night {
  const yaml = pipeline('local', more).replace('  dir: out\n', `  dir: out\n  formats: ${formats}\n`);
  return nightWith({ 'pipeline.yaml': yaml, 'scenes.csv': `id,scene\n${list}` });
}

function images(night: Night): string[] {
  return readdirSync(night.path('out/images')).toSorted();
}

firstTier.it('a run makes copies, keeps them with their picture, and makes missing ones again', async () => {
  const night = batch('[{format: webp}, {format: jpeg, size: 48}]', 'a,Sea\n');
  await night.run('--quiet').exits(0);
  expect(images(night)).toEqual(['a-48.jpg', 'a.png', 'a.webp']);
  night.write('scenes.csv', 'id,scene\na,Moon\n');
  await night.run('--quiet').exits(0);
  const all = images(night);
  expect(all.map((name) => name.replace(/replaced-[0-9a-f]+/, 'replaced'))).toEqual([
    'a-48.jpg',
    'a.png',
    'a.replaced-48.jpg',
    'a.replaced.png',
    'a.replaced.webp',
    'a.webp',
  ]);
  for (const name of all) if (!name.endsWith('.png')) rmSync(night.path('out/images', name));
  const { stdout } = await night.do('report', '--json').exits(0);
  expect(JSON.parse(stdout)).toMatchObject({ copies: { made: 2, lacking: 0 } });
  expect(images(night)).toEqual(all);
});

firstTier.it(
  'no copy of an edited row stays beside its new picture, even if copies and sidecars are no longer made',
  async () => {
    const night = batch('[{format: avif}]\n  metadata: sidecar', 'a,Sea\n');
    const run = () => night.run('--quiet');
    await run().exits(0);
    const yaml = night.read('pipeline.yaml');
    night.write(
      'pipeline.yaml',
      yaml.replace('{format: avif}', '').replace('metadata: sidecar', 'metadata: none'),
    );
    night.write('scenes.csv', 'id,scene\na,Moon\n');
    await run().exits(0);
    expect(images(night).map((name) => name.replace(/replaced-[0-9a-f]+/, 'replaced'))).toEqual([
      'a.png',
      'a.replaced.avif',
      'a.replaced.json',
      'a.replaced.png',
    ]);
  },
);

firstTier.it('replaces a copy of an earlier picture with the same name', async () => {
  const night = batch('[{format: webp, size: 48}]', 'a,Sea\n');
  const run = () => night.run('--quiet');
  const copy = (): Buffer => readFileSync(night.path('out/images/a-48.webp'));
  await run().exits(0);
  const ofSea = copy();
  const withCopies = night.read('pipeline.yaml');
  night.write('pipeline.yaml', withCopies.replace('{format: webp, size: 48}', ''));
  night.write('scenes.csv', 'id,scene\na,Moon\n');
  await run().exits(0);
  night.write('pipeline.yaml', withCopies);
  const { stdout } = await night.do('report', '--json');
  // The copy of the replaced picture is made too.
  expect(JSON.parse(stdout)).toMatchObject({ copies: { made: 2, lacking: 0 } });
  expect(copy().equals(ofSea)).toBe(false);
  const again = await night.do('report', '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({ copies: { made: 0, lacking: 0 } });
});

firstTier.it('two pictures never get a copy of the same name', async () => {
  const list = 'a,Sea\na-48,Moon\nb-48,Hills\nb,Dunes\n';
  const night = batch('[{format: webp}, {format: webp, size: 48}]', list, `${input}concurrency: 1\n`);
  const plan = await night.plan('--requests', '4', '--json');
  const { requests } = JSON.parse(plan.stdout) as { requests: { file: string }[] };
  await night.run('--quiet').exits(0);
  const found = images(night);
  expect(found).toHaveLength(12);
  const pictures = found.filter((name) => name.endsWith('.png'));
  expect(pictures).toHaveLength(4);
  expect(requests.map(({ file }) => file).toSorted()).toEqual(pictures);
});

rest.it.skipIf(!canMount)(
  'a disk that is too full for copies ends the run with 14, and the next one continues (skipped if this user may not mount a file system)',
  async () => {
    const list = Array.from({ length: 30 }, (_, i) => `s${i},Hills and ${i} trees\n`).join('');
    const large = 'input: {scene: "{{ scene }}", width: 256, height: 256}\nreport: {thumbnails: false}\n';
    const night = batch('[{format: jpeg, quality: 100}, {format: webp, quality: 100}]', list, large);
    mountSmallDisk(night.path('out/images'), 8);
    const ballast = night.path('out/images/ballast');
    writeFileSync(ballast, Buffer.alloc(7_500_000));
    await night.run().exits(14, /images.*disk is full/);
    await night.verify().exits(0);
    rmSync(ballast);
    await night.run('--json').exits(0);
    expect(images(night)).toHaveLength(90);
  },
);
