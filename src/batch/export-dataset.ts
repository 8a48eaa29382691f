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
import {
  compileName,
  compileTemplate,
  listed,
  type Template,
  TemplateError,
} from '../runner/config/template.ts';
import { withValues } from '../runner/core/seeds-until.ts';
import type { Album } from '../runner/core/gallery-data.ts';
import {
  copyEnding,
  type PictureCopy,
  type SavedPicture,
  sidecarPath,
  withoutFormat,
} from '../runner/core/picture.ts';
import { nameKey, promptOf, withSuffix } from '../runner/core/naming.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { hasPrice, priceOf } from '../runner/core/spending.ts';
import { ExportFolder, exportKinds, OtherFolder, type ExportKind } from '../runner/export/export-folder.ts';
import { exportPictures, type NumericColumn } from '../runner/export/export-pictures.ts';
import type { ExportedPicture, ExportPorts } from '../runner/export/picture-folder.ts';
import { thumbnailFor } from '../runner/images/missing-files.ts';
import { withoutProvenance } from '../runner/images/sidecars.ts';
import { readIfReadable, UnreadableFile, type Place } from '../runner/images/place.ts';
import { pathInOutput } from '../runner/report/result-columns.ts';
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
  /** Template for the names of the exported files. Undefined for those of the pictures. */
  name: string | undefined;
  /** True if Parquet contains the pictures. */
  isEmbedded: boolean;
  /** Copy that is exported instead of the picture. */
  copy: PictureCopy | undefined;
  /** True if pictures of a gallery keep texts about their making, and the page shows prompts. */
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
  const bare = isEmbedded || !isOf('parquet') ? undefined : 'parquet has no pictures in it without --embed';
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

