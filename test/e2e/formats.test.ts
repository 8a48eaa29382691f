/** Promise: copies (`output.formats`) are there when a scene is saved, go where its picture goes, and can be made anew. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, inProcess, pipeline } from './cli.ts';
import { rest } from '../fakes/tier.ts';
import { canMount, mountSmallDisk } from './small-disk.ts';

const input = 'input: {scene: "{{ scene }}", width: 96, height: 64}\n';

function batch(formats: string, list: string, more = input): string {
  const yaml = pipeline('local', more).replace('  dir: out\n', `  dir: out\n  formats: ${formats}\n`);
  return folderWith({ 'pipeline.yaml': yaml, 'scenes.csv': `id,scene\n${list}` });
}

function images(cwd: string): string[] {
  return readdirSync(join(cwd, 'out/images')).toSorted();
}

it('makes them, keeps them with their picture, and makes missing ones anew', async () => {
  const cwd = batch('[{format: webp}, {format: jpeg, size: 48}]', 'a,Sea\n');
  const first = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect(first.code, first.stderr).toBe(0);
  expect(images(cwd)).toEqual(['a-48.jpg', 'a.png', 'a.webp']);
  writeFileSync(join(cwd, 'scenes.csv'), 'id,scene\na,Moon\n');
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
  const all = images(cwd);
  expect(all.map((name) => name.replace(/replaced-[0-9a-f]+/, 'replaced'))).toEqual([
    'a-48.jpg',
    'a.png',
    'a.replaced-48.jpg',
    'a.replaced.png',
    'a.replaced.webp',
    'a.webp',
  ]);
  for (const name of all) if (!name.endsWith('.png')) rmSync(join(cwd, 'out/images', name));
  const { code, stdout } = await inProcess(['report', 'pipeline.yaml', '--json'], { cwd });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ copies: { made: 2, lacking: 0 } });
  expect(images(cwd)).toEqual(all);
});

it('leaves nothing of an edited row beside its new picture, though copies and sidecars are made no more', async () => {
  const cwd = batch('[{format: avif}]\n  metadata: sidecar', 'a,Sea\n');
  const run = () => inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect((await run()).code).toBe(0);
  const yaml = readFileSync(join(cwd, 'pipeline.yaml'), 'utf8');
  writeFileSync(
    join(cwd, 'pipeline.yaml'),
    yaml.replace('{format: avif}', '').replace('metadata: sidecar', 'metadata: none'),
  );
  writeFileSync(join(cwd, 'scenes.csv'), 'id,scene\na,Moon\n');
  expect((await run()).code).toBe(0);
  expect(images(cwd).map((name) => name.replace(/replaced-[0-9a-f]+/, 'replaced'))).toEqual([
    'a.png',
    'a.replaced.avif',
    'a.replaced.json',
    'a.replaced.png',
  ]);
});

it('makes a copy anew that is of the picture which had its name before', async () => {
  const cwd = batch('[{format: webp, size: 48}]', 'a,Sea\n');
  const run = () => inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const copy = (): Buffer => readFileSync(join(cwd, 'out/images/a-48.webp'));
  expect((await run()).code).toBe(0);
  const ofSea = copy();
  const withCopies = readFileSync(join(cwd, 'pipeline.yaml'), 'utf8');
  writeFileSync(join(cwd, 'pipeline.yaml'), withCopies.replace('{format: webp, size: 48}', ''));
  writeFileSync(join(cwd, 'scenes.csv'), 'id,scene\na,Moon\n');
  expect((await run()).code).toBe(0);
  writeFileSync(join(cwd, 'pipeline.yaml'), withCopies);
  const { stdout } = await inProcess(['report', 'pipeline.yaml', '--json'], { cwd });
  // That of the picture which was replaced is among them.
  expect(JSON.parse(stdout)).toMatchObject({ copies: { made: 2, lacking: 0 } });
  expect(copy().equals(ofSea)).toBe(false);
  const again = await inProcess(['report', 'pipeline.yaml', '--json'], { cwd });
  expect(JSON.parse(again.stdout)).toMatchObject({ copies: { made: 0, lacking: 0 } });
});

it('never gives two pictures a copy of one name', async () => {
  const list = 'a,Sea\na-48,Moon\nb-48,Hills\nb,Dunes\n';
  const cwd = batch('[{format: webp}, {format: webp, size: 48}]', list, `${input}concurrency: 1\n`);
  const plan = await inProcess(['plan', 'pipeline.yaml', '--requests', '4', '--json'], { cwd });
  const { requests } = JSON.parse(plan.stdout) as { requests: { file: string }[] };
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect(code, stderr).toBe(0);
  const found = images(cwd);
  expect(found).toHaveLength(12);
  const pictures = found.filter((name) => name.endsWith('.png'));
  expect(pictures).toHaveLength(4);
  expect(requests.map(({ file }) => file).toSorted()).toEqual(pictures);
});

rest.it.skipIf(!canMount)(
  'a disk that is full for them ends the run with 14; the next one goes on (skipped where this user may not mount a file system)',
  async () => {
    const list = Array.from({ length: 30 }, (_, i) => `s${i},Hills and ${i} trees\n`).join('');
    const large = 'input: {scene: "{{ scene }}", width: 256, height: 256}\nreport: {thumbnails: false}\n';
    const cwd = batch('[{format: jpeg, quality: 100}, {format: webp, quality: 100}]', list, large);
    mountSmallDisk(join(cwd, 'out/images'), 8);
    const ballast = join(cwd, 'out/images/ballast');
    writeFileSync(ballast, Buffer.alloc(7_500_000));
    const full = await inProcess(['run', 'pipeline.yaml'], { cwd });
    expect(full.code, full.stderr).toBe(14);
    expect(full.stdout).toMatch(/images.*disk is full/);
    expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(0);
    rmSync(ballast);
    const again = await inProcess(['run', 'pipeline.yaml', '--json'], { cwd });
    expect(again.code, again.stderr).toBe(0);
    expect(images(cwd)).toHaveLength(90);
  },
);
