/** Puts files under their final names so that they are whole and there, even after a power cut. */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { closeSync, fsync, open as openFile, renameSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { syncFolder } from '../files/folders.ts';
import { temporaryName } from '../../lib/files/temporary-files.ts';

/** Folders remembered as durable; others are only synced again. */
const maxRemembered = 1000;

/** Larger files are written in another thread, each by itself. */
const smallBytes = 64 * 1024;

/** Files below one folder, by absolute paths. Errors are the operating system's. */
export class DurableFiles {
  readonly #root: string;
  readonly #lasting = new Set<string>();
  readonly #small = new SmallFiles();

  constructor(root: string) {
    this.#root = root;
  }

  /** Replaces or makes the file at once and for good: at every instant it is absent, the old one or the new one. */
  async write(path: string, bytes: Uint8Array): Promise<void> {
    const folder = dirname(path);
    await this.makeFolder(folder);
    if (bytes.length <= smallBytes) return this.#small.write(path, bytes);
    const temporary = join(folder, temporaryName());
    try {
      await writeThrough(temporary, bytes);
      await rename(temporary, path);
    } catch (error) {
      // What went wrong first is what people have to know.
      await rm(temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    await syncFolder(folder);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.makeFolder(dirname(to));
    await rename(from, to);
    await syncFolder(dirname(to));
    if (dirname(from) !== dirname(to)) await syncFolder(dirname(from));
  }

  /** Of a file that a dead run has written: its bytes were on the disk before it had its name. */
  async makeLast(path: string): Promise<void> {
    await this.makeFolder(dirname(path));
    await syncFolder(dirname(path));
  }

  /** Removes the file for good. */
  async remove(path: string): Promise<void> {
    await rm(path);
    await syncFolder(dirname(path));
  }

  /** Makes the folder and those above it, lasting; a folder found may be one that a dead run made a moment before. */
  async makeFolder(folder: string): Promise<void> {
    if (this.#lasting.has(folder)) return;
    const made = await mkdir(folder, { recursive: true });
    const highest = made !== undefined && made.length <= this.#root.length ? dirname(made) : this.#root;
    for (let at = folder; at !== highest && at !== dirname(at); at = dirname(at))
      await syncFolder(dirname(at));
    if (this.#lasting.size >= maxRemembered) this.#lasting.clear();
    this.#lasting.add(folder);
  }
}

async function writeThrough(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Each takes an open file, of which some systems allow 256. */
const maxGroupSize = 32;

const opened = promisify(openFile);
const synced = promisify(fsync);

interface SmallFile {
  path: string;
  bytes: Uint8Array;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/** A file with a temporary name, open until its bytes are on the disk. */
interface HalfFile extends SmallFile {
  temporary: string;
  descriptor: number;
}

/**
 * Other threads find room for the files and wait for the disk; all else is done by this one, since the way to another
 * and back takes longer. All begin before any is synced: files that come one by one wait for the file system's journal
 * each by itself.
 */
class SmallFiles {
  #queue: SmallFile[] = [];
  #isBusy = false;

  /** As `DurableFiles.write`, into a folder that is there. */
  write(path: string, bytes: Uint8Array): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#queue.push({ path, bytes, resolve, reject });
      if (!this.#isBusy) this.#begin();
    });
  }

  /** With all that is asked for in this turn of the event loop. */
  #begin(): void {
    this.#isBusy = true;
    setImmediate(() => void this.#writeGroup(this.#queue.splice(0, maxGroupSize)));
  }

  async #writeGroup(group: SmallFile[]): Promise<void> {
    const half = there(await Promise.all(group.map(writeHalf)));
    const whole = there(await Promise.all(half.map(sync)));
    for (const file of whole.filter(takeName)) makeNameLast(file);
    if (this.#queue.length > 0) this.#begin();
    else this.#isBusy = false;
  }
}

function there(files: (HalfFile | undefined)[]): HalfFile[] {
  return files.filter((file) => file !== undefined);
}

/** Undefined where the disk does not take it. */
async function writeHalf(file: SmallFile): Promise<HalfFile | undefined> {
  const temporary = join(dirname(file.path), temporaryName());
  let descriptor: number | undefined;
  try {
    descriptor = await opened(temporary, 'wx');
    writeFileSync(descriptor, file.bytes);
    return { ...file, temporary, descriptor };
  } catch (error) {
    giveUp({ ...file, temporary }, descriptor === undefined ? error : closed(descriptor, error));
    return undefined;
  }
}

/** As above. */
async function sync(file: HalfFile): Promise<HalfFile | undefined> {
  try {
    await synced(file.descriptor);
  } catch (error) {
    giveUp(file, closed(file.descriptor, error));
    return undefined;
  }
  const failure = closed(file.descriptor, undefined);
  if (failure === undefined) return file;
  // Some file systems report a failed write only on close.
  giveUp(file, failure);
  return undefined;
}

/** What went wrong first: `error`, or else the closing. */
function closed(descriptor: number, error: unknown): unknown {
  try {
    closeSync(descriptor);
    return error;
  } catch (failure) {
    return error ?? failure;
  }
}

/** Whether it has its name. */
function takeName(file: HalfFile): boolean {
  try {
    renameSync(file.temporary, file.path);
    return true;
  } catch (error) {
    giveUp(file, error);
    return false;
  }
}

/** The next group does not wait for it. */
function makeNameLast({ path, resolve, reject }: SmallFile): void {
  void syncFolder(dirname(path)).then(resolve, reject);
}

/** What went wrong first is what people have to know. */
function giveUp({ temporary, reject }: Pick<HalfFile, 'temporary' | 'reject'>, error: unknown): void {
  void rm(temporary, { force: true })
    .catch(() => undefined)
    .then(() => reject(error));
}
