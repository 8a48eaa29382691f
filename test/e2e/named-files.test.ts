/** Promise: files besides pictures are saved, shown, verified and repaired with their scene, by the same commands. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { forgetUnneeded } from '../fakes/edit-checkpoint.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import type { HttpService } from '../fakes/http-service.ts';
import { camera, exr, mask } from '../runner/images/whole-files.ts';
import { folderWith, inProcess, linesOf, pipeline, scenes, withKey, type Finished } from './cli.ts';
import { blackPicture, startInstantService } from './stand-ins.ts';

const asked = `  files:
    depth: { at: files.depth, kind: exr }
    mask: { at: files.segmentation, kind: png }
    camera: { at: camera, kind: json }
`;

interface Batch {
  service: HttpService;
  cwd: string;
  images: string;
  start(...args: string[]): Promise<Finished>;
  /** Has `output` of pipeline.yaml say this besides from now on. */
  ask(output: string): void;
}

/** Of two scenes, whose jobs bring what a renderer with passes brings. */
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
  const cwd = folderWith({ 'scenes.csv': scenes(2) });
  const ask = (more: string): void =>
    writeFileSync(
      join(cwd, 'pipeline.yaml'),
      pipeline(service.url, 'retry: {firstWait: 1ms, longestWait: 1ms}\n').replace(
        '  dir: out\n',
        `  dir: out\n${more}`,
      ),
    );
  ask(output);
  const start = (command = '', ...args: string[]): Promise<Finished> =>
    inProcess([command, 'pipeline.yaml', ...args], { cwd, ...withKey });
  return { service, cwd, images: join(cwd, 'out/images'), start, ask };
}

it('saves them, and tells of them wherever it tells of pictures', async () => {
  const { cwd, images, start } = await batchOf();
  const plan = await start('plan');
  expect(plan.stdout).toMatch(/files +depth \(exr\), mask \(png\), camera \(json\)\n/);
  const run = await start('run', '--json');
  expect([run.code, run.stderr]).toEqual([0, '']);
  expect(linesOf(run).find(({ type }) => type === 'scene-saved')).toMatchObject({
    files: expect.arrayContaining([expect.stringMatching(/^s[01]-depth\.exr$/)]),
  });
  expect(readdirSync(images).filter((name) => name.startsWith('s0'))).toEqual([
    's0-camera.json',
    's0-depth.exr',
    's0-mask.png',
    's0.png',
  ]);
  expect(readFileSync(join(images, 's0-depth.exr')).equals(exr())).toBe(true);
  const [header = '', first = ''] = readFileSync(join(cwd, 'out/report/results.csv'), 'utf8').split('\n');
  expect(header).toContain(',source,file_depth,file_mask,file_camera,scene,endpoint');
  expect(first).toContain(',images/s0-depth.exr,images/s0-mask.png,images/s0-camera.json,');
  const [listed] = linesOf(await start('list', '--json'));
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
  expect((await start('explain', 's0-depth.exr')).stdout).toMatch(/images\/s0-depth\.exr {2}depth, \d/);
  const status = await start('status');
  expect(status.stdout).toMatch(/pictures +2 files.*\nfiles +6 files/);
  const [rows = ''] = readdirSync(join(cwd, 'out/report/gallery'));
  const gallery = readFileSync(join(cwd, 'out/report/gallery', rows, '1.js'), 'utf8');
  expect(gallery).toContain('{"label":"mask","file":"../images/s0-mask.png"');
  // All of it can be made anew from the checkpoint.
  rmSync(join(cwd, 'out/report'), { recursive: true });
  expect((await start('report')).code).toBe(0);
  expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8')).toContain(first);
});

it('verifies them by their kind, and has a scene rendered again as a whole', async () => {
  const { images, service, start } = await batchOf();
  await start('run', '--quiet');
  expect((await start('verify')).stdout).toContain('checked   8\ngood      8\n');
  const depth = readFileSync(join(images, 's1-depth.exr'));
  writeFileSync(join(images, 's1-depth.exr'), depth.subarray(0, -7));
  const verified = await start('verify', '--repair');
  expect(verified.stdout).toContain('s1-depth.exr (scene s1): damaged');
  expect(verified.stdout).toContain('1 scene waits to be rendered again');
  for (const kept of ['s1-depth.exr.damaged', 's1.png.former', 's1-camera.json.former'])
    expect(existsSync(join(images, kept)), kept).toBe(true);
  expect((await start('run', '--quiet')).code).toBe(0);
  expect(service.inputs).toHaveLength(3);
  expect((await start('verify')).stdout).toContain('checked   8\ngood      8\n');
});

