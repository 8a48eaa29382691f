/** Creates the folder for all files that tests write. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';

/** Several times the space that tests need at once. */
const neededBytes = { test: 2 ** 30, rest: 2 ** 32 };

/**
 * Returns a folder that is removed when this process ends. It is in memory if there is enough space, because on a disk
 * tests spend half of their time waiting for fsync. Hardly any test can notice the difference, because the system keeps
 * the writes of a killed process. `TMPDIR` chooses another place.
 */
export function makeTemporaryFolder(mode: string): string {
  const isFree = process.env['TMPDIR'] === undefined;
  return (
    (isFree ? makeInMemory(neededBytes[mode === 'rest' ? 'rest' : 'test']) : undefined) ?? makeFolderOnDisk()
  );
}

/** Returns such a folder on disk, even if there is enough space in memory. */
export function makeFolderOnDisk(): string {
  return makeIn(tmpdir());
}

/** Returns undefined if there is no file system in memory, or too little space. */
function makeInMemory(bytes: number): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (Math.min(bavail * bsize, freemem()) < bytes) return undefined;
    const folder = makeIn(memory);
    return canStartPrograms(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Creates the folder with the permissions of `/tmp`, because some tests run as other users. */
function makeIn(parent: string): string {
  const folder = mkdtempSync(join(parent, 'nr-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o1777);
  return folder;
}

/** Returns false if the file system is mounted with `noexec`, as in containers. */
function canStartPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
  return spawnSync(program).status === 0;
}
