/** Temporary files: their names, and the removal of those that dead processes left behind. */
import { hash } from 'node:crypto';
import { opendir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Of processes of other machines it is unknown whether they live. */
let hostMark: string | undefined;
const host = (): string => (hostMark ??= hash('sha256', hostname()).slice(0, 6));
const thisRun = (): string =>
  `.nightrender-${process.pid}-${Math.trunc(performance.timeOrigin).toString(36)}-${host()}-`;
const temporary = /^\.nightrender-(\d+)-[0-9a-z]+(?:-([0-9a-f]{6}))?-\d+\.tmp$/;
/** What has been half written for so long, nobody writes any more. */
const maxWritingMs = 3_600_000;
let written = 0;

/** Unique, also among files left by an earlier process of the same id. */
export function temporaryName(): string {
  written += 1;
  return `${thisRun()}${written}.tmp`;
}

/**
 * Removes the temporary files of earlier runs, recursively. `sparesLiving` keeps those of running processes, for folders
 * that several write to, such as the report's; young ones of other machines are kept.
 */
export async function removeLeftovers(dir: string, sparesLiving = false): Promise<void> {
  // A large buffer: the folder of a long batch holds a million pictures.
  for await (const entry of await opendir(dir, { bufferSize: 1024 })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await removeLeftovers(path, sparesLiving).catch(unlessGone);
    else if (await isLeftover(path, entry.name, sparesLiving)) await rm(path, { force: true });
  }
}

/** -1 where it is gone meanwhile. */
async function ageMs(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats === undefined ? -1 : Math.max(0, Date.now() - stats.mtimeMs);
}

/** Another process may remove a folder meanwhile. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

async function isLeftover(path: string, name: string, sparesLiving: boolean): Promise<boolean> {
  const [, pid, writtenOn = host()] = temporary.exec(name) ?? [];
  if (pid === undefined || name.startsWith(thisRun())) return false;
  if (writtenOn !== host()) return (await ageMs(path)) > maxWritingMs;
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
