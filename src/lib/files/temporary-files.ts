/** Temporary files: their names, and the removal of those that dead processes left behind. */
import { opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const thisRun = `.nightrender-${process.pid}-${Math.trunc(performance.timeOrigin).toString(36)}-`;
const temporary = /^\.nightrender-(\d+)-[0-9a-z]+-\d+\.tmp$/;
let written = 0;

/** Unique, also among files left by an earlier process of the same id. */
export function temporaryName(): string {
  written += 1;
  return `${thisRun}${written}.tmp`;
}

/**
 * Removes the temporary files of earlier runs, recursively. `sparesLiving` keeps those of running processes, for folders
 * that several write to, such as the report's.
 */
export async function removeLeftovers(dir: string, sparesLiving = false): Promise<void> {
  // A large buffer: the folder of a long batch holds a million pictures.
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

/** Whether a process with this id runs on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
