/** The folder of an export: whose it is, which of its files are whole, and which are no part of it any more. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { removeLeftovers } from '../../lib/files/temporary-files.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { makeFolder, syncFolder } from '../files/folders.ts';
import { UnfinishedFile } from '../files/unfinished-file.ts';

export const exportKinds = ['imagefolder', 'webdataset', 'captions', 'parquet'] as const;

export type ExportKind = (typeof exportKinds)[number];

/** Why a folder is none that this export may write into, to follow its name. */
export class OtherFolder extends Error {}

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

/** What a shard was written from, and the size of its files. */
interface Shard {
  digest: string;
  files: Record<string, number>;
}

export class ExportFolder {
  readonly dir: string;
  readonly #identity: ExportIdentity;
  readonly #shards: Map<string, Shard>;
  readonly #begun: Set<string>;
  readonly #parts = new Set<string>();
  readonly #made = new Set<string>();

  private constructor(dir: string, identity: ExportIdentity, shards: Map<string, Shard>, begun: Set<string>) {
    this.dir = dir;
    this.#identity = identity;
    this.#shards = shards;
    this.#begun = begun;
  }

  /** Throws `OtherFolder` where something else is there, and `FatalFailure`. */
  static async open(dir: string, identity: ExportIdentity): Promise<ExportFolder> {
    return withDiskFailure(dir, async () => {
      const shards = knownShards(dir, identity);
      makeFolder(dir, 0o700);
      await removeLeftovers(dir, true);
      const folder = new ExportFolder(dir, identity, shards, readNames(dir));
      await folder.#writeState();
      await folder.#writeNames(folder.#begun);
      return folder;
    });
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

  /** The folder of a file, made where it is not there. */
  folderOf(name: string): string {
    const folder = dirname(join(this.dir, name));
    if (!this.#made.has(folder)) makeFolder(folder, 0o700);
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

  /** Removes what earlier exports wrote and this one did not. */
  async finish(): Promise<void> {
    for (const name of this.#begun) if (!this.#parts.has(name)) this.#remove(name);
    for (const name of this.#shards.keys()) if (!this.#parts.has(name)) this.#shards.delete(name);
    await this.#writeState();
    await this.#writeNames(this.#parts);
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

/** Throws `OtherFolder`. */
function knownShards(dir: string, { batch, to }: ExportIdentity): Map<string, Shard> {
  if (!existsSync(dir)) return new Map();
  if (!statSync(dir).isDirectory()) throw new OtherFolder('is no folder');
  const isTemporary = (name: string): boolean => name.startsWith('.nightrender-') && name.endsWith('.tmp');
  if (readdirSync(dir).every(isTemporary)) return new Map();
  const state = existsSync(join(dir, stateFile)) ? parsed(readFileSync(join(dir, stateFile), 'utf8')) : null;
  if (!isJsonObject(state) || !isJsonObject(state['shards'])) throw new OtherFolder('holds other files');
  if (state['batch'] !== batch) throw new OtherFolder('holds an export of another batch');
  if (state['to'] !== to) throw new OtherFolder('holds an export as something else');
  return new Map(Object.entries(state['shards'] as unknown as Record<string, Shard>));
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

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
