/**
 * Promise: files besides pictures are saved, shown, verified and repaired together with their scene, by the
 * same commands.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { forgetUnneeded } from '../fakes/edit-checkpoint.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import type { HttpService } from '../fakes/http-service.ts';
import { camera, exr, mask } from '../runner/images/whole-files.ts';
import { type Night, nightWith, pipeline, scenes } from './cli.ts';
import { blackPicture, startInstantService } from './stand-ins.ts';

const asked = `  files:
    depth: { at: files.depth, kind: exr }
    mask: { at: files.segmentation, kind: png }
    camera: { at: camera, kind: json }
`;

interface Batch {
  service: HttpService;
  night: Night;
  images: string;
  /** Adds these lines to `output` in pipeline.yaml, in place of earlier ones. */
  ask(output: string): void;
}

/** Creates a batch of two scenes, whose jobs return the files of a renderer with passes. */
async function batchOf(output = asked): Promise<Batch> {
  const passes = { depth: exr().toString('base64'), segmentation: (await mask()).toString('base64') };
  const service = await startInstantService([
    {
      rendered_image: await blackPicture(),
      seed: 1,
      files: passes,
      camera: JSON.parse(camera.toString()) as unknown,
    },
  ]);
  const night = nightWith({ 'scenes.csv': scenes(2) });
  const ask = (more: string): void =>
    night.write(
      'pipeline.yaml',
      pipeline(service.url, 'retry: {firstWait: 1ms, longestWait: 1ms}\n').replace(
        '  dir: out\n',
        `  dir: out\n${more}`,
      ),
    );
  ask(output);
  return { service, night, images: night.path('out/images'), ask };
}

