/** Promise: `verify` finds every missing or damaged picture, and `--repair` has exactly those rendered again. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { finishedNight, type Night, nightOf, pipeline, scenes } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

async function rendered(count: number): Promise<{ night: Night; images: string; jobs: () => number }> {
  const night = await finishedNight({
    'pipeline.yaml': pipeline('local', small),
    'scenes.csv': scenes(count),
  });
  return { night, images: night.path('out/images'), jobs: () => night.localJobs() };
}

/** Removes one picture, truncates one and flips a bit of one. */
function spoil(images: string): void {
  rmSync(join(images, 's1.png'));
  const cut = readFileSync(join(images, 's3.png'));
  writeFileSync(join(images, 's3.png'), cut.subarray(0, cut.length - 20));
  const turned = readFileSync(join(images, 's5.png'));
  turned[turned.length >> 1] = (turned[turned.length >> 1] ?? 0) ^ 1;
  writeFileSync(join(images, 's5.png'), turned);
}

it('a run that finds pictures missing names `verify --repair`, after which none is missing', async () => {
  const { night, images, jobs } = await rendered(4);
  rmSync(images, { recursive: true });
  await night
    .run()
    .exits(
      3,
      '4 of 4 saved files are missing or have another size, such as s0.png; `nightrender verify pipeline.yaml --repair` puts',
      '`nightrender run pipeline.yaml`',
    );
  expect((await night.run('--json').lines()).at(-1)).toMatchObject({
    type: 'run-ended',
    missingPictures: 4,
    text: expect.stringContaining('`nightrender verify pipeline.yaml --repair` puts'),
  });
  await night.verify('--repair');
  await night.run('--quiet').exits(0);
  expect(jobs()).toBe(8);
});

it('`verify` says that all pictures are valid, without the key and with exit code 0', async () => {
  const { night } = await rendered(4);
  await night.verify().exits(0).printsOnly('checked   4\ngood      4\nmissing   0\ndamaged   0\n');
});

