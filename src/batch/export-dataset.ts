/** Exports the saved pictures of a batch as a dataset for other programs. The batch is only read. */
import { hash } from 'node:crypto';
import { basename, join } from 'node:path';
import type { Database } from '../lib/sqlite/database.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { plural } from '../lib/text/format.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readBegunAt } from '../runner/checkpoint/batch-identity.ts';
import { isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { formatBytes } from '../runner/core/file-text.ts';
import type { Album } from '../runner/core/gallery-data.ts';
import { copyEnding, isClipFile, type PictureCopy } from '../runner/core/picture.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { ExportFolder, exportKinds, OtherFolder, type ExportKind } from '../runner/export/export-folder.ts';
import { exportPictures, maxEmbeddedBytes, type NumericColumn } from '../runner/export/export-pictures.ts';
import {
  type ExportedPicture,
  type ExportPorts,
  type Medium,
  mediumOf,
} from '../runner/export/checked-pictures.ts';
import { thumbnailFor } from '../runner/images/missing-files.ts';
import { withoutProvenance } from '../runner/images/sidecars.ts';
import { readIfReadable, UnreadableFile, type Place } from '../runner/images/place.ts';
import { pageWithData } from '../runner/report/write-report.ts';
import type { Batch } from './batch.ts';
import type { Book } from './book.ts';
import { exportedScenes, type ExportChoices, type ExportedScenes } from './exported-scenes.ts';
import { shownPath } from './refusal.ts';
import { readReportKeys } from '../runner/config/schema-parts.ts';

export interface ExportListener {
  /** Called for each saved picture that is missing or damaged and therefore left out. */
  onBad: (bad: UnexportedPicture) => void;
  /** Called with the number of pictures done since. `written`: now; the others by an earlier export. */
  onDone: ExportPorts['onDone'];
  /** Called with sentences about scenes that are left out, and about files that stay. */
  onNote: (text: string) => void;
}

export interface UnexportedPicture {
  kind: 'missing' | 'damaged';
  scene: string;
  /** Relative to the images folder. */
  file: string;
  problem: string;
}

export interface ExportedDataset {
  to: ExportKind;
  dir: string;
  pictures: number;
  /** Number of clips among them. */
  clips: number;
  /** Number of pictures that are new or have changed since the previous export. */
  written: number;
  bytes: number;
  /** Number of saved pictures that are missing or damaged. */
  bad: number;
  /** Number of chosen scenes without a saved result, by state. */
  missing: Record<string, number>;
}

/** Returns the kind of export with this name. Throws `ConfigError`, also if this kind does not support a choice. */
export function exportableKind(
  name: string | undefined,
  choices: {
    caption: string | undefined;
    name: string | undefined;
    copy: string | undefined;
    isEmbedded: boolean;
    isLinked: boolean;
    isWithMetadata: boolean;
  },
): ExportKind {
  const kind = exportKind(name);
  const { caption, copy, isEmbedded, isLinked, isWithMetadata } = choices;
  const isOf = (...kinds: ExportKind[]): boolean => kinds.includes(kind);
  if (caption !== undefined && !isOf('captions', 'webdataset', 'gallery'))
    throw wrong('--caption', `${kind} has no captions`);
  if (isWithMetadata && !isOf('gallery'))
    throw wrong('--with-metadata', `${kind} always keeps the metadata of its pictures`);
  if (isLinked && !isOf('captions', 'imagefolder')) throw wrong('--link', `${kind} has no files to link`);
  if (isEmbedded && !isOf('parquet')) throw wrong('--embed', `${kind} has the pictures in any case`);
  const bare =
    isEmbedded || !isOf('parquet') ? undefined : 'parquet contains no pictures or clips without --embed';
  if (copy !== undefined && bare !== undefined) throw wrong('--copy', bare);
  if (choices.name !== undefined && bare !== undefined) throw wrong('--name', bare);
  return kind;
}

function exportKind(name: string | undefined): ExportKind {
  const kind = exportKinds.find((each) => each === name);
  if (kind !== undefined) return kind;
  const hint = didYouMean(name ?? '', exportKinds) ?? `expected one of ${exportKinds.join(', ')}`;
  const found = name === undefined ? 'it is missing' : `${JSON.stringify(name)} is not a kind of export`;
  throw wrong('--to', `${found}; ${hint}`);
}

/** Returns the copy in `output.formats` with this name, such as `512.jpg`. Throws `ConfigError`. */
export function copyNamed(name: string, { parts }: Batch): PictureCopy {
  const { formats } = readReportKeys(parts).output;
  const names = formats.map((format) => copyEnding(format).slice(1));
  const found = formats[names.indexOf(name.replace(/^[-.]/, ''))];
  if (found !== undefined) return found;
  const hint =
    names.length === 0
      ? 'output.formats has none'
      : (didYouMean(name, names) ?? `expected one of ${names.join(', ')}`);
  throw wrong('--copy', `there is no copy ${JSON.stringify(name)}; ${hint}`);
}

function wrong(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

/** Writes the dataset; complete files of an earlier one stay. Throws `ConfigError` or the reason of `signal`. */
export async function exportDataset(
  book: Book,
  choices: ExportChoices,
  listener: ExportListener,
  signal?: AbortSignal,
): Promise<ExportedDataset> {
  const { dir, to } = choices;
  try {
    return await book.withPlaces(({ images }) => exportAll(book, images, choices, listener, signal));
  } catch (error) {
    if (!(error instanceof OtherFolder)) throw error;
    const advice = error.advice ?? `choose a new or empty folder, or that of an earlier export to ${to}`;
    throw wrong(shownPath(dir), `${error.message}; ${advice}`);
  }
}

async function exportAll(
  { db, dir }: Book,
  images: Place,
  choices: ExportChoices,
  listener: ExportListener,
  signal: AbortSignal | undefined,
): Promise<ExportedDataset> {
  const scenes = exportedScenes(db, choices, signal);
  const folder = await openFolder(db, choices);
  try {
    return await exportInto(
      folder,
      scenes,
      { db, images, reportDir: join(dir, 'report') },
      choices,
      listener,
    );
  } finally {
    folder.close();
  }
}

interface Pictures {
  db: Database;
  images: Place;
  reportDir: string;
}

export const missingFile = 'missing.jsonl';

/** Passes the pictures on, and adds the number of clips among them to `sum.clips`. */
function* countClips(
  pictures: Iterable<ExportedPicture>,
  sum: Pick<ExportedDataset, 'clips'>,
): Generator<ExportedPicture> {
  for (const picture of pictures) {
    if (isClipFile(picture.file)) sum.clips += 1;
    yield picture;
  }
}

async function exportInto(
  folder: ExportFolder,
  scenes: ExportedScenes,
  { db, images, reportDir }: Pictures,
  { dir, to, copy, shard, isEmbedded, isLinked, caption, isWithMetadata }: ExportChoices,
  { onBad, onDone, onNote }: ExportListener,
): Promise<ExportedDataset> {
  const done = { pictures: 0, clips: 0, written: 0, bytes: 0, bad: 0 };
  const lines: string[] = [];
  const missing = new Map<string, number>();
  const onMissing = (row: SceneRecord): void => {
    lines.push(missingLine(row));
    missing.set(row.state, (missing.get(row.state) ?? 0) + 1);
  };
  const isCopyOf = ({ file }: ExportedPicture): boolean => copy?.size === undefined || !isRecorded(db, file);
  const ports: ExportPorts = {
    read: async (picture) => (isCopyOf(picture) ? readIfReadable(images, picture.file) : undefined),
    fetch: async (picture, path, isPassing = false) =>
      isCopyOf(picture) && hasFetched(images, picture, path, isLinked || isPassing),
    isCopy: copy !== undefined,
    cleaned: to === 'gallery' && !isWithMetadata ? withoutProvenance : undefined,
    gallery: {
      thumbnail: (picture) => thumbnailFor(images, reportDir, picture),
      textOf: ({ name: file, caption: text }) => {
        const name = basename(file).replace(/\.\w+$/, '');
        return (caption === undefined && !isWithMetadata) || text === '' ? name : text;
      },
      page: (pictures) => albumPage({ title: basename(dir), key: albumKey(db), pictures }),
    },
    onBad: ({ scene, file }, verdict) => {
      const problem = verdict.kind === 'missing' ? 'it is missing' : verdict.problem;
      lines.push(`${JSON.stringify({ id: scene, state: 'saved', file, problem })}\n`);
      done.bad += 1;
      if (isClipFile(file)) done.clips -= 1;
      onBad({ kind: verdict.kind, scene, file, problem });
    },
    onDone: (pictures, written, bytes) => {
      done.pictures += pictures;
      done.written += written;
      done.bytes += bytes;
      onDone(pictures, written, bytes);
    },
  };
  const salt = JSON.stringify(copy ?? null);
  const repeated = repeatedNames(scenes);
  const numeric = to === 'parquet' ? numericColumns(scenes.saved(), repeated) : [];
  const isMediumAsked = to === 'parquet' || copy !== undefined || ports.cleaned !== undefined;
  const media = isMediumAsked ? mediaIn(scenes.saved(), isEmbedded) : new Set<Medium>();
  const hasClips = media.has('video') || media.has('audio');
  if (hasClips && copy !== undefined)
    throw wrong(
      '--copy',
      'some of these are clips, which have no copies; leave out --copy, or choose pictures by --ids',
    );
  if (hasClips && ports.cleaned !== undefined)
    onNote(
      'Clips keep the texts that programs wrote into them, such as a workflow of ComfyUI: `ffmpeg -i IN -map_metadata -1 -c copy OUT` takes them out.',
    );
  // The JSON columns of Parquet have every column of the list under its name.
  const pictures =
    to === 'parquet' ? scenes.all(onMissing, onNote) : without(repeated, scenes.all(onMissing, onNote));
  await exportPictures(folder, to, countClips(pictures, done), ports, {
    shard,
    salt,
    numeric,
    isEmbedded,
    media,
  });
  // Others do not see what failed.
  if (lines.length > 0 && to !== 'gallery') {
    folder.begin([missingFile]);
    await folder.write(missingFile, lines.join(''));
    folder.keep(missingFile);
  }
  const [linked, ...more] = await folder.finish();
  if (linked !== undefined)
    onNote(
      `${plural(more.length + 1, 'file')} of an earlier export, such as ${linked}, stayed in ${shownPath(dir)}: a link leads to its folder, and an export removes nothing through links.`,
    );
  return { to, dir, ...done, missing: Object.fromEntries(missing) };
}

function albumPage(album: Album): Promise<string> {
  return pageWithData('album', album, {
    title: album.title,
    elsewhere: 'The pictures are in the folder pictures beside it.',
  });
}

function albumKey(db: Database): string {
  return hash('sha256', String(readBegunAt(db))).slice(0, 12);
}

function openFolder(
  db: Database,
  { to, dir, shard, caption, name, isEmbedded, copy }: ExportChoices,
): Promise<ExportFolder> {
  const options = {
    shard,
    ...(caption !== undefined && { caption }),
    ...(name !== undefined && { name }),
    ...(isEmbedded && { embed: true }),
    ...(copy && { copy: copyEnding(copy) }),
  };
  return ExportFolder.open(dir, { batch: String(readBegunAt(db)), to, options });
}

/** Returns a line in the format of results.jsonl. */
function missingLine({ id, state, failureKind, failureText, source }: SceneRecord): string {
  const failure = failureKind === null ? null : { kind: failureKind, text: failureText ?? '' };
  return `${JSON.stringify({ id, state, failure, source })}\n`;
}

/** Copies or links a picture. Returns false if it does not exist or cannot be read. */
async function hasFetched(
  images: Place,
  { file }: ExportedPicture,
  to: string,
  isLinked: boolean,
): Promise<boolean> {
  try {
    return await images.fetch(file, to, isLinked);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return false;
  }
}

/** Returns the media of the pictures. Throws `ConfigError` if one is too large for a table that has to contain it. */
function mediaIn(pictures: Iterable<ExportedPicture>, isEmbedded: boolean): ReadonlySet<Medium> {
  const media = new Set<Medium>();
  for (const picture of pictures) {
    media.add(mediumOf(picture));
    if (isEmbedded && picture.bytes > maxEmbeddedBytes)
      throw wrong(
        '--embed',
        `${picture.file} has ${formatBytes(picture.bytes)}, and a table contains files up to ${formatBytes(maxEmbeddedBytes)}; leave out --embed, or export to webdataset`,
      );
  }
  return media;
}

/** Returns the columns and values that are numbers in every picture that has them. */
function numericColumns(pictures: Iterable<ExportedPicture>, repeated: ReadonlySet<string>): NumericColumn[] {
  const known = new Map<string, { isNumeric: boolean; isInteger: boolean }>();
  for (const { columns, values } of pictures)
    for (const [name, value] of Object.entries({ ...columns, ...values })) {
      if (value === null || repeated.has(name)) continue;
      const { isNumeric, isInteger } = known.get(name) ?? { isNumeric: true, isInteger: true };
      known.set(name, {
        isNumeric: isNumeric && typeof value === 'number',
        isInteger: isInteger && Number.isSafeInteger(value),
      });
    }
  return [...known].flatMap(([name, { isNumeric, isInteger }]) => (isNumeric ? [{ name, isInteger }] : []));
}

/** Returns the columns that say the same as the prompt or seed of the export, in every picture. */
function repeatedNames({ columns, saved }: ExportedScenes): ReadonlySet<string> {
  const repeated = new Set((['prompt', 'seed'] as const).filter((name) => columns.includes(name)));
  if (repeated.size === 0) return repeated;
  for (const picture of saved()) {
    for (const name of repeated) {
      const value = { ...picture.columns, ...picture.values }[name] ?? null;
      if (value === null || typeof value === 'object' || String(value) !== picture[name])
        repeated.delete(name);
    }
    if (repeated.size === 0) break;
  }
  return repeated;
}

function* without(
  names: ReadonlySet<string>,
  pictures: Iterable<ExportedPicture>,
): Generator<ExportedPicture> {
  const left = (all: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !names.has(name)));
  for (const { columns, values, ...picture } of pictures)
    yield { ...picture, columns: left(columns), values: left(values) };
}
