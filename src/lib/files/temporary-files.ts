/** Names and removes temporary files, makes files durable, and checks paths: links, files that are not plain, processes that hold them. */
import { hash } from 'node:crypto';
import { realpathSync, type Stats, statSync } from 'node:fs';
import { open, opendir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Marks this machine, because nobody knows if processes of other machines are alive. */
let hostMark: string | undefined;
const host = (): string => (hostMark ??= hash('sha256', hostname()).slice(0, 6));
const thisRun = (): string =>
  `.nightrender-${process.pid}-${Math.trunc(performance.timeOrigin).toString(36)}-${host()}-`;
const temporary = /^\.nightrender-(\d+)-[0-9a-z]+(?:-([0-9a-f]{6}))?-\d+\.tmp$/;
/** Age in ms after which nobody is still writing to a temporary file. */
const maxWritingMs = 3_600_000;
let written = 0;

/** Returns a name that is unique, even among files of an earlier process with the same id. */
export function temporaryName(): string {
  written += 1;
  return `${thisRun()}${written}.tmp`;
}

/** True if a file of this name is being written, or was by a process that ended meanwhile. */
export function isTemporary(name: string): boolean {
  return temporary.test(name);
}

/** Removes temporary files of earlier runs, recursively. `sparesLiving` keeps those of running processes. */
export async function removeLeftovers(dir: string, sparesLiving = false): Promise<void> {
  // The buffer is large because the folder of a long batch has a million pictures.
  for await (const entry of await opendir(dir, { bufferSize: 1024 })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await removeLeftovers(path, sparesLiving).catch(unlessGone);
    else if (await isLeftover(path, entry.name, sparesLiving)) await rm(path, { force: true });
  }
}

/** Returns -1 if the file is gone meanwhile. */
async function ageMs(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats === undefined ? -1 : Math.max(0, Date.now() - stats.mtimeMs);
}

/** Ignores that another process has removed a folder meanwhile. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

async function isLeftover(path: string, name: string, sparesLiving: boolean): Promise<boolean> {
  const [, pid, writtenOn = host()] = temporary.exec(name) ?? [];
  if (pid === undefined || name.startsWith(thisRun())) return false;
  if (writtenOn !== host()) return (await ageMs(path)) > maxWritingMs;
  return !sparesLiving || Number(pid) === process.pid || !isAlive(Number(pid));
}

/** True if a process with this id runs on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The message says what the path is, without a full stop. */
export class NotAFile extends Error {}

/**
 * Detects files that are not plain, because opening a named pipe may wait forever for its other end. Returns
 * undefined if the path does not exist. Throws `NotAFile` if it is neither a file nor a folder, and the
 * system's errors.
 */
export function assertPlainFile(path: string): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  const what = stats && kindOf(stats);
  if (what !== undefined) throw new NotAFile(`${path} is ${what}, but must be a file`);
  return stats;
}

function kindOf(stats: Stats): string | undefined {
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : undefined;
}

/** Makes a file or folder durable. Throws system errors. */
export async function syncPath(path: string): Promise<void> {
  const opened = await open(path);
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** Resolves links, so that each file has one path. Returns a path that does not exist unchanged. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Thrown if another process holds a needed file or folder. The message names both, without a full stop. */
export class InUse extends Error {}
