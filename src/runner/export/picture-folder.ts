/** Reads and checks pictures for exports, and writes them into a folder with captions or metadata beside them. */
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
import type { AlbumEntry } from '../core/gallery-data.ts';
import type { SavedPicture } from '../core/picture.ts';
import type { Verdict } from '../core/scene-record.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import type { ExportFolder } from './export-folder.ts';

/** Number of pictures between two syncs of the folders. */
const picturesAtOnce = 250;

/** Exports pictures as files under their names, with what belongs to them. */
export function writePictureFolder(
  folder: ExportFolder,
  to: 'imagefolder' | 'captions' | 'gallery',
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
  maxMetadataBytes: number | undefined,
): Promise<void> {
  switch (to) {
    case 'imagefolder':
      return writeImageFolder(folder, pictures, ports, maxMetadataBytes);
    case 'captions':
      return writeCaptions(folder, pictures, ports);
    case 'gallery':
      return writeGallery(folder, pictures, ports);
  }
}

/** Exports pictures and their thumbnails, and then the page that shows them, so that it never shows missing ones. */
async function writeGallery(
  folder: ExportFolder,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): Promise<void> {
  const page = 'index.html';
  const below = 'pictures/';
  const entries: AlbumEntry[] = [];
  for (const group of groupsOf(pictures, picturesAtOnce)) {
    const good = await writePictures(folder, below, group, ports, () => []);
    const thumbnails = await writeThumbnails(folder, good, ports);
    for (const picture of good) {
      const { scene, name, width, height } = picture;
      const thumbnail = thumbnails.get(picture);
      const entry = { id: scene, file: below + name, width, height, text: ports.gallery.textOf(picture) };
      entries.push({ ...entry, ...(thumbnail !== undefined && { thumbnail }) });
    }
  }
  folder.begin([page]);
  await folder.write(page, await ports.gallery.page(entries));
  folder.keep(page);
}

/** Writes thumbnails that differ from those that are there. Returns the names of all. */
async function writeThumbnails(
  folder: ExportFolder,
  pictures: ExportedPicture[],
  { gallery }: ExportPorts,
): Promise<Map<ExportedPicture, string>> {
  const names = new Map<ExportedPicture, string>();
  // One folder, because each is synced.
  const folders = new Set<string>();
  for (const some of groupsOf(pictures, maxConcurrent)) {
    const made = await Promise.all(
      some.map(async (picture) => ({ picture, content: await gallery.thumbnail(picture) })),
    );
    const thumbnails = made.flatMap(({ picture, content }) => {
      const name = `thumbnails/${picture.sha256.slice(0, 32)}.jpg`;
      return content === undefined ? [] : [{ picture, content, name }];
    });
    folder.begin(thumbnails.map(({ name }) => name));
    for (const { picture, content, name } of thumbnails) {
      names.set(picture, name);
      folder.keep(name);
      if (contentOf(join(folder.dir, name))?.equals(content) !== true)
        folders.add(place(folder, name, content));
    }
  }
  for (const each of folders) await withDiskFailure(each, () => syncFolder(each));
  return names;
}

/** Exports pictures, each with its caption in a text file of the same name. */
async function writeCaptions(
  folder: ExportFolder,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): Promise<void> {
  for (const group of groupsOf(pictures, picturesAtOnce)) {
    const texts = (picture: ExportedPicture) => [[captionFile(picture.name), picture.caption] as const];
    await writePictures(folder, '', group, ports, texts);
  }
}

function captionFile(file: string): string {
  return file.replace(/\.\w+$/, '.txt');
}

/** Maximum size of a metadata file in bytes. Programs that read larger ones take much memory or fail. */
const metadataBytes = 100_000_000;

/** Exports pictures and their metadata. Readers expect both in one folder, so more metadata files get subfolders. */
async function writeImageFolder(
  folder: ExportFolder,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
  maxBytes = metadataBytes,
): Promise<void> {
  let part = 0;
  for (const some of partsOf(pictures, maxBytes)) {
    await writePart(folder, part === 0 ? '' : `part-${String(part).padStart(5, '0')}/`, some, ports);
    part += 1;
  }
}

function metadataLine(picture: ExportedPicture): string {
  return `${JSON.stringify({ file_name: picture.name, ...recordOf(picture) })}\n`;
}

