/** Puts files under their final names so that they are whole and there, even after a power cut. */
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { closeSync, fstatSync, fsync, open, writeFile, writeFileSync, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { FatalFailure } from '../core/failure.ts';
import { syncFolder } from '../files/folders.ts';
import { temporaryName } from '../../lib/files/temporary-files.ts';

/** Folders remembered as durable; others are only synced again. */
const maxRemembered = 1000;

/** Larger files are written in another thread; with smaller ones, the way there and back takes longer. */
const smallBytes = 64 * 1024;

const opened = promisify(open);
const writtenElsewhere = promisify(writeFile);
const synced = promisify(fsync);

/** Files below one folder, by absolute paths. Errors are the operating system's; `FatalFailure` where its disk is unmounted meanwhile. */
export class DurableFiles {
  readonly #root: string;
  readonly #lasting = new Set<string>();
  /** The device that the root is on. */
  #device: number | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** Replaces or makes the file at once and for good: at every instant it is absent, the old one or the new one. */
  async write(path: string, bytes: Uint8Array): Promise<void> {
    const folder = dirname(path);
    await this.makeFolder(folder);
    const temporary = join(folder, temporaryName());
    try {
      const { dev } = await writeThrough(temporary, bytes);
      this.#assertSameDisk(dev);
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
    if (this.#device !== undefined) this.#assertSameDisk((await stat(this.#root)).dev);
    const made = await mkdir(folder, { recursive: true });
    const highest = made !== undefined && made.length <= this.#root.length ? dirname(made) : this.#root;
    for (let at = folder; at !== highest && at !== dirname(at); at = dirname(at))
      await syncFolder(dirname(at));
    if (this.#lasting.size >= maxRemembered) this.#lasting.clear();
    this.#lasting.add(folder);
    this.#assertSameDisk((await stat(this.#root)).dev);
  }

  /** What is written where a disk was mounted before is hidden when that is back. */
  #assertSameDisk(dev: number): void {
    this.#device ??= dev;
    if (dev === this.#device) return;
    const text = `${this.#root} is on another disk than when the run began: its own was unmounted; mount it, then give the same command again`;
    throw new FatalFailure({ kind: 'output-unwritable', text });
  }
}

/** Closing is part of it: some file systems report a failed write only then. Resolves to what the file is then. */
async function writeThrough(path: string, bytes: Uint8Array): Promise<Stats> {
  const file = await opened(path, 'wx');
  try {
    if (bytes.length <= smallBytes) writeFileSync(file, bytes);
    else await writtenElsewhere(file, bytes);
    await synced(file);
    return fstatSync(file);
  } finally {
    closeSync(file);
  }
}
