/** Pictures as files of a folder, under the names that the batch gave them, with captions or metadata beside them. */
import { hash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { temporaryName } from '../../lib/files/temporary-files.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SavedPicture } from '../core/picture.ts';
import type { Verdict } from '../core/scene-record.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import type { ExportFolder } from './export-folder.ts';

/** Between two syncs of the folders. */
const picturesAtOnce = 250;

/** Each with a text of its name. */
export async function writeCaptions(
  folder: ExportFolder,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): Promise<void> {
  for (const group of groupsOf(pictures, picturesAtOnce)) {
    const texts = (picture: ExportedPicture) => [[captionFile(picture.file), picture.caption] as const];
    await writePictures(folder, '', group, ports, texts);
  }
}

function captionFile(file: string): string {
  return file.replace(/\.\w+$/, '.txt');
}

/** Beyond this, readers of metadata take much memory or fail. */
const metadataBytes = 100_000_000;

/** Readers want the metadata in the folder of the pictures: what is too much for one file has a folder below, for each file. */
export async function writeImageFolder(
  folder: ExportFolder,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
  mostBytes = metadataBytes,
): Promise<void> {
  let part = 0;
  for (const some of partsOf(pictures, mostBytes)) {
    await writePart(folder, part === 0 ? '' : `part-${String(part).padStart(5, '0')}/`, some, ports);
    part += 1;
  }
}

function metadataLine(picture: ExportedPicture): string {
  return `${JSON.stringify({ file_name: picture.file, ...recordOf(picture) })}\n`;
}

/** Each is to be read to its end before the next. */
function* partsOf(
  pictures: Iterable<ExportedPicture>,
  mostBytes: number,
): Generator<Iterable<ExportedPicture>> {
  const all = pictures[Symbol.iterator]();
  let next = all.next();
  const part = function* (): Generator<ExportedPicture> {
    let bytes = 0;
    while (next.done !== true) {
      const more = Buffer.byteLength(metadataLine(next.value));
      if (bytes > 0 && bytes + more > mostBytes) return;
      bytes += more;
      yield next.value;
      next = all.next();
    }
  };
  do yield part();
  while (next.done !== true);
}

async function writePart(
  folder: ExportFolder,
  below: string,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): Promise<void> {
  const name = `${below}metadata.jsonl`;
  folder.begin([name]);
  await folder.writeInPieces(name, async (file) => {
    for (const group of groupsOf(pictures, picturesAtOnce)) {
      const good = await writePictures(folder, below, group, ports, () => []);
      await file.write(good.map(metadataLine).join(''));
    }
  });
  folder.keep(name);
}

/** Those that were good. `besides`: other files that go with a picture. */
async function writePictures(
  folder: ExportFolder,
  below: string,
  pictures: ExportedPicture[],
  ports: ExportPorts,
  besides: (picture: ExportedPicture) => (readonly [name: string, content: string])[],
): Promise<ExportedPicture[]> {
  const before = new Set(pictures.filter(({ file }) => folder.hasBegun(below + file)));
  folder.begin(
    pictures.flatMap((picture) =>
      [picture.file, ...besides(picture).map(([name]) => name)].map((name) => below + name),
    ),
  );
  const whole = ports.isCopy ? [] : [...before].filter((each) => isThere(folder, below, each));
  const good = new Set(whole);
  ports.onDone(whole.length, 0, 0);
  const folders = new Set<string>();
  const others = pictures.filter((picture) => !good.has(picture));
  for await (const { picture, temporary, bytes } of fetchChecked(folder, below, others, ports)) {
    const path = join(folder.dir, below + picture.file);
    const isSame = ports.isCopy && before.has(picture) && isSameFile(path, temporary);
    if (isSame) rmSync(temporary);
    else renameSync(temporary, path);
    folders.add(dirname(path));
    good.add(picture);
    ports.onDone(1, isSame ? 0 : 1, isSame ? 0 : bytes);
  }
  const inOrder = pictures.filter((picture) => good.has(picture));
  for (const picture of inOrder) {
    folder.keep(below + picture.file);
    for (const [name, text] of besides(picture)) {
      const content = Buffer.from(text);
      folder.keep(below + name);
      if (before.has(picture) && contentOf(join(folder.dir, below + name))?.equals(content) === true)
        continue;
      folders.add(place(folder, below + name, content));
    }
  }
  // Memory is set free between turns of the event loop, and what is whole already takes none.
  await nextTurn();
  for (const each of folders) await withDiskFailure(each, () => syncFolder(each));
  return inOrder;
}

/** Under temporary names, whole but not synced: the next export reads what is there. Others copy while this thread compares. */
async function* fetchChecked(
  folder: ExportFolder,
  below: string,
  pictures: ExportedPicture[],
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; temporary: string; bytes: number }> {
  const fetch = async (picture: ExportedPicture) => {
    const temporary = join(folder.folderOf(below + picture.file), temporaryName());
    return { picture, temporary, isFetched: await ports.fetch(picture, temporary) };
  };
  const groups = [...groupsOf(pictures, mostAtOnce)];
  const begin = (some: ExportedPicture[] = []) => Promise.all(some.map(fetch));
  let next = begin(groups[0]);
  for (const [index] of groups.entries()) {
    const fetched = await next;
    next = begin(groups[index + 1]);
    // It is waited for in its turn, unless something else fails before.
    next.catch(() => undefined);
    for (const { picture, temporary, isFetched } of fetched) {
      const content = isFetched ? contentOf(temporary) : undefined;
      const verdict = verdictOn(picture, content, ports.isCopy);
      if (verdict.kind === 'good') yield { picture, temporary, bytes: content?.length ?? 0 };
      else {
        rmSync(temporary, { force: true });
        ports.onBad(picture, verdict);
      }
    }
  }
}

function isThere(folder: ExportFolder, below: string, { file, sha256 }: ExportedPicture): boolean {
  const content = contentOf(join(folder.dir, below + file));
  return content !== undefined && isOf(content, sha256);
}

function isSameFile(one: string, other: string): boolean {
  const content = Buffer.from(contentOf(other) ?? '');
  return contentOf(one)?.equals(content) === true;
}

/** Of a usual picture: one buffer for all, as each would be garbage at once. */
const shared = Buffer.alloc(4_000_000);

/** Valid until the next call. Undefined where it cannot be read. */
function contentOf(path: string): Buffer | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size >= shared.length) return readFileSync(file);
      return shared.subarray(0, readSync(file, shared, 0, shared.length, 0));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

