/** The folder of an export: the batch that it belongs to, its complete files, and files that no longer belong to it. */
import { InUse, removeLeftovers } from '../../lib/files/temporary-files.ts';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { makePrivateFile } from '../../lib/sqlite/database.ts';
import { lockExclusively, type ExclusiveLock } from '../../lib/sqlite/exclusive-lock.ts';
import { isJsonObject, type JsonObject, objectIn } from '../../lib/text/json.ts';
import { nameKey } from '../core/naming.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { makeFolder, syncFolder, UnfinishedFile } from '../files/folders.ts';

export const exportKinds = ['imagefolder', 'webdataset', 'captions', 'parquet', 'gallery'] as const;

export type ExportKind = (typeof exportKinds)[number];

/** Thrown if this export may not write into the folder. The message is a phrase that follows the name of the folder. */
export class OtherFolder extends Error {
  /** Suggestion for the user; undefined if choosing any other folder is enough. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** Thrown if another export is writing into the folder. */
export class ExportInUse extends InUse {}

export interface ExportIdentity {
  /** Random name of the batch, which no other batch has. */
  batch: string;
  to: ExportKind;
  /** Options of the last export, for people. They do not decide which files are complete; the content does. */
  options: JsonObject;
}

const stateFile = '.nightrender-export.json';
/** List of all files that exports began here, one per line, to remove those that leave the export. */
const namesFile = '.nightrender-export.files';
/** Name of the lock file. It exists only while an export is running, and after an export was killed. */
const lockFile = '.nightrender-export.lock';

/** Digest of a shard's input, and the sizes of its files in bytes. */
interface Shard {
  digest: string;
  files: Record<string, number>;
}

export class ExportFolder {
  readonly dir: string;
  readonly #identity: ExportIdentity;
  #lock: ExclusiveLock | undefined;
  readonly #shards: Map<string, Shard>;
  readonly #begun: Set<string>;
  readonly #parts = new Set<string>();
  readonly #made = new Set<string>();

  private constructor(dir: string, identity: ExportIdentity, lock: ExclusiveLock) {
    this.dir = dir;
    this.#identity = identity;
    this.#lock = lock;
    this.#shards = knownShards(dir, identity);
    this.#begun = readNames(dir);
  }

  /** Opens and locks the folder until `finish` or `close`. Throws `OtherFolder`, `ExportInUse`, `FatalFailure`. */
  static async open(dir: string, identity: ExportIdentity): Promise<ExportFolder> {
    return withDiskFailure(dir, async () => {
      // This check comes before anything is written, because the folder may belong to somebody else.
      knownShards(dir, identity);
      makeFolder(dir, 0o700);
      const lock = lockFolder(dir);
      try {
        const folder = new ExportFolder(dir, identity, lock);
        await removeLeftovers(dir, true);
        await folder.#writeState();
        await folder.#writeNames(folder.#begun);
        return folder;
      } catch (error) {
        lock.release();
        throw error;
      }
    });
  }

