/** The data folder and keys of a service, and messages about their problems, for all commands of the service. */
import { oneText } from './command.ts';
import { writeError } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { refuse } from './reply.ts';
import { shellWord } from '../lib/text/format.ts';
import { homedir } from 'node:os';
import { join, dirname } from 'node:path';
import { KeyStore } from '../service/keys/key-store.ts';
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { FatalFailure } from '../runner/core/failure.ts';
import { causeOf, isOfDisk } from '../runner/files/disk-failure.ts';
import { shownPath } from '../batch/refusal.ts';

/** Returns the `--data` option for a command to copy; empty for the default folder. */
export function dataOption(argv: Record<string, unknown>): string {
  const given = oneText(argv, 'data');
  return given === undefined ? '' : ` --data ${shellWord(given)}`;
}

export function defaultDataDir(): string {
  return join(process.env['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), 'nightrender');
}

export function withKeyStore<T>(dataDir: string, use: (keys: KeyStore) => T): T {
  const keys = new KeyStore(keyStoreIn(dataDir), { now: Date.now });
  try {
    return use(keys);
  } finally {
    keys.close();
  }
}

export function hasKeyStore(dataDir: string): boolean {
  return existsSync(keyStoreIn(dataDir));
}

function keyStoreIn(dataDir: string): string {
  return join(dataDir, 'keys.sqlite');
}

/** Prints why the command was refused and returns the exit code. */
export function refuseService(thrown: unknown, dataDir: string | undefined, json: boolean): number {
  const text = dataDir === undefined ? undefined : dataFolderTrouble(thrown, dataDir);
  const known = text === undefined ? thrown : new FatalFailure({ kind: 'output-unwritable', text });
  return refuse(known, dataDir, json);
}

/** True if the data folder cannot be used because its disk, or the user's quota, is full. */
export function isFullDiskOf(thrown: unknown, dataDir: string): boolean {
  if (!isOfDisk(thrown)) return false;
  const code = systemCode((thrown as { code: string }).code, dataDir);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Explains why the data folder cannot be used. Undefined if the error is about something else. */
export function dataFolderTrouble(thrown: unknown, dataDir: string): string | undefined {
  if (!isOfDisk(thrown)) return undefined;
  const { code, path } = thrown as NodeJS.ErrnoException & { code: string };
  const seen = obstacleIn(dataDir, path) ?? { code: systemCode(code, dataDir), path: path ?? dataDir };
  const cause = seen.code === undefined ? undefined : causeOf(seen.code);
  if (cause === undefined) return undefined;
  const where = seen.path === dataDir ? '' : `${shownPath(seen.path)}: `;
  const remedy = remedies[seen.code ?? ''] ?? 'fix that';
  return `the data folder ${shownPath(dataDir)} cannot be used: ${where}${cause} (${seen.code}); ${remedy}, or choose another folder with --data, then run the same command again`;
}

const remedies: Record<string, string> = {
  ENOSPC: 'free some space',
  EDQUOT: 'free some space or raise the quota',
  EROFS: 'make it writable',
  EACCES: 'give this user access to it',
  EPERM: 'give this user access to it',
  ENOTDIR: 'move that file away',
  EEXIST: 'move that file away',
  EISDIR: 'move that folder away',
  EMFILE: 'raise the limit (ulimit -n)',
  EIO: 'check the disk',
};

/** Returns the system's error code for one of SQLite's, which doesn't always report a full disk as such. */
function systemCode(code: string, dataDir: string): string {
  if (code === 'SQLITE_FULL') return 'ENOSPC';
  if (code.startsWith('SQLITE_READONLY')) return 'EROFS';
  if (!code.startsWith('SQLITE_IOERR')) return code;
  const { bavail, bsize } = statfsSync(nearestThere(dataDir));
  return bavail * bsize < littleBytes ? 'ENOSPC' : 'EIO';
}

/** The service cannot start with less free space than this. */
const littleBytes = 1024 * 1024;

interface Obstacle {
  code: string;
  path: string;
}

/** Finds the file or folder that causes an error. SQLite names no file, so each of them is tried. */
function obstacleIn(dataDir: string, path: string | undefined): Obstacle | undefined {
  const folder = nearestThere(dataDir);
  const files = folder === dataDir ? databases.map((name) => join(dataDir, name)) : [];
  const named = path === undefined ? [] : [path];
  for (const each of [folder, ...named, ...files]) {
    const found = obstacleAt(each, folder);
    if (found !== undefined) return found;
  }
  return undefined;
}

const databases = ['service.sqlite', 'keys.sqlite', 'lock.sqlite'].flatMap((name) =>
  ['', '-wal', '-shm'].map((end) => name + end),
);

function obstacleAt(path: string, folder: string): Obstacle | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (path === folder && !stats.isDirectory()) return { code: 'ENOTDIR', path };
    if (path.endsWith('.sqlite') && stats.isDirectory()) return { code: 'EISDIR', path };
    accessSync(path, constants.R_OK | constants.W_OK | (stats.isDirectory() ? constants.X_OK : 0));
    return undefined;
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? 'EACCES', path };
  }
}

function nearestThere(path: string): string {
  try {
    if (statSync(path, { throwIfNoEntry: false }) !== undefined || dirname(path) === path) return path;
  } catch {
    // The folder above cannot be read.
  }
  return nearestThere(dirname(path));
}

/** Prints a problem of the service; workers can put any characters into the text. */
export function printServiceFailure(text: string): void {
  writeError(escapeControls(`service: ${text}`));
}
