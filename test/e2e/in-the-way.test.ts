/** Promise: whatever stands in the output folder where our files belong is named, with what to do, and left as it is. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { finishedBatch, folderWith, inProcess, nightrender, pipeline, scenes, type Finished } from './cli.ts';
import { rest, sampled } from '../fakes/tier.ts';
import { canBeRefused, withoutPower } from './without-power.ts';

const small = 'input: {scene: "{{ scene }}", width: 32, height: 32}\n';
/** Of a start of the built program. */
const startCost = { ms: 500 };

const files = { 'pipeline.yaml': pipeline('local', small), 'scenes.csv': scenes(1) };

describe.each([
  ['a folder that is no batch yet', false],
  ['a batch', true],
])('in %s', (_, isBatch) => {
  it.each<[what: string, name: string, says: RegExp]>([
    [
      'the checkpoint',
      'checkpoint.sqlite',
      /out\/checkpoint\.sqlite is a folder, but must be a file; move it/,
    ],
    [
      'its log',
      'checkpoint.sqlite-wal',
      /out\/checkpoint\.sqlite-wal is a folder, but must be a file; move it/,
    ],
    ['the lock', '.lock.sqlite', /out\/\.lock\.sqlite is a folder, but must be a file; move it/],
    ['the name of the holder', '.lock.json', /out\/\.lock\.json: a folder stands where the file belongs/],
    ['the marks', '.in-hand', /out\/\.in-hand: a folder stands where the file belongs/],
  ])('a folder in the place of %s', async (_what, name, says) => {
    const cwd = await begun(isBatch);
    rmSync(join(cwd, 'out', name), { recursive: true, force: true });
    mkdirSync(join(cwd, 'out', name), { recursive: true });
    await expectRefusal(cwd, 14, says);
    expect(existsSync(join(cwd, 'out', name))).toBe(true);
  });

  it.each<[what: string, name: string, code: number, says: RegExp]>([
    [
      'the checkpoint',
      'checkpoint.sqlite',
      2,
      /checkpoint\.sqlite is damaged, or not an SQLite file.*Put a copy of it back/,
    ],
    ['the lock', '.lock.sqlite', 2, /out\/\.lock\.sqlite is damaged; it is only a lock .*: remove it, then/],
    [
      'the pictures',
      'images',
      14,
      /out\/images: a file stands where a folder is needed .*; move that file or folder/,
    ],
    [
      'the report',
      'report',
      14,
      /out\/report: a file stands where a folder is needed .*; move that file or folder/,
    ],
    ['the local service', 'local-service', 14, /out\/local-service: a file stands where a folder is needed/],
  ])('a text in the place of %s', async (_what, name, code, says) => {
    const cwd = await begun(isBatch);
    rmSync(join(cwd, 'out', name), { recursive: true, force: true });
    writeFileSync(join(cwd, 'out', name), 'a text');
    await expectRefusal(cwd, code, says);
    expect(readFileSync(join(cwd, 'out', name), 'utf8')).toBe('a text');
  });
});

