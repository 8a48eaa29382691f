/** Exports the saved pictures of a batch as a dataset for other programs. The batch is only read. */
import { hash } from 'node:crypto';
import { basename, join } from 'node:path';
import type { Database } from '../lib/sqlite/database.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { plural } from '../lib/text/format.ts';
import type { JsonObject } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import {
  readBatch,
  readBegunAt,
  resultColumns,
  type BatchIdentity,
} from '../runner/checkpoint/batch-identity.ts';
import { pictureIds, isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { readRecords } from '../runner/checkpoint/scene-records.ts';
import { compileTemplate, listed, type Template, TemplateError } from '../runner/config/template.ts';
import { withValues } from '../runner/core/seeds-until.ts';
import { copyEnding, type PictureCopy, type SavedPicture, sidecarPath } from '../runner/core/picture.ts';
import type { Album } from '../runner/core/gallery-data.ts';
import { promptOf } from '../runner/core/naming.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { priceOf } from '../runner/core/spending.ts';
import { ExportFolder, exportKinds, OtherFolder, type ExportKind } from '../runner/export/export-folder.ts';
import { exportPictures } from '../runner/export/export-pictures.ts';
import type { ExportedPicture, ExportPorts } from '../runner/export/picture-folder.ts';
import { thumbnailFor } from '../runner/images/missing-files.ts';
import { withoutProvenance } from '../runner/images/sidecars.ts';
import { readIfReadable, UnreadableFile, type Place } from '../runner/images/place.ts';
import { pathOf } from '../runner/report/result-columns.ts';
import { pageWithData } from '../runner/report/write-report.ts';
import type { Batch } from './batch.ts';
import type { Book } from './book.ts';
import { chosenRows, type RowsChosen } from './retry-scenes.ts';
import { bucketOf } from './pictures-place.ts';
import { shownPath } from './refusal.ts';
import { readReportKeys } from '../runner/config/schema-parts.ts';

/** Choices of an export. Scenes that are not chosen are left out. */
export interface ExportChoices extends RowsChosen {
  to: ExportKind;
  /** Absolute path of the dataset's folder. */
  dir: string;
  /** Number of pictures in each file of webdataset and parquet. */
  shard: number;
  /** Template for the text of a picture. Undefined for its prompt. */
  caption: string | undefined;
  /** Copy that is exported instead of the picture. */
  copy: PictureCopy | undefined;
  /** True if pictures of a gallery keep the metadata that nightrender wrote, and the page shows prompts. */
  isWithMetadata: boolean;
  /** True if files are linked instead of copied, where the disk allows it. */
  isLinked: boolean;
}

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
  /** Number of pictures that are new or have changed since the previous export. */
  written: number;
  bytes: number;
  /** Number of saved pictures that are missing or damaged. */
  bad: number;
  /** Number of chosen scenes without a picture, by state. */
  missing: Record<string, number>;
}

