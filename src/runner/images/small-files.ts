/** Small files, put onto the disk in groups: what is asked for while the disk is busy waits and shares its fsyncs. */
import { closeSync, fsync, open, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { syncFolder } from '../files/sync-folder.ts';
import { temporaryName } from '../../lib/files/temporary-files.ts';

/** Each takes an open file, of which some systems allow 256. */
const maxGroupSize = 32;

const opened = promisify(open);
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
export class SmallFiles {
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
    for (const file of whole.filter(rename)) makeNameLast(file);
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
  const trouble = closed(file.descriptor, undefined);
  if (trouble === undefined) return file;
  // Some file systems tell only now that the disk did not take it.
  giveUp(file, trouble);
  return undefined;
}

/** What went wrong first: `error`, or else the closing. */
function closed(descriptor: number, error: unknown): unknown {
  try {
    closeSync(descriptor);
    return error;
  } catch (trouble) {
    return error ?? trouble;
  }
}

/** Whether it has its name. */
function rename(file: HalfFile): boolean {
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
