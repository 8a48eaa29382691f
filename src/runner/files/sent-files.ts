/** Checks the local files that a scene sends when its row is read. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { bytesSent, type FileFilter, formatBytes, type SentFile, shownBytes } from '../core/file-text.ts';
import { otherSpelling } from '../../lib/files/glob.ts';

/** Reason why a file cannot be sent, for the author of the row. */
export class FileProblem extends Error {}

interface FileRules {
  /** Absolute path of the folder of pipeline.yaml. */
  base: string;
  /** Maximum length of a file as it is sent (`limits.body`). */
  maxBytes: number;
  /** Absolute paths of files and folders that no list may send, because this program reads or writes them. */
  withheld: readonly string[];
}

/**
 * Describes a file. `path` is relative to the base, or to `folder` if the template names one, and may not
 * leave it, not even by a link. Lists are written by others and must not send private files of this machine.
 * Throws `FileProblem`.
 */
export type DescribeFile = (path: string, by: FileFilter, folder?: string) => SentFile;

/** Caches checksums as long as a file is unchanged, because many rows may send the same photo. */
export function fileDescriber({ base, maxBytes, withheld }: FileRules): DescribeFile {
  const known = new Map<string, string>();
  const describe = (path: string, by: FileFilter, folder: string): SentFile => {
    const real = realPath(path, by, resolve(base, folder), folder);
    assertNoSecret(real, path, realpathSync(resolve(base, folder)), withheld);
    const stats = statSync(real);
    const { size, mtimeMs, ino } = stats;
    if (!stats.isFile()) throw new FileProblem(`${shown(path)} is not a file`);
    if (size === 0) throw new FileProblem(`${shown(path)} is empty`);
    const file = { path: relative(realpathSync(base), real), sha256: '', bytes: size };
    const bytes = bytesSent(file, by);
    if (bytes > maxBytes) throw new FileProblem(tooLarge(shown(path), bytes, maxBytes, by));
    const key = [real, size, mtimeMs, ino].join('\0');
    const sha256 = known.get(key) ?? hashOf(real, path, size);
    if (known.size >= maxKnown) known.clear();
    known.set(key, sha256);
    return { ...file, sha256 };
  };
  return (path, by, folder = '.') => {
    try {
      return describe(path, by, folder);
    } catch (error) {
      if (error instanceof FileProblem) throw error;
      const from = resolve(base, folder);
      const meant = otherSpelling(path, from);
      throw new FileProblem(`${shown(path)} ${reasonOf(error)} (looked for in ${from})${meant}`);
    }
  };
}

const maxKnown = 10_000;

export function tooLarge(what: string, bytes: number, maxBytes: number, by: FileFilter): string {
  return `${what} takes ${shownBytes(bytes, by)}; \`limits.body\` allows ${formatBytes(maxBytes)}`;
}

/** Resolves links. Both the written path and the resolved path must be within `from`. */
function realPath(path: string, by: FileFilter, from: string, folder: string): string {
  const asked = resolve(from, path);
  if (!isWithin(asked, from)) throw new FileProblem(leadsOut(path, by, folder));
  const real = realpathSync(asked);
  if (!isWithin(real, realpathSync(from))) throw new FileProblem(leadsOut(path, by, folder));
  return real;
}

/** Throws for hidden files, which may contain keys, and for files of the batch itself. */
function assertNoSecret(real: string, path: string, from: string, withheld: readonly string[]): void {
  const isHidden = relative(from, real)
    .split(sep)
    .some((name) => name.startsWith('.'));
  const isOurs = withheld.some((each) => existsSync(each) && isWithin(real, realpathSync(each)));
  if (!isHidden && !isOurs) return;
  const what = isHidden ? 'is hidden' : 'belongs to the batch itself';
  throw new FileProblem(`${shown(path)} ${what}, and a list may not have it sent`);
}

/** Quoted, because a path from a list may contain control characters of the terminal. */
function shown(path: string): string {
  return JSON.stringify(path);
}

export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function leadsOut(path: string, by: FileFilter, folder: string): string {
  const where = folder === '.' ? 'the folder of pipeline.yaml' : folder;
  return `${shown(path)} leads out of ${where}, and a list may send only files from there; the template may name another folder: {{ column | ${by}: "/its/folder" }}`;
}

function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'is not there';
  return code === 'EACCES' || code === 'EPERM'
    ? 'may not be read by this user (permission denied)'
    : `cannot be read (${String(code)})`;
}

const chunk = Buffer.alloc(1024 * 1024);

function hashOf(real: string, path: string, size: number): string {
  const fd = openSync(real, 'r');
  try {
    const sum = createHash('sha256');
    let bytes = 0;
    for (let read = readSync(fd, chunk); read > 0 && bytes <= size; read = readSync(fd, chunk)) {
      sum.update(chunk.subarray(0, read));
      bytes += read;
    }
    if (bytes !== size) throw new FileProblem(`${shown(path)} changes while it is read`);
    return sum.digest('hex');
  } finally {
    closeSync(fd);
  }
}

/** Reads an object of a bucket by its full URL. Undefined if it does not exist. Throws errors with a `code`. */
export type ReadObject = (address: string) => Promise<Buffer | undefined>;
