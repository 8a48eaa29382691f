/** Pictures as files of a folder, under the names that the batch gave them, with captions or metadata beside them. */
import { closeSync, linkSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryName } from '../../lib/files/temporary-files.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import type { ExportFolder } from './export-folder.ts';
import {
  groupsOf,
  isOf,
  readChecked,
  recordOf,
  type ExportedPicture,
  type ExportPorts,
} from './exported-picture.ts';

/** Between two syncs of the folders. */
const picturesAtOnce = 1_000;

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
  for await (const { picture, content } of readChecked(others, ports)) {
    const file = below + picture.file;
    const isSame = ports.isCopy && before.has(picture) && contentOf(folder, file)?.equals(content) === true;
    if (!isSame) folders.add(place(folder, file, content, ports.pathOf?.(picture)));
    good.add(picture);
    ports.onDone(1, isSame ? 0 : 1, isSame ? 0 : content.length);
  }
  const inOrder = pictures.filter((picture) => good.has(picture));
  for (const picture of inOrder) {
    folder.keep(below + picture.file);
    for (const [name, text] of besides(picture)) {
      const content = Buffer.from(text);
      folder.keep(below + name);
      if (before.has(picture) && contentOf(folder, below + name)?.equals(content) === true) continue;
      folders.add(place(folder, below + name, content));
    }
  }
  for (const each of folders) await withDiskFailure(each, () => syncFolder(each));
  return inOrder;
}

function isThere(folder: ExportFolder, below: string, { file, sha256 }: ExportedPicture): boolean {
  const content = contentOf(folder, below + file);
  return content !== undefined && isOf(content, sha256);
}

function contentOf(folder: ExportFolder, name: string): Buffer | undefined {
  try {
    return readFileSync(join(folder.dir, name));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

/** Whole or not at all under its name, but not synced: the next export reads what is there. Returns its folder. */
function place(folder: ExportFolder, name: string, content: Buffer, source?: string): string {
  const into = folder.folderOf(name);
  const temporary = join(into, temporaryName());
  if (source === undefined || !isLinked(source, temporary)) {
    const file = openSync(temporary, 'wx', 0o600);
    try {
      for (let at = 0; at < content.length; at += writeSync(file, content, at));
    } finally {
      closeSync(file);
    }
  }
  renameSync(temporary, join(folder.dir, name));
  return into;
}

/** Not across disks, nor on file systems without links. */
function isLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return false;
  }
}
