/** Converts a scene into the row that the gallery shows, and counts the choices for its filters. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { numberOf } from '../core/condition.ts';
import { withFilesNamed } from '../core/file-text.ts';
import type {
  GalleryColumn,
  GalleryFile,
  GalleryPicture,
  GalleryRange,
  GalleryRow,
} from '../core/gallery-data.ts';
import { promptOf } from '../core/naming.ts';
import { isClipFile, type SavedPicture, thumbnailOf, wordListsOf } from '../core/picture.ts';
import { byColumn, type RecordGallery } from '../core/record-columns.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { pathInOutput } from './result-columns.ts';

/** Makes the URLs of files, relative to the gallery page. */
interface Links {
  file(saved: SavedPicture): string;
  /** Returns undefined if the picture itself is small, or if a clip has no poster. */
  thumbnail(picture: SavedPicture): string | undefined;
  /** True if files other than pictures can also be opened. */
  hasFiles: boolean;
}

/** Makes URLs for report/index.html. The pictures are in the folder beside `reportDir`. */
export function besideReport(reportDir: string): Links {
  return {
    file: (saved) => `../${addressOf(pathInOutput(saved))}`,
    thumbnail: (picture) => shownThumbnail(picture, reportDir),
    hasFiles: true,
  };
}

/** Makes URLs for the page of `nightrender watch`. The server replaces a missing thumbnail by the picture. */
export function fromServer(reportDir: string): Links {
  return {
    file: (saved) => `${addressOf(pathInOutput(saved))}?v=${saved.sha256.slice(0, 16)}`,
    thumbnail: (picture) => {
      const thumbnail = shownThumbnail(picture, reportDir);
      return thumbnail && `${thumbnail}?of=${encodeURIComponent(picture.file)}`;
    },
    hasFiles: false,
  };
}

/** Returns the thumbnail of a picture, or the poster of a clip if there is one: only some machines can make posters. */
function shownThumbnail(picture: SavedPicture, reportDir: string): string | undefined {
  const thumbnail = thumbnailOf(picture);
  const isMissing =
    thumbnail !== undefined && isClipFile(picture.file) && !existsSync(join(reportDir, thumbnail));
  return isMissing ? undefined : thumbnail;
}

export function galleryRow(row: SceneRecord, columns: string[], links: Links): GalleryRow {
  const values = columns.map((name) => shortened(row.columns[name] ?? null));
  const prompt = promptOf(row.input ?? {}, row.columns);
  const input = remainingInput(row, prompt);
  const { failureKind, failureText } = row;
  return {
    ...(row.id !== null && { id: row.id }),
    state: row.state,
    ...(prompt !== undefined && { prompt: shownPrompt(prompt, row, columns) }),
    ...(row.pictures.length > 0 && {
      pictures: row.pictures.map((picture) => galleryPicture(picture, links)),
    }),
    ...(row.files.length > 0 && { files: row.files.map((file) => galleryFile(file, links)) }),
    ...(values.some((value) => value !== null) && { values }),
    ...(Object.keys(input).length > 0 && { input }),
    ...knownValues(row),
    // A saved scene has no failure, whatever happened to its earlier attempts.
    ...(failureKind !== null && row.state !== 'saved' && { failure: [failureKind, failureText ?? ''] }),
    source: row.source,
  };
}

function galleryPicture(picture: SavedPicture, links: Links): GalleryPicture {
  const { width, height, bytes, seed, output } = picture;
  const thumbnail = links.thumbnail(picture);
  return {
    file: links.file(picture),
    ...(thumbnail !== undefined && { thumbnail }),
    width,
    height,
    bytes,
    ...(seed !== undefined && { seed }),
    ...(output && { output: { ...wordListsOf(output), ...(output.clip && { clip: output.clip }) } }),
  };
}

function galleryFile(saved: SavedPicture, links: Links): GalleryFile {
  const { label = '', bytes } = saved;
  return { label, file: links.file(saved), bytes, ...(!links.hasFiles && { isNamedOnly: true }) };
}

