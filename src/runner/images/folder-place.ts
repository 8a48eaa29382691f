/** A folder of pictures: files get their names when they are whole and on the disk, and keep them after a power cut. */
import {
  copyFile,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open as openFile,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  open,
  readdirSync,
  readFileSync,
  statSync,
  writeFile,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import {
  assertPlainFile,
  isTemporary,
  NotAFile,
  removeLeftovers,
  temporaryName,
} from '../../lib/files/temporary-files.ts';
import { FatalFailure } from '../core/failure.ts';
import { asDiskFailure, isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import type { ByteSource } from './byte-source.ts';
import {
  nameConflict,
  readBytes,
  UnreadableFile,
  type FileFacts,
  type FileSource,
  type ListedFile,
  type Part,
  type Place,
} from './place.ts';

/** Maximum number of concurrent writes. Each needs an open file, and some systems allow 256. More are not faster. */
const maxConcurrentWrites = 32;

/** Returns a place in the folder `dir`. Only one run at a time may write there, unless `isShared`. */
export function folderPlace(dir: string, isShared = false): Place {
  const root = resolve(dir);
  const files = new DurableFiles(root);
  const limitWrites = pLimit(maxConcurrentWrites);
  const pathOf = (file: string): string => pathWithin(root, file);
  return {
    name: root,
    isRemote: false,
    isNamedByAttempt: false,
    probe: (work) => work(),
    prepare: () =>
      withDiskFailure(root, async () => {
        await files.makeFolder(root);
        await removeLeftovers(root, isShared);
      }),
    read: async (file, part) => (part === undefined ? read(pathOf(file)) : readPart(pathOf(file), part)),
    facts: (file) => factsOf(pathOf(file)),
    put: async (file, source, { isFirst = false } = {}) => {
      const path = pathOf(file);
      return limitWrites(() => withDiskFailure(path, () => files.write(path, source, isFirst)));
    },
    list: async function* (below = '') {
      try {
        yield* filesBelow(root, below);
      } catch (error) {
        throw asDiskFailure(error, root) ?? error;
      }
    },
    move: async (from, to, isReplacing = false) => {
      const paths = { from: pathOf(from), to: pathOf(to) };
      return withDiskFailure(paths.to, () => move(files, paths.from, paths.to, isReplacing));
    },
    makeLast: async (file) => {
      const path = pathOf(file);
      await withDiskFailure(path, () => files.makeLast(path));
    },
    remove: async (file) => {
      const path = pathOf(file);
      if (factsOf(path) !== undefined) await withDiskFailure(path, () => files.remove(path));
    },
    fetch: async (file, to, isLinked) => fetch(pathOf(file), to, isLinked),
  };
}

/** A name without folders, as most are. Working out the path of other names takes ten times as long. */
const plainName = /^[^./\\:][^/\\:]*$/;

/** Returns the path of a file in the folder. Throws if the name leads out of the folder, which is a bug. */
function pathWithin(root: string, file: string): string {
  if (plainName.test(file)) return `${root}${sep}${file}`;
  const path = resolve(root, file);
  const way = relative(root, path);
  if (way === '' || way.split(/[/\\]/)[0] === '..' || isAbsolute(way) || isAbsolute(file))
    throw new Error(`a picture's name leads out of the images folder: ${JSON.stringify(file)}`);
  return path;
}

/** Files above this size are read and written on another thread. For smaller files, that round trip takes longer. */
const smallBytes = 64 * 1024;

async function read(path: string): Promise<Buffer | undefined> {
  try {
    const stats = assertPlainFile(path);
    if (stats === undefined) return undefined;
    return stats.size <= smallBytes ? readFileSync(path) : await readFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw unreadable(error, path);
  }
}

async function readPart(path: string, part: Part): Promise<Buffer | undefined> {
  try {
    if (assertPlainFile(path) === undefined) return undefined;
    const file = await openFile(path);
    try {
      return await partOf(file, part);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw unreadable(error, path);
  }
}

async function partOf(file: FileHandle, { at, length }: Part): Promise<Buffer> {
  const { size } = await file.stat();
  const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - at)));
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, at + done);
    // The file became shorter meanwhile.
    if (bytesRead === 0) return bytes.subarray(0, done);
    done += bytesRead;
  }
  return bytes;
}

/** Error codes that concern the machine or the whole disk, not a single file. */
const machineCodes = new Set(['EMFILE', 'ENFILE', 'ESTALE', 'ENODEV', 'ENXIO']);

