/** Renames that are made to last together, and none by a sync that had begun before it. */
import type * as Fs from 'node:fs';
import { tmpdir } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { syncFolder } from '../../../src/runner/files/folders.ts';

type Done = (error: NodeJS.ErrnoException | null) => void;

/** Syncs that the disk has not answered. */
const disk = vi.hoisted(() => ({ syncs: [] as Done[] }));

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof Fs>()),
  fsync: (_: number, done: Done) => void disk.syncs.push(done),
}));

it('shares the syncs of a folder that begin after being asked for', async () => {
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

it('begins anew after a sync that failed', async () => {
  const failing = syncFolder(tmpdir());
  await nextTurn();
  const later = syncFolder(tmpdir());
  disk.syncs.shift()?.(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' }));
  await expect(failing).rejects.toThrow('EIO');
  await nextTurn();
  disk.syncs.shift()?.(null);
  await later;
});