/** Encodes each part, because names may contain `#`, `?` and `%`. */
function addressOf(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Returns the index of the column with the same text, or the text itself. */
function shownPrompt(text: string, { columns }: SceneRecord, names: string[]): string | number {
  const column = names.findIndex((name) => columns[name] === text);
  return column === -1 ? short(text) : column;
}

/** Returns input values that are neither the prompt nor equal to the column of the same name. */
function remainingInput({ input, columns }: SceneRecord, prompt: string | undefined): JsonObject {
  const entries = Object.entries(input ?? {}).filter(
    ([name, value]) => value !== columns[name] && value !== prompt,
  );
  return Object.fromEntries(entries.map(([name, value]) => [name, shortened(withFilesNamed(value))]));
}

function knownValues(record: SceneRecord): RecordGallery {
  const values = Object.entries(byColumn('gallery', (key) => record[key]));
  return Object.fromEntries(values.filter(([, value]) => value !== null && value !== 0));
}

/** Maximum length of a value in the page, in characters. results.csv contains the whole value. */
const maxTextLength = 20_000;

function short(text: string): string {
  if (text.length <= maxTextLength) return text;
  return `${text.slice(0, maxTextLength)} … (${(text.length - maxTextLength).toLocaleString('en')} more characters)`;
}

function shortened(value: JsonValue): JsonValue {
  if (typeof value === 'string') return short(value);
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  return text.length <= maxTextLength ? value : short(text);
}

const maxChoices = 50;

/** Maximum length in characters. Longer values are texts and not names. */
const maxChoiceLength = 80;

/** Maximum number of columns whose values are counted, because the page contains all of them. */
const maxColumns = 100;

interface CountedColumn {
  name: string;
  isValue: boolean;
  /** Number of rows of the first values. Null if values are not counted. */
  choices: Map<string, number> | null;
  /** True if there are too many values, or too long ones, to choose from. */
  isLong: boolean;
  /** Null once the column had a value that is not a number. */
  numbers: NumberBins | null;
}

/** Counts the choices for filters of the gallery in each column: a few values, or a range of numbers. */
export class ColumnCounts {
  readonly #columns: CountedColumn[];

  constructor(columns: string[], values: string[]) {
    this.#columns = columns.map((name, index) => {
      const isCounted = index < maxColumns && name !== 'id';
      // Seeds are searched for exactly, so a range of them is useless.
      const isAmount = isCounted && name !== 'seed';
      return {
        name,
        isValue: values.includes(name),
        choices: isCounted ? new Map<string, number>() : null,
        isLong: !isCounted,
        numbers: isAmount ? new NumberBins() : null,
      };
    });
  }

  add(columns: JsonObject): void {
    for (const column of this.#columns) {
      const value = columns[column.name];
      const text = choiceOf(value);
      if (text === undefined) continue;
      const number = numberOf(value);
      if (number !== undefined && Number.isFinite(number)) column.numbers?.add(number);
      else column.numbers = null;
      if (column.choices === null) continue;
      const count = column.choices.get(text) ?? 0;
      const isBeyond = count === 0 && column.choices.size >= maxChoices;
      if (isBeyond || text.length > maxChoiceLength) column.isLong = true;
      if (!isBeyond) column.choices.set(text, count + 1);
    }
  }

  /** Returns the columns. Numbers are sorted; texts stay in the order of the manifest, such as dawn, noon, dusk. */
  result(): GalleryColumn[] {
    return this.#columns.map(({ name, choices, isLong, isValue, numbers }) => {
      const range = isValue || isLong ? numbers?.result() : undefined;
      const counts = [...(choices ?? [])];
      return {
        name,
        choices: isLong || range ? null : inOrder(counts),
        ...(counts.some(([, rows]) => rows > 1) && { isShared: true }),
        ...(isValue && { isValue }),
        ...(range && { range }),
      };
    });
  }
}

function inOrder(choices: [text: string, rows: number][]): [text: string, rows: number][] {
  const isNumeric = choices.every(([text]) => numberOf(text) !== undefined);
  return isNumeric ? choices.toSorted(([a], [b]) => Number(a) - Number(b)) : choices;
}

/** Returns the text of a value, exactly as the page derives it. Undefined if the row has no value. */
function choiceOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const maxBins = 48;

/** Finer than any useful resolution, and still exact. */
const leastExponent = -60;

/** Histogram of numbers with few bins, whose range need not be known in advance. */
export class NumberBins {
  #least = Infinity;
  #most = -Infinity;
  /** The width is a power of two, so two bins merge into one of twice the width. */
  #exponent = leastExponent;
  #bins = new Map<number, number>();

  add(value: number): void {
    this.#least = Math.min(this.#least, value);
    this.#most = Math.max(this.#most, value);
    while (this.#isTooFine()) this.#double();
    this.#count(this.#binOf(value), 1);
  }

  /** Undefined if there were no numbers. */
  result(): GalleryRange | undefined {
    if (this.#bins.size === 0) return undefined;
    const [least, most, width] = [this.#least, this.#most, 2 ** this.#exponent];
    const first = this.#binOf(least);
    const length = this.#binOf(most) - first + 1;
    const bins = Array.from({ length }, (_, index) => this.#bins.get(first + index) ?? 0);
    return { least, most, from: first * width, width, bins };
  }

  #isTooFine(): boolean {
    const [first, last] = [this.#binOf(this.#least), this.#binOf(this.#most)];
    const areCountable = Number.isSafeInteger(first) && Number.isSafeInteger(last);
    return !areCountable || last - first >= maxBins;
  }

  #double(): void {
    const before = this.#bins;
    this.#exponent += 1;
    this.#bins = new Map();
    for (const [bin, count] of before) this.#count(Math.floor(bin / 2), count);
  }

  #binOf(value: number): number {
    return Math.floor(value / 2 ** this.#exponent);
  }

  #count(bin: number, count: number): void {
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + count);
  }
}