/** Returns the kind of export with this name. Throws `ConfigError`, also if this kind does not support a choice. */
export function exportableKind(
  name: string | undefined,
  choices: {
    caption: string | undefined;
    copy: string | undefined;
    isLinked: boolean;
    isWithMetadata: boolean;
  },
): ExportKind {
  const kind = exportKind(name);
  const { caption, copy, isLinked, isWithMetadata } = choices;
  const isOf = (...kinds: ExportKind[]): boolean => kinds.includes(kind);
  if (caption !== undefined && !isOf('captions', 'webdataset', 'gallery'))
    throw wrong('--caption', `${kind} has no captions`);
  if (isWithMetadata && !isOf('gallery'))
    throw wrong('--with-metadata', `${kind} always keeps the metadata of its pictures`);
  if (isLinked && !isOf('captions', 'imagefolder')) throw wrong('--link', `${kind} has no files to link`);
  if (copy !== undefined && isOf('parquet')) throw wrong('--copy', 'parquet has no pictures in it');
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

async function exportInto(
  folder: ExportFolder,
  scenes: ExportedScenes,
  { db, images, reportDir }: Pictures,
  { dir, to, copy, shard, isLinked, caption, isWithMetadata }: ExportChoices,
  { onBad, onDone, onNote }: ExportListener,
): Promise<ExportedDataset> {
  const done = { pictures: 0, written: 0, bytes: 0, bad: 0 };
  const lines: string[] = [];
  const missing = new Map<string, number>();
  const onMissing = (row: SceneRecord): void => {
    lines.push(missingLine(row));
    missing.set(row.state, (missing.get(row.state) ?? 0) + 1);
  };
  const isCopyOf = ({ file }: ExportedPicture): boolean => copy?.size === undefined || !isRecorded(db, file);
  const ports: ExportPorts = {
    read: async (picture) => (isCopyOf(picture) ? readIfReadable(images, picture.file) : undefined),
    fetch: async (picture, path) => isCopyOf(picture) && hasFetched(images, picture, path, isLinked),
    isCopy: copy !== undefined,
    cleaned: to === 'gallery' && !isWithMetadata ? withoutProvenance : undefined,
    gallery: {
      thumbnail: (picture) => thumbnailFor(images, reportDir, picture),
      textOf: ({ file, caption: text }) => {
        const name = basename(file).replace(/\.\w+$/, '');
        return (caption === undefined && !isWithMetadata) || text === '' ? name : text;
      },
      page: (pictures) => albumPage({ title: basename(dir), key: albumKey(db), pictures }),
    },
    onBad: ({ scene, file }, verdict) => {
      const problem = verdict.kind === 'missing' ? 'it is missing' : verdict.problem;
      lines.push(`${JSON.stringify({ id: scene, state: 'saved', file, problem })}\n`);
      done.bad += 1;
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
  const numeric = to === 'parquet' ? numericNames(scenes.saved()) : [];
  await exportPictures(folder, to, scenes.all(onMissing, onNote), ports, { shard, salt, numeric });
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

function openFolder(db: Database, { to, dir, shard, caption, copy }: ExportChoices): Promise<ExportFolder> {
  const options = {
    shard,
    ...(caption !== undefined && { caption }),
    ...(copy && { copy: copyEnding(copy) }),
  };
  return ExportFolder.open(dir, { batch: String(readBegunAt(db)), to, options });
}

/** Returns a line in the format of results.jsonl. */
function missingLine({ id, state, failureKind, failureText, source }: SceneRecord): string {
  const failure = failureKind === null ? null : { kind: failureKind, text: failureText ?? '' };
  return `${JSON.stringify({ id, state, failure, source })}\n`;
}

/** Pictures in the order of the list. */
interface ExportedScenes {
  saved(): Iterable<ExportedPicture>;
  /** Returns the same pictures, with a note about excluded ones. Calls `onMissing` for scenes without a picture. */
  all(onMissing: (row: SceneRecord) => void, onNote: (text: string) => void): Iterable<ExportedPicture>;
}

/** Reads the chosen pictures. Throws `ConfigError`; the iterables throw the reason of `signal`. */
function exportedScenes(
  db: Database,
  { copy, caption, ...rows }: ExportChoices,
  signal: AbortSignal | undefined,
): ExportedScenes {
  const batch = readBatch(db);
  const chosen = chosenRows(rows, db);
  const toPictures = pictureReader(db, batch, captioner(caption, batch), copy && copyEnding(copy));
  const silent = (): void => undefined;
  return {
    *saved() {
      for (const row of chosen(readRecords(db, { states: ['saved'] }), silent)) yield* toPictures(row);
    },
    *all(onMissing, onNote) {
      for (const row of chosen(readRecords(db), onNote)) {
        signal?.throwIfAborted();
        if (row.state === 'saved' && row.pictures.length > 0) yield* toPictures(row);
        else onMissing(row);
      }
    },
  };
}

/** Returns a function that lists a scene's pictures. `ending` is that of the copy which replaces each picture. */
function pictureReader(
  db: Database,
  batch: BatchIdentity | undefined,
  captionOf: (row: SceneRecord, columns: JsonObject) => string,
  ending: string | undefined,
): (row: SceneRecord) => ExportedPicture[] {
  const { values: asked = [], pricing } = batch ?? {};
  const [bucket, idOf] = [bucketOf(db), pictureIds(db)];
  const isValue = new Set(asked.map(({ name }) => name));
  const names = columnNames(batch);
  const named = (copy: string): string => (ending === undefined ? copy : sidecarPath(copy, ending));
  const some = (all: JsonObject, wanted: string[]): JsonObject =>
    Object.fromEntries(wanted.map((name) => [name, Object.hasOwn(all, name) ? (all[name] ?? null) : null]));
  return (row) => {
    const { executionTimeMs, pictures } = row;
    const costOf = ({ width, height }: SavedPicture): number | null => {
      if (pricing === undefined || (pricing.perSecond !== undefined && executionTimeMs === null)) return null;
      const ms = (executionTimeMs ?? 0) / pictures.length;
      return priceOf({ ms, pictures: 1, pixels: width * height }, pricing);
    };
    return pictures.map((picture, index) => {
      const { file, width, height, bytes, sha256, seed = null, output } = picture;
      const all = index === 0 ? row.columns : withValues(row.columns, output, asked);
      return {
        id: idOf(row.id ?? '', index),
        scene: row.id ?? '',
        file: named(file),
        path: (bucket ?? '') + pathOf(picture),
        width,
        height,
        bytes,
        sha256,
        seed,
        prompt: promptOf(row.input ?? {}, row.columns) ?? '',
        endpoint: row.endpoint,
        attempts: row.attempts,
        cost: costOf(picture),
        columns: some(
          all,
          names.filter((name) => !isValue.has(name)),
        ),
        values: some(all, [...isValue]),
        caption: captionOf(row, all),
      };
    });
  };
}

function columnNames(batch: BatchIdentity | undefined): string[] {
  return [...new Set([...resultColumns(batch), ...(batch?.axes ?? [])])];
}

/** Returns the text of a picture: by the template, else the prompt that `list` shows. Throws `ConfigError`. */
function captioner(
  text: string | undefined,
  batch: BatchIdentity | undefined,
): (row: SceneRecord, columns: JsonObject) => string {
  const promptIn = (row: SceneRecord): string => promptOf(row.input ?? {}, row.columns) ?? '';
  if (text === undefined) return promptIn;
  const lacking = Object.fromEntries(columnNames(batch).map((name) => [name, null]));
  const template = captionTemplate(text, ['id', 'prompt', 'seed', ...Object.keys(lacking)]);
  return (row, columns) => {
    const own = { id: row.id, prompt: promptIn(row), seed: row.pictures[0]?.seed ?? null };
    return unlessWrong(() => template.renderText({ ...lacking, ...own, ...columns }), `scene ${row.id}: `);
  };
}

function captionTemplate(text: string, known: string[]): Template {
  const template = unlessWrong(() => compileTemplate(text));
  const problems = template.names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const hint = didYouMean(name, known) ?? `known are ${listed(known)}`;
      return { where: '--caption', text: `there is no column ${JSON.stringify(name)}; ${hint}` };
    });
  if (problems.length > 0) throw new ConfigError(problems);
  return template;
}

function unlessWrong<T>(work: () => T, of = ''): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new ConfigError([{ where: '--caption', text: of + error.message }]);
  }
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

/** Returns the names of columns and values that are numbers in every picture that has them. */
function numericNames(pictures: Iterable<ExportedPicture>): string[] {
  const known = new Map<string, boolean>();
  for (const { columns, values } of pictures)
    for (const [name, value] of Object.entries({ ...columns, ...values }))
      if (value !== null) known.set(name, known.get(name) !== false && typeof value === 'number');
  return [...known].flatMap(([name, isNumeric]) => (isNumeric ? [name] : []));
}
