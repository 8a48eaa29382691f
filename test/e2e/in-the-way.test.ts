/**
 * Promise: anything in the output folder at the place of our files is named with what to do, and stays
 * unchanged.
 */
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
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Finished, finishedNight, type Night, nightWith, pipeline, scenes } from './cli.ts';
import { firstTier, rest, sampled } from '../fakes/tier.ts';
import { canBeRefused, withoutPower } from './without-power.ts';

const small = 'input: {scene: "{{ scene }}", width: 32, height: 32}\n';
/** Cost of one start of the built program. */
const startCost = { ms: 500 };

const files = { 'pipeline.yaml': pipeline('local', small), 'scenes.csv': scenes(1) };

firstTier.describe.each([
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
    const night = await begun(isBatch);
    rmSync(night.path('out', name), { recursive: true, force: true });
    mkdirSync(night.path('out', name), { recursive: true });
    await expectRefusal(night, 14, says);
    expect(existsSync(night.path('out', name))).toBe(true);
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
    const night = await begun(isBatch);
    rmSync(night.path('out', name), { recursive: true, force: true });
    writeFileSync(night.path('out', name), 'a text');
    await expectRefusal(night, code, says);
    expect(readFileSync(night.path('out', name), 'utf8')).toBe('a text');
  });
});

describe.skipIf(process.platform === 'win32')(
  'a file of another kind (skipped if there are no named pipes)',
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
        const night = await begun(isBatch);
        const path = put(night, name, (place) => execFileSync('mkfifo', [place]));
        await expectAnswer(night, 'run', path, 'a named pipe');
        expect(lstatSync(path).isFIFO()).toBe(true);
      },
    );

    it.each(sampled(['plan', 'status', 'report', 'verify', 'retry', 'cancel', 'explain'], startCost))(
      '`%s` does not wait at a named pipe in the place of the checkpoint',
      async (command) => {
        const night = await begun(true);
        const path = put(night, 'checkpoint.sqlite', (place) => execFileSync('mkfifo', [place]));
        await expectAnswer(night, command, path, 'a named pipe');
      },
    );

    it.each(sampled(names, startCost))('a device, and a socket, in the place of %s', async (name) => {
      const night = await begun(true);
      const path = put(night, name, (place) => symlinkSync('/dev/zero', place));
      await expectAnswer(night, 'run', path, 'a device');
      const server = createServer();
      put(night, name, (place) => void server.listen(place));
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      await expectAnswer(night, 'run', path, 'a socket');
    });

    rest.it('a named pipe in the place of a picture or the report is damage, and replaced', async () => {
      const night = await begun(true);
      for (const name of ['images/s0.png', 'report/index.html', 'report/summary.json'])
        put(night, name, (place) => execFileSync('mkfifo', [place]));
      await night.built('verify', 'pipeline.yaml').exits(3, 'other than a file is in its place');
      await night.built('report', 'pipeline.yaml').exits(0);
      expect(lstatSync(night.path('out/report/index.html')).isFile()).toBe(true);
      await night.built('run', 'pipeline.yaml').exits(3);
    });

    rest.it(
      '`--adopt` does not wait for a named pipe in the place of a sidecar, and adopts by the name',
      async () => {
        const night = await begun(true);
        rmSync(night.path('out/checkpoint.sqlite'));
        const path = put(night, 'images/s0.json', (place) => execFileSync('mkfifo', [place]));
        await night.built('run', 'pipeline.yaml', '--adopt').exits(0).warns('1 of them by name only');
        expect(lstatSync(path).isFIFO()).toBe(true);
      },
    );

    function put(night: Night, name: string, make: (path: string) => void): string {
      const path = night.path('out', name);
      rmSync(path, { force: true });
      make(path);
      return path;
    }

    /** Runs a command in a separate process, because a named pipe would block this one forever. */
    async function expectAnswer(night: Night, command: string, path: string, what: string): Promise<void> {
      const more = command === 'explain' ? ['s0'] : [];
      await night
        .built(command, 'pipeline.yaml', ...more)
        .fails(14, `${path} is ${what}, but must be a file; move it away`)
        .warnsNo(/\n {4}at /);
    }
  },
);

firstTier.it('a file in the place of the output folder', async () => {
  await expectRefusal(
    nightWith({ ...files, out: 'a text' }),
    14,
    /out: a file stands where a folder is needed/,
  );
});

firstTier.it('an empty checkpoint beside pictures', async () => {
  const night = await begun(true);
  writeFileSync(night.path('out/checkpoint.sqlite'), '');
  await expectRefusal(
    night,
    2,
    /out\/checkpoint\.sqlite: this file is empty, but .* Put a copy of the file back/,
  );
});

firstTier.it('a link to a missing path', async () => {
  const night = await begun(true);
  rmSync(night.path('out/checkpoint.sqlite'));
  symlinkSync('nowhere/at-all', night.path('out/checkpoint.sqlite'));
  await expectRefusal(night, 14, /out\/checkpoint\.sqlite is a broken link; fix or remove it, then/);
});

describe.skipIf(!canBeRefused)(
  'a folder without permission (skipped if root cannot lay its power down)',
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
      const night = await begun(true);
      const path = night.path('out', name);
      chmodSync(path, mode);
      expectWords(withoutPower(['run', 'pipeline.yaml', '--quiet'], night.cwd), 14, says);
    });
  },
);

async function begun(isBatch: boolean): Promise<Night> {
  if (isBatch) return finishedNight(files);
  const night = nightWith(files);
  mkdirSync(night.path('out'));
  return night;
}

async function expectRefusal(night: Night, code: number, says: RegExp): Promise<void> {
  expectWords(await night.run('--quiet'), code, says);
}

function expectWords(refused: Finished, code: number, says: RegExp): void {
  expect(refused.stderr).toMatch(says);
  expect(refused.stderr).not.toMatch(/\n {4}at /);
  expect(refused.code).toBe(code);
}