it('says which scenes lack a file that was asked for later, and has these rendered again on demand', async () => {
  const { images, service, start, ask } = await batchOf('');
  await start('run', '--quiet');
  ask(asked);
  const lacking = '2 saved scenes have no file depth, 2 saved scenes have no file mask';
  expect((await start('plan')).stdout.replaceAll(/\s+/g, ' ')).toContain(lacking);
  const run = await start('run', '--json');
  expect(linesOf(run).find(({ type }) => type === 'warning')).toMatchObject({
    text: expect.stringContaining(lacking),
  });
  expect((await start('status')).stdout.replaceAll(/\s+/g, ' ')).toContain(lacking);
  expect(service.inputs).toHaveLength(2);
  const retried = await start('retry', '--lacking-files');
  expect([retried.code, retried.stdout]).toEqual([0, expect.stringContaining('2 scenes')]);
  expect((await start('run', '--quiet')).code).toBe(0);
  expect(service.inputs).toHaveLength(4);
  expect(existsSync(join(images, 's0.png.former'))).toBe(true);
  expect((await start('status')).stdout).not.toContain('saved scenes have no file');
  // What is no longer asked for stays, and is still verified.
  ask('');
  expect((await start('run', '--quiet')).code).toBe(0);
  expect((await start('verify')).stdout).toContain('checked   8\ngood      8\n');
  const wrong = await start('retry', '--lacking-files');
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('pipeline.yaml has no output.files'),
  ]);
});

it('leaves a job in flight if its output lacks one, and names it; and saves jobs of files alone where that is said', async () => {
  const { images, start, ask } = await batchOf(asked.replace('files.depth', 'files.normal'));
  expect((await start('run', '--quiet')).code).toBe(10);
  expect((await start('list')).stdout).toContain(
    'picture-not-found: the file depth is not at files.normal of the output',
  );
  expect(readdirSync(images)).toEqual([]);
  ask(`${asked}  image: none\n`);
  expect((await start('run', '--quiet')).code).toBe(0);
  expect(readdirSync(images)).not.toContain('s0.png');
  expect((await start('list')).stdout).toContain('images/s0-depth.exr and 2 more');
});

it('reads a checkpoint of before there were any, and goes on with it', async () => {
  const { cwd, start } = await batchOf('');
  await start('run', '--quiet');
  const db = new Sqlite(join(cwd, 'out/checkpoint.sqlite'));
  forgetUnneeded(db);
  db.exec(`DROP INDEX pictures_labelled; ALTER TABLE pictures DROP COLUMN label;
    ALTER TABLE runs DROP COLUMN idempotency_key; ALTER TABLE runs DROP COLUMN idempotency_ms;
    ALTER TABLE runs DROP COLUMN rules; ALTER TABLE pictures DROP COLUMN output; PRAGMA user_version = 6`);
  db.close();
  rmSync(join(cwd, 'out/.checkpoint.json'));
  for (const [command = '', ...args] of [
    ['status'],
    ['list', '--csv'],
    ['explain', 's0'],
    ['report'],
    ['verify'],
  ]) {
    const { code, stderr } = await start(command, ...args);
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
  expect((await start('run', '--quiet')).code).toBe(0);
  expect((await start('verify')).stdout).toContain('checked   2\ngood      2\n');
});

it('takes them over when the checkpoint is lost', async () => {
  const { cwd, images, service, start } = await batchOf();
  await start('run', '--quiet');
  for (const name of ['', '-wal', '-shm']) rmSync(join(cwd, `out/checkpoint.sqlite${name}`), { force: true });
  rmSync(join(images, 's1-mask.png'));
  const run = await start('run', '--adopt');
  expect(run.code, run.stderr).toBe(0);
  expect(run.stderr).toContain('s1.png: its file mask is missing');
  expect(service.inputs).toHaveLength(3);
  expect((await start('verify')).stdout).toContain('checked   8\ngood      8\n');
});

it('keeps them aside with their pictures, and what is beside these, where all is rendered anew', async () => {
  const { cwd, images, start } = await batchOf(`${asked}  metadata: sidecar\n`);
  await start('run', '--quiet');
  const before = readdirSync(images);
  for (const name of ['', '-wal', '-shm']) rmSync(join(cwd, `out/checkpoint.sqlite${name}`), { force: true });
  expect((await start('run', '--quiet', '--fresh')).code).toBe(0);
  expect(before).toHaveLength(10);
  expect(readdirSync(images)).toEqual([...before, ...before.map((name) => `${name}.former`)].toSorted());
});