/** A text that goes with a picture. Returns its folder. */
function place(folder: ExportFolder, name: string, content: Buffer): string {
  const into = folder.folderOf(name);
  const temporary = join(into, temporaryName());
  writeFileSync(temporary, content, { flag: 'wx', mode: 0o600 });
  renameSync(temporary, join(folder.dir, name));
  return into;
}

/** If a copy is exported, `file` is the copy, and `bytes` and `sha256` are those of the picture on record. */
export type ExportedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** Unique within the batch: that of its scene; the second picture of a scene gets `.2`, and so on. */
  id: string;
  scene: string;
  /** Where the batch has it, for people: `images/a.png`, `s3://bucket/images/a.png`. */
  path: string;
  prompt: string;
  /** In the service's digits. */
  seed: string | null;
  endpoint: string | null;
  attempts: number;
  /** Its share of what its job costs; null where that is unknown. */
  cost: number | null;
  /** Both have the same names in every picture. */
  columns: JsonObject;
  values: JsonObject;
  caption: string;
};

export interface ExportPorts {
  /** Undefined where it is not there. */
  read: (picture: ExportedPicture) => Promise<Buffer | undefined>;
  /** Makes a file of it at `to`; false where it is not there. */
  fetch: (picture: ExportedPicture, to: string) => Promise<boolean>;
  /** Whether what is read is a copy, of which no sha256 is on record. */
  isCopy: boolean;
  onBad: (picture: ExportedPicture, verdict: Exclude<Verdict, { kind: 'good' }>) => void;
  /** So many more pictures are done: `written` of them now, the others by an earlier export. */
  onDone: (pictures: number, written: number, bytes: number) => void;
}

const ownNames = new Set(['file_name', 'id', 'prompt', 'seed']);

/** What metadata say of it, in order. A column with one of our names is `manifest.` and its name, as in results.csv. */
export function recordOf({ id, prompt, seed, columns, values }: ExportedPicture): JsonObject {
  const named = Object.entries({ ...columns, ...values }).filter(([name]) => name !== 'id');
  const renamed = named.map(([name, value]) => [ownNames.has(name) ? `manifest.${name}` : name, value]);
  return { id, prompt, seed, ...(Object.fromEntries(renamed) as JsonObject) };
}

/** Read at once: as many as keep a disk or a bucket busy, as few as fit into memory. */
const mostAtOnce = 32;
const mostBytesAtOnce = 16_000_000;

/** In their order; those that are not as they were saved are told of and left out. */
export async function* readChecked(
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; content: Buffer }> {
  for (const some of groupsOf(pictures, mostAtOnce, mostBytesAtOnce)) {
    const contents = await Promise.all(some.map((picture) => ports.read(picture)));
    for (const [index, picture] of some.entries()) {
      const content = contents[index];
      const verdict = verdictOn(picture, content, ports.isCopy);
      if (verdict.kind !== 'good') ports.onBad(picture, verdict);
      else if (content !== undefined) yield { picture, content };
    }
  }
}

function verdictOn({ sha256 }: ExportedPicture, content: Buffer | undefined, isCopy: boolean): Verdict {
  if (content === undefined) return { kind: 'missing' };
  if (isCopy ? content.length > 0 : isOf(content, sha256)) return { kind: 'good' };
  const problem = isCopy ? 'it is empty' : 'its bytes are not those that were saved (sha256)';
  return { kind: 'damaged', problem };
}

function isOf(content: Buffer, sha256: string): boolean {
  return hash('sha256', content) === sha256;
}

/** Each has at most so many, and no more bytes than these unless it is a single one. */
export function* groupsOf(
  pictures: Iterable<ExportedPicture>,
  most: number,
  mostBytes = Infinity,
): Generator<ExportedPicture[]> {
  let group: ExportedPicture[] = [];
  let bytes = 0;
  for (const picture of pictures) {
    if (group.length === most || (group.length > 0 && bytes + picture.bytes > mostBytes)) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(picture);
    bytes += picture.bytes;
  }
  if (group.length > 0) yield group;
}
