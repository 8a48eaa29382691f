/**
 * Promise: with `output.keep: original`, pictures keep the received bytes, whatever happens to the batch
 * afterwards.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { type Night, nightWith, pipeline, testKey } from './cli.ts';
import { completed, startStandIn } from './stand-ins.ts';

const formats = ['jpeg', 'webp', 'avif', 'png'] as const;
const endings = { jpeg: 'jpg', webp: 'webp', avif: 'avif', png: 'png' };
const env = { NIGHTRENDER_API_KEY: testKey };

/**
 * Starts a service that returns a picture in the requested format and colour. Jobs of a stage return a
 * picture made from their input picture.
 */
async function startPainter(): Promise<{ service: HttpService; bytes: Map<string, Buffer> }> {
  const bytes = new Map<string, Buffer>();
  for (const [i, format] of formats.entries()) {
    const background = { r: 60 * i, g: 90, b: 200 };
    const picture = sharp({ create: { width: 96, height: 64, channels: 3, background } });
    bytes.set(format, await picture[format]().toBuffer());
  }
  const service = await startStandIn({
    plan: ({ format }) => ({
      end: () =>
        completed([
          {
            rendered_image: bytes.get(typeof format === 'string' ? format : '')?.toString('base64'),
            seed: 1,
          },
        ]),
    }),
  });
  return { service, bytes };
}

function batch(url: string, output: string): Night {
  const yaml = pipeline(url, 'input: {format: "{{ format }}"}\n').replace(
    '  dir: out\n',
    `  dir: out\n${output}`,
  );
  const list = formats.map((format) => `${format}-scene,${format}\n`).join('');
  return nightWith({ 'pipeline.yaml': yaml, 'scenes.csv': `id,format\n${list}` });
}

function images(night: Night): string[] {
  return readdirSync(night.path('out/images')).toSorted();
}

const originals = formats.map((format) => `${format}-scene.${endings[format]}`).toSorted();

it('keeps the received bytes, verifies and lists them, makes copies and thumbnails of them, and exports them', async () => {
  const { service, bytes } = await startPainter();
  const night = batch(
    service.url,
    '  keep: original\n  formats: [{format: webp}, {format: jpeg, size: 48}]\n',
  );
  await night.with({ env }).run('--quiet').exits(0);
  const copies = formats.flatMap((format) => [`${format}-scene.webp`, `${format}-scene-48.jpg`]);
  expect(images(night)).toEqual([...new Set([...originals, ...copies])].toSorted());
  for (const format of formats) {
    const file = night.path(`out/images/${format}-scene.${endings[format]}`);
    expect(readFileSync(file).equals(bytes.get(format) ?? expect.fail()), format).toBe(true);
  }
  await night.verify().exits(0);
  const report = await night.do('report', '--json');
  expect(JSON.parse(report.stdout)).toMatchObject({ copies: { made: 0, lacking: 0 } });
  expect(night.read('out/report/results.csv')).toContain('avif-scene.avif');
  const to = night.path('dataset');
  await night.do('export', to, '--to', 'imagefolder').exits(0);
  expect(readdirSync(to, { recursive: true }).map(String)).toEqual(expect.arrayContaining(originals));
  const tar = night.path('shards');
  await night.do('export', tar, '--to', 'webdataset').exits(0);
});

it('renders nothing again if `keep` changes: saved pictures keep their names, new ones get their own', async () => {
  const { service } = await startPainter();
  const night = batch(service.url, '');
  await night.with({ env }).run('--quiet').exits(0);
  const asPng = formats.map((format) => `${format}-scene.png`).toSorted();
  expect(images(night)).toEqual(asPng);
  const yaml = night.read('pipeline.yaml');
  night.write('pipeline.yaml', yaml.replace('  dir: out\n', '  dir: out\n  keep: original\n'));
  const list = night.read('scenes.csv');
  night.write('scenes.csv', `${list}new,jpeg\n`);
  await night.with({ env }).run('--quiet').exits(0);
  expect(service.inputs).toHaveLength(5);
  expect(images(night)).toEqual([...asPng, 'new.jpg'].toSorted());
  // After an edit the earlier picture gets another name and keeps its format.
  night.write('scenes.csv', `${list}new,webp\n`);
  await night.with({ env }).run('--quiet').exits(0);
  const renamed = images(night).map((name) => name.replace(/replaced-[0-9a-f]+/, 'replaced'));
  expect(renamed).toEqual([...asPng, 'new.replaced.jpg', 'new.webp'].toSorted());
  await night.with({ env }).retry('--id', 'jpeg-scene', '--again').exits(0);
  await night.with({ env }).run('--quiet').exits(0);
  expect(images(night)).toContain('jpeg-scene.jpg');
  await night.verify().exits(0);
});

