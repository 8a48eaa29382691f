/** Promise: `verify` finds every missing or damaged picture, and `--repair` has exactly those rendered again. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import {
  cutOffRun,
  finishedBatch,
  holdBatch,
  inProcess,
  jobsOf,
  linesOf,
  newBatch,
  pipeline,
  scenes,
  withKey,
} from './cli.ts';
import { startPatientService } from './stand-ins.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

async function rendered(count: number): Promise<{ cwd: string; images: string; jobs: () => number }> {
  const cwd = await finishedBatch({ 'pipeline.yaml': pipeline('local', small), 'scenes.csv': scenes(count) });
  return { cwd, images: join(cwd, 'out/images'), jobs: () => jobsOf(join(cwd, 'out/local-service')) };
}

/** Removes one picture, cuts one and turns a bit of one. */
function spoil(images: string): void {
  rmSync(join(images, 's1.png'));
  const cut = readFileSync(join(images, 's3.png'));
  writeFileSync(join(images, 's3.png'), cut.subarray(0, cut.length - 20));
  const turned = readFileSync(join(images, 's5.png'));
  turned[turned.length >> 1] = (turned[turned.length >> 1] ?? 0) ^ 1;
  writeFileSync(join(images, 's5.png'), turned);
}

it('is named by a run that finds pictures missing, and then nothing is', async () => {
  const { cwd, images, jobs } = await rendered(4);
  rmSync(images, { recursive: true });
  const again = await inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey });
  expect(again.code, again.stdout).toBe(3);
  expect(again.stdout).toContain(
    '4 of 4 saved pictures are missing or have another size, such as s0.png; `nightrender verify pipeline.yaml --repair` puts',
  );
  expect(again.stdout).toContain('`nightrender run pipeline.yaml`');
  const json = await inProcess(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  expect(linesOf(json).at(-1)).toMatchObject({
    type: 'run-ended',
    missingPictures: 4,
    text: expect.stringContaining('`nightrender verify pipeline.yaml --repair` puts'),
  });
  await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  const last = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  expect(last.code, last.stderr).toBe(0);
  expect(jobs()).toBe(8);
});

it('says that all is good, without the key and with exit code 0', async () => {
  const { cwd } = await rendered(4);
  const { code, stdout, stderr } = await inProcess(['verify', 'pipeline.yaml'], { cwd });
  expect(code, stderr).toBe(0);
  expect(stdout).toBe('checked   4\ngood      4\nmissing   0\ndamaged   0\n');
});

it('finds what is missing, cut and turned, and changes nothing', async () => {
  const { cwd, images } = await rendered(8);
  spoil(images);
  const before = readdirSync(images);
  const { code, stdout } = await inProcess(['verify', 'pipeline.yaml'], { cwd });
  expect(code).toBe(3);
  expect(stdout).toMatch(/^checked\s+8\ngood\s+5\nmissing\s+1\ndamaged\s+2\n/);
  expect(stdout).toContain('  s1.png (scene s1): missing\n');
  expect(stdout).toMatch(/ {2}s3\.png \(scene s3\): damaged: it has [\d,]+ bytes instead of [\d,]+ bytes\n/);
  expect(stdout).toMatch(/ {2}s5\.png \(scene s5\): damaged: its bytes are not those that were saved/);
  expect(stdout).toContain('`nightrender verify pipeline.yaml --repair`');
  expect(readdirSync(images)).toEqual(before);
  const json = await inProcess(['verify', 'pipeline.yaml', '--json'], { cwd });
  const lines = linesOf<Record<string, string>>(json);
  expect(lines.map(({ type, scene }) => `${type} ${scene ?? ''}`).toSorted()).toEqual([
    'picture-damaged s3',
    'picture-damaged s5',
    'picture-missing s1',
    'verified ',
  ]);
  expect(lines.at(-1)).toMatchObject({
    checked: 8,
    good: 5,
    missing: 1,
    damaged: 2,
    putBack: 0,
    exitCode: 3,
  });
});

it('decodes: a picture that was recorded with its damage is found all the same', async () => {
  const { cwd, images } = await rendered(1);
  const cut = readFileSync(join(images, 's0.png')).subarray(0, -1);
  writeFileSync(join(images, 's0.png'), cut);
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(cut).digest('hex');
  editCheckpoint(join(cwd, 'out'), (db) => {
    db.prepare('UPDATE pictures SET bytes = ?, sha256 = ?').run(cut.length, sha256);
  });
  const { code, stdout } = await inProcess(['verify', 'pipeline.yaml'], { cwd });
  expect(code).toBe(3);
  expect(stdout).toContain('damaged: it is cut');
});