it('saves files besides pictures, and shows them wherever it shows pictures', async () => {
  const { night, images } = await batchOf();
  await night.plan().prints(/files +depth \(exr\), mask \(png\), camera \(json\)\n/);
  expect(
    (await night.run('--json').exits(0).warnsOnly('').lines()).find(({ type }) => type === 'scene-saved'),
  ).toMatchObject({
    files: expect.arrayContaining([expect.stringMatching(/^s[01]-depth\.exr$/)]),
  });
  expect(readdirSync(images).filter((name) => name.startsWith('s0'))).toEqual([
    's0-camera.json',
    's0-depth.exr',
    's0-mask.png',
    's0.png',
  ]);
  expect(readFileSync(join(images, 's0-depth.exr')).equals(exr())).toBe(true);
  const [header = '', first = ''] = readFileSync(night.path('out/report/results.csv'), 'utf8').split('\n');
  expect(header).toContain(',source,file_depth,file_mask,file_camera,scene,endpoint');
  expect(first).toContain(',images/s0-depth.exr,images/s0-mask.png,images/s0-camera.json,');
  const [listed] = await night.list('--json').lines();
  expect(listed).toMatchObject({
    pictures: [{ file: 'images/s0.png' }],
    files: {
      depth: { file: 'images/s0-depth.exr', kind: 'exr', width: 40, height: 20 },
      camera: {
        file: 'images/s0-camera.json',
        kind: 'json',
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    },
  });
  await night.explain('s0-depth.exr').prints(/images\/s0-depth\.exr {2}depth, \d/);
  await night.status().prints(/pictures +2 files.*\nfiles +6 files/);
  const [rows = ''] = readdirSync(night.path('out/report/gallery'));
  const gallery = readFileSync(night.path('out/report/gallery', rows, '1.js'), 'utf8');
  expect(gallery).toContain('{"label":"mask","file":"../images/s0-mask.png"');
  // The report can be rebuilt from the checkpoint.
  rmSync(night.path('out/report'), { recursive: true });
  await night.do('report').exits(0);
  expect(readFileSync(night.path('out/report/results.csv'), 'utf8')).toContain(first);
});

it('verifies files by their kind, and has a scene rendered again as a whole', async () => {
  const { images, service, night } = await batchOf();
  await night.run('--quiet');
  await night.verify().prints('checked   8\ngood      8\n');
  const depth = readFileSync(join(images, 's1-depth.exr'));
  writeFileSync(join(images, 's1-depth.exr'), depth.subarray(0, -7));
  await night
    .verify('--repair')
    .prints('s1-depth.exr (scene s1): damaged', '1 scene waits to be rendered again');
  for (const kept of ['s1-depth.exr.damaged', 's1.png.former', 's1-camera.json.former'])
    expect(existsSync(join(images, kept)), kept).toBe(true);
  await night.run('--quiet').exits(0);
  expect(service.inputs).toHaveLength(3);
  await night.verify().prints('checked   8\ngood      8\n');
});

it('says which scenes lack a file that was requested later, and renders these again on demand', async () => {
  const { images, service, night, ask } = await batchOf('');
  await night.run('--quiet');
  ask(asked);
  const lacking = '2 saved scenes have no file depth, 2 saved scenes have no file mask';
  expect((await night.plan()).stdout.replaceAll(/\s+/g, ' ')).toContain(lacking);
  expect((await night.run('--json').lines()).find(({ type }) => type === 'warning')).toMatchObject({
    text: expect.stringContaining(lacking),
  });
  expect((await night.status()).stdout.replaceAll(/\s+/g, ' ')).toContain(lacking);
  expect(service.inputs).toHaveLength(2);
  await night.retry('--lacking-files').exits(0, '2 scenes');
  await night.run('--quiet').exits(0);
  expect(service.inputs).toHaveLength(4);
  expect(existsSync(join(images, 's0.png.former'))).toBe(true);
  await night.status().printsNo('saved scenes have no file');
  // Files that are no longer requested stay, and are still verified.
  ask('');
  await night.run('--quiet').exits(0);
  await night.verify().prints('checked   8\ngood      8\n');
  await night.retry('--lacking-files').fails(2, 'pipeline.yaml has no output.files');
});

it('leaves a job in flight if its output lacks a file, and names the file; saves jobs that return only files if configured', async () => {
  const { images, night, ask } = await batchOf(asked.replace('files.depth', 'files.normal'));
  await night.run('--quiet').exits(10);
  await night.list().prints('picture-not-found: the file depth is not at files.normal of the output');
  expect(readdirSync(images)).toEqual([]);
  ask(`${asked}  image: none\n`);
  await night.run('--quiet').exits(0);
  expect(readdirSync(images)).not.toContain('s0.png');
  await night.list().prints('images/s0-depth.exr and 2 more');
});

it('reads a checkpoint of a version without named files, and continues with it', async () => {
  const { night } = await batchOf('');
  await night.run('--quiet');
  const db = new Sqlite(night.path('out/checkpoint.sqlite'));
  forgetUnneeded(db);
  db.exec(`DROP INDEX pictures_labelled; ALTER TABLE pictures DROP COLUMN label;
    ALTER TABLE runs DROP COLUMN idempotency_key; ALTER TABLE runs DROP COLUMN idempotency_ms;
    ALTER TABLE runs DROP COLUMN rules; ALTER TABLE pictures DROP COLUMN output; PRAGMA user_version = 6`);
  db.close();
  rmSync(night.path('out/.checkpoint.json'));
  for (const [command = '', ...args] of [
    ['status'],
    ['list', '--csv'],
    ['explain', 's0'],
    ['report'],
    ['verify'],
  ]) {
    const { code, stderr } = await night.do(command, ...args);
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
  await night.run('--quiet').exits(0);
  await night.verify().prints('checked   2\ngood      2\n');
});

it('adopts named files when the checkpoint is lost', async () => {
  const { night, images, service } = await batchOf();
  await night.run('--quiet');
  for (const name of ['', '-wal', '-shm'])
    rmSync(night.path(`out/checkpoint.sqlite${name}`), { force: true });
  rmSync(join(images, 's1-mask.png'));
  await night.run('--adopt').exits(0).warns('s1.png: its file mask is missing');
  expect(service.inputs).toHaveLength(3);
  await night.verify().prints('checked   8\ngood      8\n');
});

it('keeps the files with their pictures and sidecars if everything is rendered again', async () => {
  const { night, images } = await batchOf(`${asked}  metadata: sidecar\n`);
  await night.run('--quiet');
  const before = readdirSync(images);
  for (const name of ['', '-wal', '-shm'])
    rmSync(night.path(`out/checkpoint.sqlite${name}`), { force: true });
  await night.run('--quiet', '--fresh').exits(0);
  expect(before).toHaveLength(10);
  expect(readdirSync(images)).toEqual([...before, ...before.map((name) => `${name}.former`)].toSorted());
});