it('adopts original pictures after their checkpoint was lost, and not the copies beside them', async () => {
  const { service } = await startPainter();
  const night = batch(
    service.url,
    '  keep: original\n  metadata: sidecar\n  formats: [{format: webp, size: 48}]\n',
  );
  await night.with({ env }).run('--quiet').exits(0);
  const before = images(night);
  for (const file of readdirSync(night.path('out')))
    if (file.startsWith('checkpoint')) rmSync(night.path('out', file), { recursive: true });
  await night.with({ env }).run('--quiet').fails(2, '--adopt');
  await night.with({ env }).run('--adopt', '--quiet').exits(0);
  expect(service.inputs).toHaveLength(4);
  expect(images(night)).toEqual(before);
  await night.verify().exits(0);
});

it('never takes the picture of a scene for the copy of another, whenever copies were configured', async () => {
  const { service, bytes } = await startPainter();
  const night = batch(service.url, '  keep: original\n');
  const list = (format: string) => `id,format\na-512,jpeg\na,${format}\n`;
  const change = (file: string, from: string, to: string): void =>
    night.write(file, night.read(file).replace(from, to));
  const run = async (...args: string[]) => {
    await night
      .with({ env })
      .start(...args)
      .exits(0);
    expect(readFileSync(night.path('out/images/a-512.jpg')).equals(bytes.get('jpeg') ?? expect.fail())).toBe(
      true,
    );
  };
  night.write('scenes.csv', list('webp'));
  await run('run', 'pipeline.yaml', '--quiet');
  change('pipeline.yaml', 'keep: original', 'keep: original\n  formats: [{format: jpeg, size: 512}]');
  await run('report', 'pipeline.yaml');
  await run('retry', 'pipeline.yaml', '--id', 'a', '--again');
  await run('run', 'pipeline.yaml', '--quiet');
  night.write('scenes.csv', list('avif'));
  await run('run', 'pipeline.yaml', '--quiet');
  // The list is edited back. The picture must not take back a name that another one uses now.
  night.write('scenes.csv', list('webp'));
  await run('run', 'pipeline.yaml', '--quiet');
  change('pipeline.yaml', 'keep: original', 'keep: png');
  night.write('scenes.csv', list('png'));
  await run('run', 'pipeline.yaml', '--quiet');
  await run('verify', 'pipeline.yaml');
  await night.do('export', 'set', '--to', 'imagefolder', '--copy', '512.jpg').exits(3);
  expect(night.read('set/missing.jsonl')).toContain('"id":"a"');
});

it('asks before it pays again for original pictures, even if PNG is wanted by now', async () => {
  const { service } = await startPainter();
  const night = batch(service.url, '  keep: original\n');
  await night.with({ env }).run('--quiet').exits(0);
  const before = images(night);
  const yaml = night.read('pipeline.yaml');
  night.write('pipeline.yaml', yaml.replace('  keep: original\n', ''));
  for (const file of readdirSync(night.path('out')))
    if (/checkpoint/.test(file)) rmSync(night.path('out', file), { recursive: true });
  await night.with({ env }).run('--quiet').exits(2);
  await night.with({ env }).run('--adopt', '--quiet').exits(0);
  expect(service.inputs).toHaveLength(4);
  expect(images(night)).toEqual(before);
});

it.each([
  ['png', 1],
  ['original', 0],
])('says once a run that signatures are lost, if they are (keep: %s)', async (keep, times) => {
  const picture = sharp({ create: { width: 64, height: 48, channels: 3, background: '#369' } });
  const jpeg = await picture.jpeg().toBuffer();
  const claim = Buffer.from('JP\0\u0001\0\0\0\u0001\0\0\0\u0014jumb\0\0\0\u000cjumdc2pa', 'latin1');
  const head = Buffer.of(0xff, 0xeb, 0, claim.length + 2);
  const signed = Buffer.concat([jpeg.subarray(0, 2), head, claim, jpeg.subarray(2)]).toString('base64');
  const service = await startStandIn({
    plan: () => ({ end: () => completed([{ rendered_image: signed }]) }),
  });
  const night = batch(service.url, `  keep: ${keep}\n`);
  const { stdout, stderr } = await night.with({ env }).run().exits(0);
  expect((stdout + stderr).match(/Content Credentials, C2PA/g) ?? []).toHaveLength(times);
});

it('puts a scene with a damaged picture back, and keeps that picture aside', async () => {
  const { service, bytes } = await startPainter();
  const night = batch(service.url, '  keep: original\n');
  await night.with({ env }).run('--quiet').exits(0);
  const file = night.path('out/images/jpeg-scene.jpg');
  const damaged = Buffer.from(readFileSync(file));
  damaged[damaged.length - 20] = (damaged[damaged.length - 20] ?? 0) ^ 0xff;
  writeFileSync(file, damaged);
  renameSync(night.path('out/images/avif-scene.avif'), night.path('away'));
  await night.verify('--repair').exits(0);
  await night.with({ env }).run('--quiet').exits(0);
  expect(service.inputs).toHaveLength(6);
  const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex');
  expect(sha(readFileSync(file))).toBe(sha(bytes.get('jpeg') ?? expect.fail()));
  expect(images(night)).toEqual([...originals, 'jpeg-scene.jpg.damaged'].toSorted());
});

it('says in the plan that the received picture decides the ending', async () => {
  const night = batch('https://api.example.com', '  keep: original\n');
  await night.with({ env }).plan('--requests', '1').prints('images/jpeg-scene.*');
});