it('puts exactly the bad ones back, keeps what is damaged, and the next run renders them', async () => {
  const { cwd, images, jobs } = await rendered(8);
  spoil(images);
  const damaged = readFileSync(join(images, 's3.png'));
  const repair = await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  expect(repair.code, repair.stderr).toBe(0);
  expect(repair.stdout).toContain('kept as s3.png.damaged');
  expect(repair.stdout).toContain('3 scenes wait to be rendered again');
  expect(existsSync(join(images, 's3.png'))).toBe(false);
  expect(readFileSync(join(images, 's3.png.damaged')).equals(damaged)).toBe(true);
  const left = await inProcess(['verify', 'pipeline.yaml'], { cwd });
  expect(left.code, left.stdout).toBe(0);
  const run = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  expect(run.code, run.stderr).toBe(0);
  expect(jobs()).toBe(8 + 3);
  const after = await inProcess(['verify', 'pipeline.yaml'], { cwd });
  expect(after.stdout).toMatch(/^checked\s+8\ngood\s+8\n/);
  // The second time, what was kept before is kept still.
  writeFileSync(join(images, 's3.png'), 'no picture');
  await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  expect(readFileSync(join(images, 's3.png.damaged')).equals(damaged)).toBe(true);
  expect(readFileSync(join(images, 's3.png.damaged-2'), 'utf8')).toBe('no picture');
});

it('reports pictures of rows that are gone or edited, and does not render them again', async () => {
  const { cwd, images, jobs } = await rendered(4);
  writeFileSync(join(cwd, 'scenes.csv'), scenes(3).replace('Hills and 2 trees', 'A lake'));
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  const replaced = readdirSync(images).find((name) => name.startsWith('s2.replaced-')) ?? '';
  rmSync(join(images, 's3.png'));
  writeFileSync(join(images, replaced), 'no picture');
  const only = await inProcess(['verify', 'pipeline.yaml'], { cwd });
  expect(only.stdout).toContain('s3.png (scene s3, no longer in the manifest): missing');
  const repair = await inProcess(['verify', 'pipeline.yaml', '--repair', '--json'], { cwd });
  expect(linesOf(repair).at(-1)).toMatchObject({
    checked: 5,
    good: 3,
    withdrawn: 2,
    putBack: 0,
  });
  expect(existsSync(join(images, `${replaced}.damaged`))).toBe(true);
  const run = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  expect(run.code, run.stderr).toBe(0);
  expect(jobs()).toBe(5);
  writeFileSync(join(cwd, 'scenes.csv'), scenes(4));
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  expect(jobs(), 'rows that came back without their pictures').toBe(7);
});

it('names a damaged checkpoint, repairs it on a word, and the next run goes on', async () => {
  const { cwd, jobs } = await rendered(3);
  const path = join(cwd, 'out/checkpoint.sqlite');
  const bytes = readFileSync(path, 'latin1');
  writeFileSync(path, bytes.replaceAll('CREATE TABLE pictures', 'CREATE TABLE picturez'), 'latin1');
  for (const command of ['run', 'plan', 'verify']) {
    const refused = await inProcess([command, 'pipeline.yaml'], { cwd, ...withKey });
    expect(refused.code, refused.stderr).toBe(2);
    expect(refused.stderr).toContain('nightrender verify pipeline.yaml --repair');
    expect(refused.stderr).not.toMatch(/\n {4}at /);
  }
  for (const command of ['status', 'list']) {
    const { stderr } = await inProcess([command, 'pipeline.yaml'], { cwd });
    expect(stderr).not.toMatch(/\n {4}at /);
  }
  const repaired = await inProcess(['verify', 'pipeline.yaml', '--repair', '--json'], { cwd });
  expect(repaired.stdout).toMatch(/"checkpoint-repaired",.*"lost":0/);
  expect(repaired.code, repaired.stderr).toBe(0);
  expect(existsSync(`${path}.damaged`)).toBe(true);
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(0);
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey })).code).toBe(0);
  expect(jobs()).toBe(3);
});

it('knows a picture whose rename was decided, done and not put on record before a death', async () => {
  const { cwd, images } = await rendered(3);
  // As a run left it that died between planning its renames and recording them: one is done, one is not.
  editCheckpoint(join(cwd, 'out'), "UPDATE pictures SET move_to = 'moved-' || file WHERE file <> 's0.png'");
  const { renameSync } = await import('node:fs');
  renameSync(join(images, 's1.png'), join(images, 'moved-s1.png'));
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(0);
  expect((await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd })).code).toBe(0);
  expect(readdirSync(images).toSorted()).toEqual(['moved-s1.png', 'moved-s2.png', 's0.png']);
});

it('has every scene rendered again only where the images folder is there to be looked at', async () => {
  const { cwd, images } = await rendered(2);
  rmSync(images, { recursive: true });
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(3);
  const repair = await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  expect(repair.code).toBe(2);
  expect(repair.stderr).toContain('mount it');
});

it('reads beside a run, and repairs only without one', async () => {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 2);
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(2);
  expect((await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd })).code).toBe(2);
  expect(existsSync(join(cwd, 'out'))).toBe(false);
  await cutOffRun(cwd, 2);
  await holdBatch(cwd);
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(0);
  const repair = await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  expect(repair.code).toBe(11);
  expect(repair.stderr).toMatch(new RegExp(`process ${process.pid} .*Stop it first`));
});