/** Returns the error of a failed read: `UnreadableFile` for a file, `FatalFailure` for the disk, or itself. */
function unreadable(error: unknown, path: string): unknown {
  const failure = asDiskFailure(error, path);
  if (failure === undefined) return error;
  const code = isSystemError(error) ? error.code : undefined;
  if (code !== undefined && machineCodes.has(code)) return failure;
  return new UnreadableFile(failure.failure, path, code === 'EISDIR' || code === 'ELOOP' ? undefined : code);
}

/** True if nothing has the name. ENOTDIR means that a parent of the path is a file. */
function isAbsent(error: unknown): boolean {
  return isSystemError(error) && ['ENOENT', 'ENOTDIR'].includes(error.code);
}

/** Returns facts about a file. Synchronous, because a start checks every picture and a thread switch takes longer. */
function factsOf(path: string): FileFacts | undefined {
  try {
    const own = lstatSync(path, { throwIfNoEntry: false });
    if (own === undefined) return undefined;
    const stats = own.isSymbolicLink() ? targetOf(path) : own;
    const kind = stats?.isFile() === true ? 'file' : stats?.isDirectory() === true ? 'folder' : 'other';
    return { kind, bytes: stats?.size ?? 0, writtenAt: stats?.mtimeMs ?? 0, isOf: unknown };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw unreadable(error, path);
  }
}

/** Returns undefined if the link leads nowhere, or in a circle. */
function targetOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error) && error.code === 'ELOOP') return undefined;
    throw error;
  }
}

function unknown(): undefined {
  return undefined;
}