describe.skipIf(process.platform === 'win32')(
  'what is no file (skipped where there are no named pipes)',
  () => {
    const names = [
      'checkpoint.sqlite',
      'checkpoint.sqlite-wal',
      '.checkpoint.json',
      '.in-hand',
      '.reserve',
      '.lock.sqlite',
      '.lock.json',
    ];
    const namesAndKinds = names.flatMap((name) =>
      [false, true].map((isBatch): [string, boolean] => [name, isBatch]),
    );

    it.each(sampled(namesAndKinds, startCost))(
      'a named pipe in the place of %s (of a batch: %s)',
      async (name, isBatch) => {
        const cwd = await begun(isBatch);
        const path = put(cwd, name, (place) => execFileSync('mkfifo', [place]));
        await expectAnswer(cwd, 'run', path, 'a named pipe');
        expect(lstatSync(path).isFIFO()).toBe(true);
      },
    );

    it.each(sampled(['plan', 'status', 'report', 'verify', 'retry', 'cancel', 'explain'], startCost))(
      '%s does not wait at one either',
      async (command) => {
        const cwd = await begun(true);
        const path = put(cwd, 'checkpoint.sqlite', (place) => execFileSync('mkfifo', [place]));
        await expectAnswer(cwd, command, path, 'a named pipe');
      },
    );

    it.each(sampled(names, startCost))('a device, and a socket, in the place of %s', async (name) => {
      const cwd = await begun(true);
      const path = put(cwd, name, (place) => symlinkSync('/dev/zero', place));
      await expectAnswer(cwd, 'run', path, 'a device');
      const server = createServer();
      put(cwd, name, (place) => void server.listen(place));
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      await expectAnswer(cwd, 'run', path, 'a socket');
    });

    rest.it('a named pipe in the place of a picture or the report is damage, and replaced', async () => {
      const cwd = await begun(true);
      for (const name of ['images/s0.png', 'report/index.html', 'report/summary.json'])
        put(cwd, name, (place) => execFileSync('mkfifo', [place]));
      const verified = await nightrender(['verify', 'pipeline.yaml'], { cwd });
      expect([verified.code, verified.stdout]).toEqual([
        3,
        expect.stringContaining('other than a file is in its place'),
      ]);
      const report = await nightrender(['report', 'pipeline.yaml'], { cwd });
      expect(report.code, report.stderr).toBe(0);
      expect(lstatSync(join(cwd, 'out/report/index.html')).isFile()).toBe(true);
      const run = await nightrender(['run', 'pipeline.yaml'], { cwd });
      expect(run.code, run.stderr).toBe(3);
    });

    rest.it(
      'a named pipe in the place of a sidecar is not waited for by --adopt, which goes by the name',
      async () => {
        const cwd = await begun(true);
        rmSync(join(cwd, 'out/checkpoint.sqlite'));
        const path = put(cwd, 'images/s0.json', (place) => execFileSync('mkfifo', [place]));
        const { code, stderr } = await nightrender(['run', 'pipeline.yaml', '--adopt'], { cwd });
        expect(stderr).toContain('1 of them by name only');
        expect(code, stderr).toBe(0);
        expect(lstatSync(path).isFIFO()).toBe(true);
      },
    );

    function put(cwd: string, name: string, make: (path: string) => void): string {
      const path = join(cwd, 'out', name);
      rmSync(path, { force: true });
      make(path);
      return path;
    }

    /** In a process of its own, which a pipe would stop for good. */
    async function expectAnswer(cwd: string, command: string, path: string, what: string): Promise<void> {
      const more = command === 'explain' ? ['s0'] : [];
      const { code, stderr } = await nightrender([command, 'pipeline.yaml', ...more], { cwd });
      expect(stderr).toContain(`${path} is ${what}, but must be a file; move it away`);
      expect(stderr).not.toMatch(/\n {4}at /);
      expect(code).toBe(14);
    }
  },
);

it('a file in the place of the output folder', async () => {
  await expectRefusal(
    folderWith({ ...files, out: 'a text' }),
    14,
    /out: a file stands where a folder is needed/,
  );
});

it('an empty checkpoint beside pictures', async () => {
  const cwd = await begun(true);
  writeFileSync(join(cwd, 'out/checkpoint.sqlite'), '');
  await expectRefusal(
    cwd,
    2,
    /out\/checkpoint\.sqlite: this file is empty, but .* Put a copy of the file back/,
  );
});

it('a link to what is not there', async () => {
  const cwd = await begun(true);
  rmSync(join(cwd, 'out/checkpoint.sqlite'));
  symlinkSync('nowhere/at-all', join(cwd, 'out/checkpoint.sqlite'));
  await expectRefusal(cwd, 14, /out\/checkpoint\.sqlite is a broken link; fix or remove it, then/);
});

describe.skipIf(!canBeRefused)(
  'without the permission (skipped where root cannot lay its power down)',
  () => {
    it.each(
      sampled<[name: string, mode: number, says: RegExp]>(
        [
          ['checkpoint.sqlite', 0o000, /this user cannot read and write out\/checkpoint\.sqlite; give/],
          ['.lock.sqlite', 0o000, /this user cannot read and write out\/\.lock\.sqlite; give/],
          ['', 0o555, /this user cannot write to the folder out; give this user access to it/],
        ],
        startCost,
      ),
    )('for out/%s', async (name, mode, says) => {
      const cwd = await begun(true);
      const path = join(cwd, 'out', name);
      chmodSync(path, mode);
      expectWords(withoutPower(['run', 'pipeline.yaml', '--quiet'], cwd), 14, says);
    });
  },
);

async function begun(isBatch: boolean): Promise<string> {
  if (isBatch) return await finishedBatch(files);
  const cwd = folderWith(files);
  mkdirSync(join(cwd, 'out'));
  return cwd;
}

async function expectRefusal(cwd: string, code: number, says: RegExp): Promise<void> {
  expectWords(await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd }), code, says);
}

function expectWords(refused: Finished, code: number, says: RegExp): void {
  expect(refused.stderr).toMatch(says);
  expect(refused.stderr).not.toMatch(/\n {4}at /);
  expect(refused.code).toBe(code);
}
