/** Promise: the service notices if its data folder or files disappear or are replaced while it runs. */
import { chmodSync, chownSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DataFolderInUse, FolderWatch, lockDataFolder } from '../../../src/service/jobs/data-folder.ts';
import { makeDataDir, openService } from '../service-harness.ts';

it('the data folder raises no alarm about files that are removed at the end of the service', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'service.sqlite-wal');
  writeFileSync(path, '');
  const troubles: string[] = [];
  const folder = new FolderWatch(dir, [path], (text) => troubles.push(text));
  folder.stop();
  rmSync(path);
  expect(folder.check()).toBe(false);
  expect(troubles).toEqual([]);
});

it('the data folder reports once that a file is missing or replaced, and once that it is back', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [one, two] = [join(dir, 'one'), join(dir, 'two')];
  for (const path of [one, two]) writeFileSync(path, '');
  const told: string[] = [];
  const folder = new FolderWatch(dir, [one, two], (text) => told.push(text));
  expect([folder.isLost, folder.check(), told]).toEqual([false, false, []]);
  renameSync(two, join(dir, 'away'));
  for (let time = 0; time < 2; time++) expect([folder.check(), folder.isLost]).toEqual([true, true]);
  writeFileSync(two, '');
  expect([folder.check(), told]).toEqual([
    true,
    [expect.stringContaining(`the data folder ${dir} was deleted or replaced`)],
  ]);
  renameSync(join(dir, 'away'), two);
  for (let time = 0; time < 2; time++) expect([folder.check(), folder.isLost]).toEqual([false, false]);
  expect(told.slice(1)).toEqual([`the data folder ${dir} is back; jobs are accepted again`]);
});

it("the data folder is one service's at a time", () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const lock = lockDataFolder(join(dir, 'lock'));
  expect(() => lockDataFolder(join(dir, 'lock'))).toThrow(DataFolderInUse);
  lock.release();
  lockDataFolder(join(dir, 'lock')).release();
});

it.skipIf(process.platform === 'win32')(
  'the data folder is made private at a start if others may write in it',
  async () => {
    const dataDir = await makeDataDir();
    for (const mode of [0o777, 0o770, 0o702]) {
      chmodSync(dataDir, mode);
      const { troubles, close } = await openService({ dataDir });
      expect([statSync(dataDir).mode & 0o777, troubles]).toEqual([
        0o700,
        [`other users could write in the data folder ${dataDir}; it is private now`],
      ]);
      await close();
    }
    // Folders that others may only read are left as they are.
    chmodSync(dataDir, 0o755);
    const { troubles } = await openService({ dataDir });
    expect([statSync(dataDir).mode & 0o777, troubles]).toEqual([0o755, []]);
  },
);

it.skipIf(process.getuid?.() !== 0)(
  'the data folder is reported at each start if others may write in it and it is not of this user (skipped if the tests do not run as root)',
  async () => {
    const dataDir = await makeDataDir();
    chmodSync(dataDir, 0o777);
    chownSync(dataDir, 65_534, 65_534);
    for (let start = 0; start < 2; start++) {
      const { troubles, close } = await openService({ dataDir });
      expect(troubles).toEqual([
        `other users may write in the data folder ${dataDir}, and could replace its jobs and keys; run chmod go-w on it, as its owner`,
      ]);
      await close();
    }
    expect(statSync(dataDir).mode & 0o777).toBe(0o777);
  },
);
