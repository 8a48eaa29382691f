/** A scene as the gallery is given it. */
import type { GalleryFile, GalleryPicture, GalleryRow } from '../core/gallery-data.ts';
import { withFilesNamed } from '../core/file-text.ts';
import { type SavedPicture, thumbnailOf, wordListsOf } from '../core/picture.ts';
import { promptOf } from '../core/prompt.ts';
import { byColumn, type RecordGallery } from '../core/record-columns.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { pathOf } from './result-json.ts';

/** Addresses from the page. */
export interface Links {
  file(saved: SavedPicture): string;
  /** Undefined where the picture itself is small. */
  thumbnail(picture: SavedPicture): string | undefined;
  /** Whether files besides pictures can be had there, too. */
  hasFiles: boolean;
}

/** Of the page in the report's folder. */
export const besideReport: Links = {
  file: (saved) => `../${addressOf(pathOf(saved))}`,
  thumbnail: thumbnailOf,
  hasFiles: true,
};

/** Of a server's page: a browser keeps what it has until the content is another. A missing thumbnail is answered with the picture. */
export const fromServer: Links = {
  file: (saved) => `${addressOf(pathOf(saved))}?v=${saved.sha256.slice(0, 16)}`,
  thumbnail: (picture) => {
    const thumbnail = thumbnailOf(picture);
    return thumbnail && `${thumbnail}?of=${encodeURIComponent(picture.file)}`;
  },
  hasFiles: false,
};

/** `columns` are the manifest's, in order. */
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
    // A saved scene has no failure, whatever its earlier attempts.
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
    ...(output && { output: wordListsOf(output) }),
  };
}

function galleryFile(saved: SavedPicture, links: Links): GalleryFile {
  const { label = '', bytes } = saved;
  return { label, file: links.file(saved), bytes, ...(!links.hasFiles && { isNamedOnly: true }) };
}

/** Names may hold anything that file systems take: `#`, `?` and `%` too. */
function addressOf(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Where the text is a column as it stands, its number. */
function shownPrompt(text: string, { columns }: SceneRecord, names: string[]): string | number {
  const column = names.findIndex((name) => columns[name] === text);
  return column === -1 ? short(text) : column;
}

/** What is sent and is neither the prompt nor stands in a column of that name. */
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

/** Characters of one value in the page; results.csv has all of it. */
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
