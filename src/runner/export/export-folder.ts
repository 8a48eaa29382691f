/** The folder of an export: whose it is, which of its files are whole, and which are no part of it any more. */
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
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { makeFolder, syncFolder, UnfinishedFile } from '../files/folders.ts';

export const exportKinds = ['imagefolder', 'webdataset', 'captions', 'parquet'] as const;

export type ExportKind = (typeof exportKinds)[number];

/** Why a folder is none that this export may write into, to follow its name. */
export class OtherFolder extends Error {
  /** What to do about it; undefined if any other folder will do. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** Thrown if another export writes into the folder at this moment. */
export class ExportHeld extends InUse {}

export interface ExportIdentity {
  /** What no other batch has. */
  batch: string;
  to: ExportKind;
  /** Of the last export, for people: what is whole is told by content. */
  options: JsonObject;
}

const stateFile = '.nightrender-export.json';
/** The name of every file that was begun here, a line each: what is to be removed once it is no part any more. */
const namesFile = '.nightrender-export.files';
/** Only there while an export is at work, and after one that was killed. */
const lockFile = '.nightrender-export.lock';

/** What a shard was written from, and the size of its files. */
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

  /** No other export writes there until `finish` or `close`. Throws `OtherFolder`, `ExportHeld` and `FatalFailure`. */
  static async open(dir: string, identity: ExportIdentity): Promise<ExportFolder> {
    return withDiskFailure(dir, async () => {
      // Before anything is written into a folder that is somebody else's.
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

  /** Lets other exports write there, also if this one did not finish. */
  close(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** Before any of these files is written. */
  begin(names: readonly string[]): void {
    const fresh = names.filter((name) => !this.#begun.has(name));
    if (fresh.length === 0) return;
    appendFileSync(join(this.dir, namesFile), linesOf(fresh), { flush: true });
    for (const name of fresh) this.#begun.add(name);
  }

  /** Whether an export has begun such a file, so that it may be there. */
  hasBegun(name: string): boolean {
    return this.#begun.has(name);
  }

  /** It is whole, and stays. */
  keep(name: string): void {
    this.#parts.add(name);
  }

  /** Whether the shard of this name is there, written from the same. */
  holds(name: string, digest: string): boolean {
    const shard = this.#shards.get(name);
    if (shard?.digest !== digest) return false;
    return Object.entries(shard.files).every(([file, bytes]) => sizeOf(join(this.dir, file)) === bytes);
  }

  /** `files`, which are whole. `digest`: undefined where something is not in them that belongs there. */
  async recordShard(name: string, digest: string | undefined, files: readonly string[]): Promise<void> {
    const sizes = Object.fromEntries(files.map((file) => [file, sizeOf(join(this.dir, file)) ?? -1]));
    if (digest === undefined) this.#shards.delete(name);
    else this.#shards.set(name, { digest, files: sizes });
    await this.#writeState();
  }

  /** Returns the folder of a file, and makes it if it is not there. Throws `OtherFolder` if a link leads to it. */
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

  /** A file that gets its name at once. */
  async write(name: string, content: string | Uint8Array): Promise<void> {
    await this.writeInPieces(name, (file) => file.write(content));
  }

  /** As above. What `work` returns. */
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

  /** Removes what earlier exports wrote and this one did not. Returns the names of files that stay because a link leads to them. */
  async finish(): Promise<string[]> {
    const outdated = [...this.#begun].filter(
      (name) => !this.#parts.has(name) && isFile(join(this.dir, name)),
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
        // Others are in it.
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

/** The lock file goes with the lock, so that the folder holds nothing but the export. Throws `ExportHeld`. */
function lockFolder(dir: string): ExclusiveLock {
  const path = join(dir, lockFile);
  for (;;) {
    // Nothing is ever written into it, and SQLite refuses what is no database.
    if ((sizeOf(path) ?? 0) > 0) rmSync(path);
    makePrivateFile(path);
    const number = fileNumber(path);
    const lock = lockExclusively(path);
    if (lock === undefined)
      throw new ExportHeld(
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

/** Throws `OtherFolder`. A shard whose record is damaged is written anew. */
function knownShards(dir: string, { batch, to }: ExportIdentity): Map<string, Shard> {
  if (!existsSync(dir)) return new Map();
  if (!statSync(dir).isDirectory()) throw new OtherFolder('is no folder');
  // SQLite keeps a journal beside the lock.
  const isOwn = (name: string): boolean =>
    name.startsWith(lockFile) || (name.startsWith('.nightrender-') && name.endsWith('.tmp'));
  if (readdirSync(dir).every(isOwn)) return new Map();
  if (!existsSync(join(dir, stateFile))) throw new OtherFolder('holds other files');
  const state = parsed(readFileSync(join(dir, stateFile), 'utf8'));
  if (!isJsonObject(state) || typeof state['batch'] !== 'string' || typeof state['to'] !== 'string')
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A last line that a kill has cut begins no file: names are written before. None may lead out of the folder. */
function readNames(dir: string): Set<string> {
  const path = join(dir, namesFile);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  return new Set(lines.filter((name) => !/^$|^\/|(^|[/\\])\.\.([/\\]|$)/.test(name)));
}

function linesOf(names: Iterable<string>): string {
  return Array.from(names, (name) => `${name}\n`).join('');
}

/** Returns undefined if the file is not there, or has a name that no file can have. */
function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size;
  } catch {
    return undefined;
  }
}

/** True for anything but a folder; false for a name that no file can have, such as one of a damaged list. */
function isFile(path: string): boolean {
  try {
    return !lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the first folder on the way to the file that is a link to another folder. */
function linkOnTheWay(dir: string, name: string): string | undefined {
  const folders = dirname(name).split('/');
  return folders
    .map((_, index) => folders.slice(0, index + 1).join('/'))
    .find((folder) => folder !== '.' && isLink(join(dir, folder)));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
