/**
 * Promise: pictures in the output folder of a batch in a bucket are neither mistaken for its pictures nor
 * changed.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { MemoryStore } from '../fakes/memory-store.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { type Night, nightWith, pipeline, scenes, withKey } from './cli.ts';
import { blackPicture, startInstantService } from './stand-ins.ts';

const count = 3;
const stray = 'a picture from an earlier time';

async function begin() {
  const store = await MemoryStore.start();
  const service = await startInstantService([{ rendered_image: await blackPicture() }]);
  const at = (pictures: string): string =>
    pipeline(service.url, 'report: {thumbnails: false}\n').replace('dir: out', `dir: out${pictures}`);
  const inBucket = at('\n  pictures: s3://any/night/');
  const night = nightWith({ 'pipeline.yaml': inBucket, 'scenes.csv': scenes(count) });
  return {
    night: night.with({ env: { ...withKey.env, ...store.env } }),
    files: { inBucket, inFolder: at('') },
    service,
    keys: () => [...store.objects.keys()].filter((key) => key.startsWith('any/night/images/')),
    store,
  };
}

function leave(night: Night, ...names: string[]): void {
  mkdirSync(night.path('out/images'), { recursive: true });
  for (const name of names) writeFileSync(night.path('out/images', name), stray);
}

function left(night: Night): string[] {
  const folder = night.path('out/images');
  return readdirSync(folder).map((name) => `${name}: ${readFileSync(join(folder, name), 'utf8')}`);
}

rest.it('checks, exports and renders the pictures in the bucket, whatever lies in the folder', async () => {
  const { night, service, keys, store } = await begin();
  await night.run().exits(0);
  const names = keys().map((key) => key.slice('any/night/images/'.length));
  expect(names).toHaveLength(count);
  leave(night, ...names, 's0.png', 'other.png');
  const lies = left(night);
  await night.run().exits(0);
  for (const args of [[], ['--deep'], ['--repair']])
    await night.verify(...args).exits(0, `good      ${count}\n`);
  await night.do('export', 'dataset', '--to', 'imagefolder').exits(0);
  const exported = readdirSync(night.path('dataset'), { recursive: true, encoding: 'utf8' });
  const images = exported.filter((name) => name.endsWith('.png'));
  expect(images).toHaveLength(count);
  for (const name of images) expect(night.read(`dataset/${name}`)).not.toBe(stray);

  // A missing picture counts as missing, although the folder has one with its name.
  const [gone = ''] = names;
  store.objects.delete(`any/night/images/${gone}`);
  await night.run().exits(3, `1 of ${count} saved files is missing`);
  await night.verify().exits(3, /missing +1\n/);
  await night.verify('--repair').exits(0, /missing +1\n/);
  await night.run().exits(0);
  expect(service.inputs).toHaveLength(count + 1);
  expect(keys()).toHaveLength(count);
  expect(left(night)).toEqual(lies);
});

firstTier.it(
  'begins in a bucket beside pictures that may be its own only if told how, and can adopt them',
  async () => {
    const { night, files, service, keys } = await begin();
    leave(night, 's0.png');
    const words = /out\/images has pictures \(s0\.png\), which would be paid for again/;
    await night.plan('--check').fails(2, words);
    // The rejected start itself must not make the next one succeed.
    for (let starts = 1; starts <= 2; starts++)
      await night
        .run()
        .fails(2, words, 'nightrender verify pipeline.yaml --move', 'nightrender run pipeline.yaml --fresh');
    expect([service.inputs, keys()]).toEqual([[], []]);
    writeFileSync(night.path('out/images/s0.png'), Buffer.from(await blackPicture(), 'base64'));
    night.write('pipeline.yaml', files.inFolder);
    await night.run('--adopt').exits(0);
    night.write('pipeline.yaml', files.inBucket);
    await night.verify('--move').exits(0, `good      ${count}\n`);
    await night.run().exits(0);
    expect(service.inputs).toHaveLength(count - 1);
  },
);

firstTier.it('renders everything into the bucket on demand, and leaves the folder as it is', async () => {
  const { night, service, keys } = await begin();
  leave(night, 's0.png', 'other.png');
  const lies = left(night);
  await night.run('--fresh').exits(0);
  await night.run().exits(0);
  expect([service.inputs.length, keys().length]).toEqual([count, count]);
  expect(left(night)).toEqual(lies);
});

firstTier.it(
  'a batch is moved out of the bucket without touching a picture that has a name of its own in the folder',
  async () => {
    const { night, files, keys } = await begin();
    await night.run().exits(0);
    const [first = ''] = keys().map((key) => key.slice('any/night/images/'.length));
    leave(night, first, 'other.png');
    night.write('pipeline.yaml', files.inFolder);
    await night.verify('--move').exits(0);
    await night.verify().exits(0, `good      ${count}\n`);
    expect(left(night)).toContain(`other.png: ${stray}`);
    expect(left(night)).toContain(`${first}.former: ${stray}`);
  },
);