it('`verify` finds missing, truncated and altered pictures, and changes nothing', async () => {
  const { night, images } = await rendered(8);
  spoil(images);
  const before = readdirSync(images);
  await night
    .verify()
    .exits(
      3,
      /^checked\s+8\ngood\s+5\nmissing\s+1\ndamaged\s+2\n/,
      '  s1.png (scene s1): missing\n',
      / {2}s3\.png \(scene s3\): damaged: it has [\d,]+ bytes instead of [\d,]+ bytes\n/,
      / {2}s5\.png \(scene s5\): damaged: its bytes are not those that were saved/,
      '`nightrender verify pipeline.yaml --repair`',
    );
  expect(readdirSync(images)).toEqual(before);
  const lines = await night.verify('--json').lines<Record<string, string>>();
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

it('`verify` decodes pictures, and so finds a picture that was recorded with its damage', async () => {
  const { night, images } = await rendered(1);
  const cut = readFileSync(join(images, 's0.png')).subarray(0, -1);
  writeFileSync(join(images, 's0.png'), cut);
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(cut).digest('hex');
  editCheckpoint(night.path('out'), (db) => {
    db.prepare('UPDATE pictures SET bytes = ?, sha256 = ?').run(cut.length, sha256);
  });
  await night.verify().exits(3, 'damaged: it is cut');
});

it('`verify --repair` puts back exactly the bad pictures, keeps damaged files, and the next run renders them', async () => {
  const { night, images, jobs } = await rendered(8);
  spoil(images);
  const damaged = readFileSync(join(images, 's3.png'));
  await night.verify('--repair').exits(0, 'kept as s3.png.damaged', '3 scenes wait to be rendered again');
  expect(existsSync(join(images, 's3.png'))).toBe(false);
  expect(readFileSync(join(images, 's3.png.damaged')).equals(damaged)).toBe(true);
  await night.verify().exits(0);
  await night.run('--quiet').exits(0);
  expect(jobs()).toBe(8 + 3);
  await night.verify().prints(/^checked\s+8\ngood\s+8\n/);
  // The second repair keeps the file that the first one kept.
  writeFileSync(join(images, 's3.png'), 'no picture');
  await night.verify('--repair');
  expect(readFileSync(join(images, 's3.png.damaged')).equals(damaged)).toBe(true);
  expect(readFileSync(join(images, 's3.png.damaged-2'), 'utf8')).toBe('no picture');
});

it('`verify` reports pictures of removed or edited rows, and does not have them rendered again', async () => {
  const { night, images, jobs } = await rendered(4);
  night.write('scenes.csv', scenes(3).replace('Hills and 2 trees', 'A lake'));
  await night.run('--quiet');
  const replaced = readdirSync(images).find((name) => name.startsWith('s2.replaced-')) ?? '';
  rmSync(join(images, 's3.png'));
  writeFileSync(join(images, replaced), 'no picture');
  await night.verify().prints('s3.png (scene s3, no longer in the manifest): missing');
  expect((await night.verify('--repair', '--json').lines()).at(-1)).toMatchObject({
    checked: 5,
    good: 3,
    withdrawn: 2,
    putBack: 0,
  });
  expect(existsSync(join(images, `${replaced}.damaged`))).toBe(true);
  await night.run('--quiet').exits(0);
  expect(jobs()).toBe(5);
  night.write('scenes.csv', scenes(4));
  await night.run('--quiet');
  expect(jobs(), 'rows that came back without their pictures').toBe(7);
});

it('`verify` names a damaged checkpoint, repairs it on request, and the next run continues', async () => {
  const { night, jobs } = await rendered(3);
  const path = night.path('out/checkpoint.sqlite');
  const bytes = readFileSync(path, 'latin1');
  writeFileSync(path, bytes.replaceAll('CREATE TABLE pictures', 'CREATE TABLE picturez'), 'latin1');
  for (const command of ['run', 'plan', 'verify']) {
    await night
      .do(command)
      .fails(2, 'nightrender verify pipeline.yaml --repair')
      .warnsNo(/\n {4}at /);
  }
  for (const command of ['status', 'list']) {
    await night.do(command).warnsNo(/\n {4}at /);
  }
  await night.verify('--repair', '--json').exits(0, /"checkpoint-repaired",.*"lost":0/);
  expect(existsSync(`${path}.damaged`)).toBe(true);
  await night.verify().exits(0);
  await night.run('--quiet').exits(0);
  expect(jobs()).toBe(3);
});

it('`verify` finds a picture that was renamed before a crash, although the new name was not recorded', async () => {
  const { night, images } = await rendered(3);
  // This is the state after a run that crashed between planning its renames and recording them: one is done
  // and one is not.
  editCheckpoint(night.path('out'), "UPDATE pictures SET move_to = 'moved-' || file WHERE file <> 's0.png'");
  const { renameSync } = await import('node:fs');
  renameSync(join(images, 's1.png'), join(images, 'moved-s1.png'));
  await night.verify().exits(0);
  await night.verify('--repair').exits(0);
  expect(readdirSync(images).toSorted()).toEqual(['moved-s1.png', 'moved-s2.png', 's0.png']);
});

it('every scene is rendered again only if the images folder exists', async () => {
  const { night, images } = await rendered(2);
  rmSync(images, { recursive: true });
  await night.verify().exits(3);
  await night.verify('--repair').fails(2, 'mount it');
});

it('`verify` reads during a run, and repairs only without a run', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 2);
  await night.verify().exits(2);
  await night.verify('--repair').exits(2);
  expect(night.has('out')).toBe(false);
  await night.cutOff(2);
  await night.hold();
  await night.verify().exits(0);
  await night.verify('--repair').fails(11, new RegExp(`process ${process.pid} .*Stop it first`));
});
