/**
 * Promise: renames that are made durable together share one sync, and never a sync that began before them.
 */
import type * as Fs from 'node:fs';
import { tmpdir } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { syncFolder } from '../../../src/runner/files/folders.ts';

type Done = (error: NodeJS.ErrnoException | null) => void;

/** Syncs that the disk has not completed yet. */
const disk = vi.hoisted(() => ({ syncs: [] as Done[] }));

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof Fs>()),
  fsync: (_: number, done: Done) => void disk.syncs.push(done),
}));

it('shares the syncs of a folder that begin after they are requested', async () => {
  const folder = tmpdir();
  const lasting: string[] = [];
  const sync = (name: string): void => void syncFolder(folder).then(() => lasting.push(name));
  for (const name of ['a', 'b']) sync(name);
  await nextTurn();
  for (const name of ['c', 'd']) sync(name);
  await nextTurn();
  expect(disk.syncs).toHaveLength(1);
  disk.syncs.shift()?.(null);
  await nextTurn();
  expect(lasting).toEqual(['a', 'b']);
  expect(disk.syncs).toHaveLength(1);
  disk.syncs.shift()?.(null);
  await nextTurn();
  expect(lasting).toEqual(['a', 'b', 'c', 'd']);
});

it('repeats the sync after one that failed', async () => {
  const failing = syncFolder(tmpdir());
  await nextTurn();
  const later = syncFolder(tmpdir());
  disk.syncs.shift()?.(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' }));
  await expect(failing).rejects.toThrow('EIO');
  await nextTurn();
  disk.syncs.shift()?.(null);
  await later;
});