/** Splits pictures so that the metadata of a part fits into one file. Read each part to its end before the next. */
function* partsOf(
  pictures: Iterable<ExportedPicture>,
  maxBytes: number,
): Generator<Iterable<ExportedPicture>> {
  const all = pictures[Symbol.iterator]();
  let next = all.next();
  const part = function* (): Generator<ExportedPicture> {
    let bytes = 0;
    while (next.done !== true) {
      const more = Buffer.byteLength(metadataLine(next.value));
      if (bytes > 0 && bytes + more > maxBytes) return;
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

/** Writes pictures, and returns those that are intact. `besides`: further files to write for a picture. */
async function writePictures(
  folder: ExportFolder,
  below: string,
  pictures: ExportedPicture[],
  ports: ExportPorts,
  besides: (picture: ExportedPicture) => (readonly [name: string, content: string])[],
): Promise<ExportedPicture[]> {
  const before = new Set(pictures.filter(({ name }) => folder.hasBegun(below + name)));
  folder.begin(
    pictures.flatMap((picture) =>
      [picture.name, ...besides(picture).map(([name]) => name)].map((name) => below + name),
    ),
  );
  // The record has no sha256 of copies, and of pictures without their metadata.
  const isOther = ports.isCopy || ports.cleaned !== undefined;
  const whole = isOther ? [] : [...before].filter((each) => isThere(folder, below, each));
  const good = new Set(whole);
  ports.onDone(whole.length, 0, 0);
  const folders = new Set<string>();
  const others = pictures.filter((picture) => !good.has(picture));
  for await (const { picture, temporary, bytes } of fetchChecked(folder, below, others, ports)) {
    const path = join(folder.dir, below + picture.name);
    const isSame = isOther && before.has(picture) && isSameFile(path, temporary);
    if (isSame) rmSync(temporary);
    else renameSync(temporary, path);
    folders.add(dirname(path));
    good.add(picture);
    ports.onDone(1, isSame ? 0 : 1, isSame ? 0 : bytes);
  }
  const inOrder = pictures.filter((picture) => good.has(picture));
  for (const picture of inOrder) {
    folder.keep(below + picture.name);
    for (const [name, text] of besides(picture)) {
      const content = Buffer.from(text);
      folder.keep(below + name);
      if (before.has(picture) && contentOf(join(folder.dir, below + name))?.equals(content) === true)
        continue;
      folders.add(place(folder, below + name, content));
    }
  }
  // Memory is freed only between turns of the event loop. Pictures that are already complete do not cause a turn.
  await nextTurn();
  for (const each of folders) await withDiskFailure(each, () => syncFolder(each));
  return inOrder;
}

/** Fetches and checks pictures under temporary names, unsynced: the next export reads existing files again. */
async function* fetchChecked(
  folder: ExportFolder,
  below: string,
  pictures: ExportedPicture[],
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; temporary: string; bytes: number }> {
  const fetch = async (picture: ExportedPicture) => {
    const temporary = join(folder.folderOf(below + picture.name), temporaryName());
    return { picture, temporary, isFetched: await ports.fetch(picture, temporary) };
  };
  const groups = [...groupsOf(pictures, maxConcurrent)];
  const begin = (some: ExportedPicture[] = []) => Promise.all(some.map(fetch));
  let next = begin(groups[0]);
  for (const [index] of groups.entries()) {
    const fetched = await next;
    next = begin(groups[index + 1]);
    // The next group is awaited in its turn, unless something else fails first.
    next.catch(() => undefined);
    for (const { picture, temporary, isFetched } of fetched) {
      const content = isFetched ? contentOf(temporary) : undefined;
      const verdict = verdictOn(picture, content, ports.isCopy);
      if (verdict.kind === 'good' && content !== undefined) {
        const cleaned = ports.cleaned?.(content) ?? content;
        if (cleaned !== content) {
          // The copy of a write-protected picture is write-protected too.
          rmSync(temporary);
          writeFileSync(temporary, cleaned, { flag: 'wx', mode: 0o600 });
        }
        yield { picture, temporary, bytes: cleaned.length };
      } else if (verdict.kind !== 'good') {
        rmSync(temporary, { force: true });
        ports.onBad(picture, verdict);
      }
    }
  }
}

function isThere(folder: ExportFolder, below: string, { name, sha256 }: ExportedPicture): boolean {
  const content = contentOf(join(folder.dir, below + name));
  return content !== undefined && isOf(content, sha256);
}

function isSameFile(one: string, other: string): boolean {
  const content = Buffer.from(contentOf(other) ?? '');
  return contentOf(one)?.equals(content) === true;
}

/** Buffer for pictures of usual size. It is reused, because a new buffer for each picture would be garbage at once. */
const shared = Buffer.alloc(4_000_000);

/** Returns the content of a file, which is valid until the next call. Undefined if the file cannot be read. */
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

/** Writes a file that belongs to a picture. Returns the folder of the file. */
function place(folder: ExportFolder, name: string, content: Uint8Array): string {
  const into = folder.folderOf(name);
  const temporary = join(into, temporaryName());
  writeFileSync(temporary, content, { flag: 'wx', mode: 0o600 });
  renameSync(temporary, join(folder.dir, name));
  return into;
}

/** A saved picture in an export. If a copy is exported, `bytes` and `sha256` are those of the original. */
export type ExportedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** Unique within the batch: the id of the scene. The second picture of a scene gets `.2`, and so on. */
  id: string;
  scene: string;
  /** Name of the file in the export: that of the picture, or from `--name`. */
  name: string;
  /** Path of the picture in the batch, for people: `images/a.png`, `s3://bucket/images/a.png`. */
  path: string;
  prompt: string;
  /** Seed in the service's digits; null if it is unknown. */
  seed: string | null;
  endpoint: string | null;
  attempts: number;
  /** Share of the cost of its job; null if it is unknown. */
  cost: number | null;
  /** `columns` and `values` each have the same names in every picture. */
  columns: JsonObject;
  values: JsonObject;
  caption: string;
};

export interface ExportPorts {
  /** Returns the content; undefined if the picture does not exist. */
  read: (picture: ExportedPicture) => Promise<Buffer | undefined>;
  fetch: (picture: ExportedPicture, to: string) => Promise<boolean>;
  /** True if copies of pictures are exported. No sha256 of a copy is on record. */
  isCopy: boolean;
  /** Returns the content that is exported, the same buffer if nothing changes. Undefined if pictures are exported as they are. */
  cleaned: ((content: Buffer) => Buffer) | undefined;
  gallery: {
    /** Returns undefined if the page shows the picture itself. */
    thumbnail: (picture: ExportedPicture) => Promise<Uint8Array | undefined>;
    textOf: (picture: ExportedPicture) => string;
    page: (entries: AlbumEntry[]) => Promise<string>;
  };
  onBad: (picture: ExportedPicture, verdict: Exclude<Verdict, { kind: 'good' }>) => void;
  /** Called when `pictures` more are done. `written` of them are new; an earlier export wrote the others. */
  onDone: (pictures: number, written: number, bytes: number) => void;
}

const ownNames = new Set(['file_name', 'id', 'prompt', 'seed']);

/** Returns the metadata of a picture. Columns with reserved names become `manifest.NAME`. */
export function recordOf({ id, prompt, seed, columns, values }: ExportedPicture): JsonObject {
  const named = Object.entries({ ...columns, ...values }).filter(([name]) => name !== 'id');
  const renamed = named.map(([name, value]) => [ownNames.has(name) ? `manifest.${name}` : name, value]);
  return { id, prompt, seed, ...(Object.fromEntries(renamed) as JsonObject) };
}

/** Maximum number of pictures that are read at once: enough to keep a disk or a bucket busy, within little memory. */
const maxConcurrent = 32;
const maxConcurrentBytes = 16_000_000;

/** Yields intact pictures in order, with their content. Others are reported to `onBad` and left out. */
export async function* readChecked(
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; content: Buffer }> {
  for (const some of groupsOf(pictures, maxConcurrent, maxConcurrentBytes)) {
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

/** Splits pictures into groups of at most `most` pictures and `maxBytes` bytes. A single picture may be larger. */
export function* groupsOf(
  pictures: Iterable<ExportedPicture>,
  most: number,
  maxBytes = Infinity,
): Generator<ExportedPicture[]> {
  let group: ExportedPicture[] = [];
  let bytes = 0;
  for (const picture of pictures) {
    if (group.length === most || (group.length > 0 && bytes + picture.bytes > maxBytes)) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(picture);
    bytes += picture.bytes;
  }
  if (group.length > 0) yield group;
}
