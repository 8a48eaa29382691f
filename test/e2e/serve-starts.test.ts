/** Promise: if a service cannot start, one sentence says why and what to do, and the exit code matches. */
import { chmodSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { describe, expect, it } from 'vitest';
import { firstTier, isWhole } from '../fakes/tier.ts';
import { folderWith, inProcess, nightWith, nthEvent, signalAt } from './cli.ts';
import { canMount, mountSmallDisk, setReadOnly } from './small-disk.ts';
import { canBeRefused, withoutPower } from './without-power.ts';

const again = 'or choose another folder with --data, then run the same command again.\n';

async function startIn(cwd: string, data: string, ...args: string[]) {
  const { code, stderr } = await inProcess(['serve', '--port', '0', '--data', data, ...args], {
    cwd,
  })
    .warnsNo(/\n\s+at |output\.dir|the run/)
    .printsOnly('');
  return [code, stderr];
}

firstTier.describe('a data folder', () => {
  it('that is a file, or in one', async () => {
    const cwd = folderWith({ file: '' });
    const moved = `a file stands where a folder is needed (ENOTDIR); move that file away, ${again}`;
    expect(await startIn(cwd, 'file')).toEqual([14, `the data folder file cannot be used: ${moved}`]);
    expect(await startIn(cwd, 'file/in')).toEqual([
      14,
      `the data folder file/in cannot be used: file: ${moved}`,
    ]);
  });

  it('with a folder in place of its database', async () => {
    const cwd = folderWith({});
    mkdirSync(join(cwd, 'data/service.sqlite'), { recursive: true });
    const [code, said] = await startIn(cwd, 'data');
    expect(code).toBe(14);
    expect(said).toBe(
      `the data folder data cannot be used: data/service.sqlite: a folder stands where the file belongs (EISDIR); move that folder away, ${again}`,
    );
  });

  it('of another program, of a newer version, and one that is damaged', async () => {
    const night = nightWith({});
    const serve = ['serve', '--port', '0', '--data', 'service', '--json'];
    await night.with({ at: signalAt(nthEvent('serving')) }).start(...serve);
    const change = (pragma: string): void =>
      void new Sqlite(night.path('service/service.sqlite')).pragma(pragma);
    change('user_version = 99');
    expect(await startIn(night.cwd, 'service')).toEqual([
      2,
      expect.stringMatching(/newer version .*Use that version/),
    ]);
    change('application_id = 7');
    expect(await startIn(night.cwd, 'service')).toEqual([
      2,
      expect.stringMatching(/file of another program; .*Move it away/),
    ]);
    night.write('service/keys.sqlite', 'no database');
    expect(await startIn(night.cwd, 'service')).toEqual([
      2,
      expect.stringMatching(/keys\.sqlite is damaged, .*Put a copy/),
    ]);
  });

  it('has the same message when its keys are listed', async () => {
    const night = nightWith({ file: '' });
    await night.start('keys', 'add', 'x', '--data', 'file').fails(14, again);
  });
});

firstTier.describe.skipIf(!canMount)('a disk (skipped if this user may not mount one)', () => {
  it('that is full', async () => {
    const cwd = folderWith({});
    mountSmallDisk(join(cwd, 'disk'), 1);
    const { bavail, bsize } = statfsSync(join(cwd, 'disk'));
    writeFileSync(join(cwd, 'disk/fill'), Buffer.alloc(bavail * bsize - 16_384));
    const full = `the disk is full (ENOSPC); free some space, ${again}`;
    expect(await startIn(cwd, 'disk/new')).toEqual([14, `the data folder disk/new cannot be used: ${full}`]);
  });

  it('that is read-only', async () => {
    const cwd = folderWith({});
    mountSmallDisk(join(cwd, 'disk'), 1);
    setReadOnly(join(cwd, 'disk'), true);
    const [code, said] = await startIn(cwd, 'disk');
    expect(code).toBe(14);
    expect(said).toBe(
      `the data folder disk cannot be used: the file system is read-only (EROFS); make it writable, ${again}`,
    );
  });
});

describe.skipIf(!canBeRefused)('permission (skipped if root cannot lay its power down)', () => {
  it.each([
    ['of its book', 'data', 'data/service.sqlite', 0o000, 'data/service.sqlite: '],
    ...(isWhole
      ? ([
          ['of the folder', 'data', 'data', 0o500, ''],
          ['of the folder that it would be in', 'data/new', 'data', 0o500, 'data: '],
        ] as const)
      : []),
  ] as const)('%s is missing', (_what, data, path, mode, where) => {
    const cwd = folderWith({});
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'data/service.sqlite'), '');
    chmodSync(join(cwd, path), mode);
    const { code, stdout, stderr } = withoutPower(['serve', '--port', '0', '--data', data], cwd);
    expect([code, stdout]).toEqual([14, '']);
    expect(stderr).toBe(
      `the data folder ${data} cannot be used: ${where}permission is denied (EACCES); give this user access to it, ${again}`,
    );
  });
});
