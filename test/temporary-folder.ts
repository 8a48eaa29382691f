/** Makes the folder for everything that tests write. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';

/** Ten times what the tests have there at once. */
const neededBytes = 2 ** 30;

/**
 * Returns a folder that is removed when this process ends. `npm test` writes to memory if it can: on a disk its tests wait for fsync as long as
 * they compute, and none of them can see the difference, since the system keeps what a killed process wrote. `TMPDIR` chooses another place.
 */
export function makeTemporaryFolder(mode: string): string {
  const isFree = mode !== 'rest' && process.env['TMPDIR'] === undefined;
  return (isFree ? makeInMemory() : undefined) ?? makeIn(tmpdir());
}

/** Returns undefined if there is no such place, or too little room. */
function makeInMemory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (Math.min(bavail * bsize, freemem()) < neededBytes) return undefined;
    const folder = makeIn(memory);
    return canStartPrograms(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Tests also run as other users, who need the folder as they need `/tmp`. */
function makeIn(parent: string): string {
  const folder = mkdtempSync(join(parent, 'nr-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o1777);
  return folder;
}

/** False on a file system that is mounted with `noexec`, as containers have it. */
function canStartPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
  return spawnSync(program).status === 0;
}