async function exportInto(
  folder: ExportFolder,
  scenes: ExportedScenes,
  { db, images, reportDir }: Pictures,
  { dir, to, copy, shard, isEmbedded, isLinked, caption, isWithMetadata }: ExportChoices,
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
  // The JSON columns of Parquet have every column of the list under its name.
  const pictures =
    to === 'parquet' ? scenes.all(onMissing, onNote) : without(repeated, scenes.all(onMissing, onNote));
  await exportPictures(folder, to, pictures, ports, { shard, salt, numeric, isEmbedded });
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

/** Pictures in the order of the list. */
interface ExportedScenes {
  /** Names of the columns and values. */
  columns: string[];
  saved(): Iterable<ExportedPicture>;
  /** Returns the same pictures, with a note about excluded ones. Calls `onMissing` for scenes without a picture. */
  all(onMissing: (row: SceneRecord) => void, onNote: (text: string) => void): Iterable<ExportedPicture>;
}

/** Reads the chosen pictures. Throws `ConfigError`; the iterables throw the reason of `signal`. */
function exportedScenes(
  db: Database,
  { copy, caption, name, ...rows }: ExportChoices,
  signal: AbortSignal | undefined,
): ExportedScenes {
  const batch = readBatch(db);
  const chosen = chosenRows(rows, db);
  const texts = { captionOf: captioner(caption, batch), nameOf: namer(name, batch) };
  const toPictures = pictureReader(db, batch, texts, copy && copyEnding(copy));
  const silent = (): void => undefined;
  return {
    columns: columnNames(batch),
    *saved() {
      for (const row of chosen(readRecords(db, { states: ['saved'] }), silent)) yield* toPictures(row);
    },
    *all(onMissing, onNote) {
      const free = name === undefined ? (wanted: string): string => wanted : uniqueNames();
      for (const row of chosen(readRecords(db), onNote)) {
        signal?.throwIfAborted();
        if (row.state === 'saved' && row.pictures.length > 0)
          for (const each of toPictures(row)) yield { ...each, name: free(each.name) };
        else onMissing(row);
      }
    },
  };
}

/** Returns a function that makes names unique, also if case is ignored: the second `a.png` becomes `a-2.png`. */
function uniqueNames(): (wanted: string) => string {
  const taken = new Map<string, number>();
  return (wanted) => {
    let name = wanted;
    let count = taken.get(nameKey(wanted)) ?? 0;
    while (taken.has(nameKey(name))) {
      count += 1;
      name = withSuffix(wanted, `-${count}`);
    }
    taken.set(nameKey(name), 1);
    // Many pictures may share one name, so the next search begins where this one ended.
    if (name !== wanted) taken.set(nameKey(wanted), count);
    return name;
  };
}

interface PictureTexts {
  captionOf: (row: SceneRecord, columns: JsonObject) => string;
  nameOf: (row: SceneRecord, columns: JsonObject, index: number, file: string) => string;
}

/** Returns a function that lists a scene's pictures. `ending` is that of the copy which replaces each picture. */
function pictureReader(
  db: Database,
  batch: BatchIdentity | undefined,
  { captionOf, nameOf }: PictureTexts,
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
    const { executionTimeMs, statedCost, pictures } = row;
    const costOf = ({ width, height }: SavedPicture): number | null => {
      if (statedCost !== null) return statedCost / pictures.length;
      const isRated = pricing !== undefined && hasPrice({ ...pricing, at: undefined });
      if (!isRated || (pricing.perSecond !== undefined && executionTimeMs === null)) return null;
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
        name: nameOf(row, all, index, named(file)),
        path: (bucket ?? '') + pathInOutput(picture),
        width,
        height,
        bytes,
        sha256,
        seed,
        prompt: promptIn(row),
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

function promptIn(row: SceneRecord): string {
  return promptOf(row.input ?? {}, row.columns) ?? '';
}

/** Returns the text of a picture: by the template, else the prompt that `list` shows. Throws `ConfigError`. */
function captioner(text: string | undefined, batch: BatchIdentity | undefined): PictureTexts['captionOf'] {
  if (text === undefined) return promptIn;
  const lacking = Object.fromEntries(columnNames(batch).map((name) => [name, null]));
  const template = textTemplate('--caption', text, ['id', 'prompt', 'seed', ...Object.keys(lacking)]);
  return (row, columns) => {
    const own = { id: row.id, prompt: promptIn(row), seed: row.pictures[0]?.seed ?? null };
    return renderFor(row, '--caption', template, { ...lacking, ...own, ...columns });
  };
}

/** Returns the name of an exported file: by the template, with the ending of the file. Throws `ConfigError`. */
function namer(text: string | undefined, batch: BatchIdentity | undefined): PictureTexts['nameOf'] {
  if (text === undefined) return (_row, _columns, _index, file) => file;
  const lacking = Object.fromEntries(columnNames(batch).map((name) => [name, null]));
  const known = ['id', 'prompt', 'seed', 'index', ...Object.keys(lacking)];
  const template = textTemplate('--name', text, known);
  return (row, columns, index, file) => {
    const seed = row.pictures[index]?.seed ?? columns['seed'] ?? '';
    const own = { id: row.id, seed, index: index + 1 };
    const values = { ...lacking, prompt: promptIn(row), ...columns, ...own };
    const path = withoutFormat(renderFor(row, '--name', template, values));
    // A folder never has a name that a file of the export may have.
    return (
      path.replaceAll(/\.(?=(?:png|jpg|webp|avif|txt|jsonl)\/)/gi, '-') + (/\.\w+$/.exec(file)?.[0] ?? '')
    );
  };
}

type TextOption = '--caption' | '--name';

function textTemplate(option: TextOption, text: string, known: string[]): Template {
  const template = unlessWrong(option, () => (option === '--name' ? compileName : compileTemplate)(text));
  const problems = template.names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const hint = didYouMean(name, known) ?? `known are ${listed(known)}`;
      return { where: option, text: `there is no column ${JSON.stringify(name)}; ${hint}` };
    });
  if (problems.length > 0) throw new ConfigError(problems);
  return template;
}

function renderFor(row: SceneRecord, option: TextOption, template: Template, values: JsonObject): string {
  return unlessWrong(option, () => template.renderText(values), `scene ${row.id}: `);
}

function unlessWrong<T>(where: TextOption, work: () => T, of = ''): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new ConfigError([{ where, text: of + error.message }]);
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
