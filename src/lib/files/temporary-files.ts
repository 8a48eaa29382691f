/** Names of files that are still being written, and the removal of those that a dead run left behind. */
import { opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './is-alive.ts';

const thisRun = `.nightrender-${process.pid}-${Math.trunc(performance.timeOrigin).toString(36)}-`;
const temporary = /^\.nightrender-(\d+)-[0-9a-z]+-\d+\.tmp$/;
let written = 0;

/** A name that no other file has: not one of this run, not one that an earlier process of the same id left. */
export function temporaryName(): string {
  written += 1;
  return `${thisRun}${written}.tmp`;
}

/**
 * Removes what earlier runs did not finish writing, in all folders below; other files are left alone. `sparesLiving`
 * is for folders that another process may be writing to, such as a report that is made in another terminal.
 */
export async function removeLeftovers(dir: string, sparesLiving = false): Promise<void> {
  // Read a thousand at a time: the folder of a long batch holds a million pictures.
  for await (const entry of await opendir(dir, { bufferSize: 1024 })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await removeLeftovers(path, sparesLiving).catch(unlessGone);
    else if (isLeftover(entry.name, sparesLiving)) await rm(path, { force: true });
  }
}

/** Another process may remove a folder meanwhile. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

function isLeftover(name: string, sparesLiving: boolean): boolean {
  const [, pid] = temporary.exec(name) ?? [];
  if (pid === undefined || name.startsWith(thisRun)) return false;
  return !sparesLiving || Number(pid) === process.pid || !isAlive(Number(pid));
}
