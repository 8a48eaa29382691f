/** Names of files that are still being written, and the removal of those that a dead run left behind. */
import { opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const thisRun = `.nightrender-${process.pid}-${Math.trunc(performance.timeOrigin).toString(36)}-`;
const temporary = /^\.nightrender-\d+-[0-9a-z]+-\d+\.tmp$/;
let written = 0;

/** A name that no other file has: not one of this run, not one that an earlier process of the same id left. */
export function temporaryName(): string {
  written += 1;
  return `${thisRun}${written}.tmp`;
}

/** Removes what earlier runs did not finish writing, in all folders below; other files are left alone. */
export async function removeLeftovers(dir: string): Promise<void> {
  // Read a thousand at a time: the folder of a long batch holds a million pictures.
  for await (const entry of await opendir(dir, { bufferSize: 1024 })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await removeLeftovers(path);
    else if (temporary.test(entry.name) && !entry.name.startsWith(thisRun)) await rm(path, { force: true });
  }
}
