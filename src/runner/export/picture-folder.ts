/** Writes pictures into a folder, with captions or metadata beside them. */
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { temporaryName } from '../../lib/files/temporary-files.ts';
import type { AlbumEntry } from '../core/gallery-data.ts';
import { isClipFile } from '../core/picture.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import {
  checkFile,
  contentOf,
  type ExportedPicture,
  type ExportPorts,
  groupsOf,
  maxConcurrent,
  mediumOf,
  recordOf,
} from './checked-pictures.ts';
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
      const clip = isClipFile(name) ? { clip: clipEntry(picture) } : {};
      entries.push({ ...entry, ...clip, ...(thumbnail !== undefined && { thumbnail }) });
    }
  }
  folder.begin([page]);
  await folder.write(page, await ports.gallery.page(entries));
  folder.keep(page);
}

function clipEntry({ bytes, clip }: ExportedPicture): NonNullable<AlbumEntry['clip']> {
  const seconds = clip?.duration_s;
  return { bytes, ...(typeof seconds === 'number' && { durationMs: seconds * 1000 }) };
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
  const isOther = (picture: ExportedPicture): boolean => ports.isCopy || isCleaned(picture, ports);
  const good = new Set<ExportedPicture>();
  for (const picture of before)
    if (!isOther(picture) && (await isThere(folder, below, picture))) good.add(picture);
  ports.onDone(good.size, 0, 0);
  const folders = new Set<string>();
  const others = pictures.filter((picture) => !good.has(picture));
  for await (const { picture, temporary, bytes } of fetchChecked(folder, below, others, ports)) {
    const path = join(folder.dir, below + picture.name);
    const isSame = isOther(picture) && before.has(picture) && isSameFile(path, temporary);
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
      const { verdict, bytes } = await checkFile(picture, isFetched ? temporary : undefined, ports.isCopy);
      if (verdict.kind !== 'good') {
        rmSync(temporary, { force: true });
        ports.onBad(picture, verdict);
        continue;
      }
      const content = isCleaned(picture, ports) ? contentOf(temporary) : undefined;
      const cleaned = content && ports.cleaned?.(content);
      if (cleaned !== undefined && cleaned !== content) {
        // The copy of a write-protected picture is write-protected too.
        rmSync(temporary);
        writeFileSync(temporary, cleaned, { flag: 'wx', mode: 0o600 });
      }
      yield { picture, temporary, bytes: cleaned?.length ?? bytes };
    }
  }
}

/** True if texts about the making of the picture are taken out. That is not possible for clips. */
function isCleaned(picture: ExportedPicture, { cleaned }: ExportPorts): boolean {
  return cleaned !== undefined && mediumOf(picture) === 'image';
}

async function isThere(folder: ExportFolder, below: string, picture: ExportedPicture): Promise<boolean> {
  const path = join(folder.dir, below + picture.name);
  if (statSync(path, { throwIfNoEntry: false })?.size !== picture.bytes) return false;
  return (await checkFile(picture, path, false)).verdict.kind === 'good';
}

function isSameFile(one: string, other: string): boolean {
  const content = Buffer.from(contentOf(other) ?? '');
  return contentOf(one)?.equals(content) === true;
}

/** Writes a file that belongs to a picture. Returns the folder of the file. */
function place(folder: ExportFolder, name: string, content: Uint8Array): string {
  const into = folder.folderOf(name);
  const temporary = join(into, temporaryName());
  writeFileSync(temporary, content, { flag: 'wx', mode: 0o600 });
  renameSync(temporary, join(folder.dir, name));
  return into;
}