/** Lists files, sorted within each folder. Links are left out. */
function* filesBelow(root: string, below: string): Generator<ListedFile> {
  for (const entry of entriesOf(`${root}/${below}`)) {
    const name = below + entry.name;
    if (entry.isDirectory()) yield* filesBelow(root, `${name}/`);
    if (!entry.isFile() || isTemporary(entry.name)) continue;
    const stats = statSync(`${root}/${name}`, { throwIfNoEntry: false });
    if (stats !== undefined) yield { name, bytes: stats.size };
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

async function move(files: DurableFiles, from: string, to: string, isReplacing: boolean): Promise<boolean> {
  const source = await statsOf(from);
  const target = await statsOf(to);
  if (source === undefined) {
    // A crashed run may have renamed the file without making the new name durable.
    if (target !== undefined) await syncFolder(dirname(to));
    return target !== undefined;
  }
  // Both names mean the same file if they differ only in ways that the file system ignores, such as case.
  if (isReplacing || target === undefined || (await isSameFile(from, to))) {
    await files.rename(from, to);
    return true;
  }
  if (!(await isSameContent(from, source, to, target))) throw nameConflict(from, to);
  await files.remove(from);
  return true;
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** True if both paths are the same file. Compares bigints, because file numbers on Windows exceed `number`. */
async function isSameFile(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([a, b].map((path) => lstat(path, { bigint: true })));
  return one?.ino === other?.ino && one?.dev === other?.dev;
}

async function isSameContent(a: string, aStats: Stats, b: string, bStats: Stats): Promise<boolean> {
  if (!aStats.isFile() || !bStats.isFile() || aStats.size !== bStats.size) return false;
  for (let at = 0; at < aStats.size; at += readBytes) {
    const [one, other] = [
      await readPart(a, { at, length: readBytes }),
      await readPart(b, { at, length: readBytes }),
    ];
    if (one === undefined || other?.equals(one) !== true) return false;
  }
  return true;
}

async function fetch(from: string, to: string, isLinked: boolean): Promise<boolean> {
  try {
    if (assertPlainFile(from) === undefined) return false;
    if (!isLinked || !hasLinked(from, to)) await copyFile(from, to, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    const isOfSource = error instanceof NotAFile || (isSystemError(error) && sourceCodes.has(error.code));
    throw isOfSource ? unreadable(error, from) : (asDiskFailure(error, to) ?? error);
  }
}

const sourceCodes = new Set(['EISDIR', 'EACCES']);

/** Makes a hard link. False if that is impossible: across disks, or on a file system without links. */
function hasLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!isSystemError(error) || error.code === 'ENOENT') throw error;
    return false;
  }
}

/** Maximum number of folders that are remembered as durable. Other folders are synced again. */
const maxRemembered = 1000;

const opened = promisify(open);
const writtenElsewhere = promisify(writeFile);
const synced = promisify(fsync);

/** Writes files below one folder durably. Throws system errors, and `FatalFailure` if the disk is unmounted. */
class DurableFiles {
  readonly #root: string;
  readonly #lasting = new Set<string>();
  /** Device number of the file system that holds the root. */
  #device: number | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** Replaces or creates the file atomically and durably. False if `isFirst` and the name is taken. */
  async write(path: string, source: FileSource, isFirst: boolean): Promise<boolean> {
    const folder = dirname(path);
    await this.makeFolder(folder);
    const moved = 'path' in source && source.isMoved === true ? source.path : undefined;
    if (moved !== undefined && (await stat(moved)).dev === this.#device) {
      await syncFile(moved);
      if (!isFirst) await rename(moved, path);
      else if (!(await hasTaken(path, moved))) return false;
      await syncFolder(folder);
      return true;
    }
    const temporary = join(folder, temporaryName());
    try {
      const { dev } = await writeThrough(temporary, source);
      this.#assertSameDisk(dev);
      if (!isFirst) await rename(temporary, path);
      else if (!(await hasTaken(path, temporary))) {
        await rm(temporary, { force: true });
        return false;
      }
    } catch (error) {
      // The user needs to know the first failure, so a second one is ignored.
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    await syncFolder(folder);
    // The file was on another disk.
    if (moved !== undefined) await rm(moved, { force: true });
    return true;
  }

  async rename(from: string, to: string): Promise<void> {
    await this.makeFolder(dirname(to));
    await rename(from, to);
    await syncFolder(dirname(to));
    if (dirname(from) !== dirname(to)) await syncFolder(dirname(from));
  }

  /** Makes the name of an existing file durable. Its bytes were synced before it got the name. */
  async makeLast(path: string): Promise<void> {
    await this.makeFolder(dirname(path));
    await syncFolder(dirname(path));
  }

  async remove(path: string): Promise<void> {
    await rm(path);
    await syncFolder(dirname(path));
  }

  /** Creates the folder durably. Syncs an existing one too, as a crashed run may have just created it. */
  async makeFolder(folder: string): Promise<void> {
    if (this.#lasting.has(folder)) return;
    if (this.#device !== undefined) this.#assertSameDisk((await stat(this.#root)).dev);
    const made = await mkdir(folder, { recursive: true });
    const highest = made !== undefined && made.length <= this.#root.length ? dirname(made) : this.#root;
    for (let at = folder; at !== highest && at !== dirname(at); at = dirname(at))
      await syncFolder(dirname(at));
    if (this.#lasting.size >= maxRemembered) this.#lasting.clear();
    this.#lasting.add(folder);
    this.#assertSameDisk((await stat(this.#root)).dev);
  }

  /** Throws if the disk of the root has changed. A file below an unmounted disk is hidden once the disk is back. */
  #assertSameDisk(dev: number): void {
    this.#device ??= dev;
    if (dev === this.#device) return;
    const text = `${this.#root} is on another disk than when the run began: its disk was unmounted; mount it, then give the same command again`;
    throw new FatalFailure({ kind: 'output-unwritable', text });
  }
}

/** Writes, syncs and closes a file, because some file systems report a failed write only at the close. */
async function writeThrough(path: string, source: FileSource): Promise<Stats> {
  if ('read' in source) return writeParts(path, source);
  const isCopied = 'path' in source;
  if (isCopied) await copyFile(source.path, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const file = await opened(path, isCopied ? 'r+' : 'wx');
  try {
    if (!isCopied && source.length <= smallBytes) writeFileSync(file, source);
    else if (!isCopied) await writtenElsewhere(file, source);
    await synced(file);
    return fstatSync(file);
  } finally {
    closeSync(file);
  }
}

/** Writes content that may be too large for memory. Throws `FatalFailure` if the content ends too early. */
async function writeParts(path: string, source: ByteSource): Promise<Stats> {
  const file = await openFile(path, 'wx');
  try {
    for (let at = 0; at < source.length; at += readBytes) {
      const length = Math.min(readBytes, source.length - at);
      const part = await source.read(at, length);
      if (part.length < length) throw new FatalFailure({ kind: 'output-unwritable', text: cutText(path) });
      await file.writeFile(part);
    }
    await file.sync();
    return await file.stat();
  } finally {
    await file.close();
  }
}

function cutText(path: string): string {
  return `the file that is copied into ${dirname(path)} changed meanwhile; give the same command again`;
}

/** Makes the content of a file durable that another part of the program has written. */
async function syncFile(path: string): Promise<void> {
  const file = await openFile(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Gives the file its final name. False if that name is taken. If several try at once, only one succeeds. */
async function hasTaken(path: string, temporary: string): Promise<boolean> {
  try {
    await link(temporary, path);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
    return false;
  }
  await rm(temporary, { force: true });
  return true;
}