  /** Releases the folder for other exports, even if this one did not finish. */
  close(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** Records names of files. Call this before any of these files is written, so that a later export can remove them. */
  begin(names: readonly string[]): void {
    const fresh = names.filter((name) => !this.#begun.has(name));
    if (fresh.length === 0) return;
    appendFileSync(join(this.dir, namesFile), linesOf(fresh), { flush: true });
    for (const name of fresh) this.#begun.add(name);
  }

  /** True if an export has begun this file, so the file may exist. */
  hasBegun(name: string): boolean {
    return this.#begun.has(name);
  }

  /** Keeps a complete file as part of this export when `finish` removes outdated files. */
  keep(name: string): void {
    this.#parts.add(name);
  }

  /** True if the shard is complete and was written from the same input. */
  has(name: string, digest: string): boolean {
    const shard = this.#shards.get(name);
    if (shard?.digest !== digest) return false;
    return Object.entries(shard.files).every(([file, bytes]) => sizeOf(join(this.dir, file)) === bytes);
  }

  /** Records a complete shard. Without `digest`, pictures are missing, so the next export repeats it. */
  async recordShard(name: string, digest: string | undefined, files: readonly string[]): Promise<void> {
    const sizes = Object.fromEntries(files.map((file) => [file, sizeOf(join(this.dir, file)) ?? -1]));
    if (digest === undefined) this.#shards.delete(name);
    else this.#shards.set(name, { digest, files: sizes });
    await this.#writeState();
  }

  /** Returns the folder of a file, and creates it if needed. Throws `OtherFolder` if a link leads to it. */
  folderOf(name: string): string {
    const folder = dirname(join(this.dir, name));
    if (this.#made.has(folder)) return folder;
    const link = linkOnTheWay(this.dir, name);
    if (link !== undefined)
      throw new OtherFolder(
        `${link} in it is a link to another folder, which may hold files of others; nothing was written there`,
        'put a folder in place of the link, or choose another folder for the export',
      );
    makeFolder(folder, 0o700);
    this.#made.add(folder);
    return folder;
  }

  /** Writes a file atomically. */
  async write(name: string, content: string | Uint8Array): Promise<void> {
    await this.writeInPieces(name, (file) => file.write(content));
  }

  /** Writes a file in pieces. The file gets its name when `work` has resolved. Returns the result of `work`. */
  async writeInPieces<T>(name: string, work: (file: UnfinishedFile) => Promise<T>): Promise<T> {
    const folder = this.folderOf(name);
    const file = await UnfinishedFile.begin(folder, name.slice(name.lastIndexOf('/') + 1));
    try {
      const result = await work(file);
      await file.complete();
      await file.takeName();
      await withDiskFailure(folder, () => syncFolder(folder));
      return result;
    } catch (error) {
      await file.discard();
      throw error;
    }
  }

  /** Removes files of earlier exports. Returns names of those that stay because a link leads to them. */
  async finish(): Promise<string[]> {
    const kept = new Map([...this.#parts].map((name) => [nameKey(name), name]));
    // On a disk that ignores case, a name that differs only in case from a kept one is the same file.
    const isKept = (name: string): boolean => {
      const other = kept.get(nameKey(name));
      return other !== undefined && fileNumber(join(this.dir, name)) === fileNumber(join(this.dir, other));
    };
    const outdated = [...this.#begun].filter(
      (name) => !this.#parts.has(name) && isFile(join(this.dir, name)) && !isKept(name),
    );
    const linked = outdated.filter((name) => linkOnTheWay(this.dir, name) !== undefined);
    for (const name of outdated) if (!linked.includes(name)) this.#remove(name);
    for (const name of this.#shards.keys()) if (!this.#parts.has(name)) this.#shards.delete(name);
    await this.#writeState();
    await this.#writeNames(new Set([...this.#parts, ...linked]));
    this.close();
    return linked;
  }

  #remove(name: string): void {
    rmSync(join(this.dir, name), { force: true });
    for (let folder = dirname(name); folder !== '.'; folder = dirname(folder)) {
      try {
        rmdirSync(join(this.dir, folder));
      } catch {
        // The folder is not empty.
        return;
      }
    }
  }

  #writeState(): Promise<void> {
    const state = { ...this.#identity, shards: Object.fromEntries(this.#shards) };
    return this.write(stateFile, `${JSON.stringify(state, null, 1)}\n`);
  }

  #writeNames(names: ReadonlySet<string>): Promise<void> {
    return this.write(namesFile, linesOf(names));
  }
}

/** Locks the folder. Releasing the lock removes its file. Throws `ExportInUse`. */
function lockFolder(dir: string): ExclusiveLock {
  const path = join(dir, lockFile);
  for (;;) {
    // The lock file is always empty, and SQLite refuses other content that is not a database.
    if ((sizeOf(path) ?? 0) > 0) rmSync(path);
    makePrivateFile(path);
    const number = fileNumber(path);
    const lock = lockExclusively(path);
    if (lock === undefined)
      throw new ExportInUse(
        `another export is writing into ${dir}; it is not affected. Wait until it has ended, then give the same command again`,
      );
    const release = (): void => {
      rmSync(path, { force: true });
      lock.release();
    };
    // Another export may have removed the file just before this one locked it.
    if (number !== undefined && fileNumber(path) === number) return { release };
    lock.release();
  }
}

function fileNumber(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Returns the recorded shards. A shard with a damaged record is left out, and written again. Throws `OtherFolder`. */
function knownShards(dir: string, { batch, to }: ExportIdentity): Map<string, Shard> {
  if (!existsSync(dir)) return new Map();
  if (!statSync(dir).isDirectory()) throw new OtherFolder('is not a folder');
  // SQLite keeps a journal beside the lock file.
  const isOwn = (name: string): boolean =>
    name.startsWith(lockFile) || (name.startsWith('.nightrender-') && name.endsWith('.tmp'));
  if (readdirSync(dir).every(isOwn)) return new Map();
  if (!existsSync(join(dir, stateFile))) throw new OtherFolder('holds other files');
  const state = objectIn(readFileSync(join(dir, stateFile), 'utf8'));
  if (typeof state?.['batch'] !== 'string' || typeof state['to'] !== 'string')
    throw new OtherFolder(
      `its ${stateFile} is damaged, so it does not show whose export this is; nothing was changed`,
      'choose another folder, or delete this one if it is an export of this batch; the export then begins again',
    );
  if (state['batch'] !== batch) throw new OtherFolder('holds an export of another batch');
  if (state['to'] !== to) throw new OtherFolder('holds an export as something else');
  const shards = Object.entries(isJsonObject(state['shards']) ? state['shards'] : {});
  return new Map(shards.flatMap(([name, shard]) => (isShard(shard) ? [[name, shard]] : [])));
}

function isShard(value: unknown): value is Shard {
  return isJsonObject(value) && typeof value['digest'] === 'string' && isJsonObject(value['files']);
}

/** Returns the recorded names, without a cut last one and names that lead out of the folder. */
function readNames(dir: string): Set<string> {
  const path = join(dir, namesFile);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  return new Set(lines.filter((name) => !/^$|^\/|(^|[/\\])\.\.([/\\]|$)/.test(name)));
}

function linesOf(names: Iterable<string>): string {
  return Array.from(names, (name) => `${name}\n`).join('');
}

/** Returns the size in bytes; undefined if the file does not exist or cannot have this name. */
function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size;
  } catch {
    return undefined;
  }
}

/** True for anything except a folder. False for a name that no file can have, such as one from a damaged list. */
function isFile(path: string): boolean {
  try {
    return !lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the first folder on the path of the file that is a link to another folder; undefined if there is none. */
function linkOnTheWay(dir: string, name: string): string | undefined {
  const folders = dirname(name).split('/');
  return folders
    .map((_, index) => folders.slice(0, index + 1).join('/'))
    .find((folder) => folder !== '.' && isLink(join(dir, folder)));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
