/** Watching over the data folder while its files are open, and no longer. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DataFolderInUse, FolderWatch, lockDataFolder } from '../../../src/service/jobs/data-folder.ts';

it('raises no alarm about files that go with the end of the service', () => {
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

it('says once that a file went or is another, and once that it is back', () => {
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

it("is one service's at a time", () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const lock = lockDataFolder(join(dir, 'lock'));
  expect(() => lockDataFolder(join(dir, 'lock'))).toThrow(DataFolderInUse);
  lock.release();
  lockDataFolder(join(dir, 'lock')).release();
});
