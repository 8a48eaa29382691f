/** Converts a scene into the row that the gallery shows. */
import type { GalleryFile, GalleryPicture, GalleryRow } from '../core/gallery-data.ts';
import { withFilesNamed } from '../core/file-text.ts';
import { type SavedPicture, thumbnailOf, wordListsOf } from '../core/picture.ts';
import { promptOf } from '../core/prompt.ts';
import { byColumn, type RecordGallery } from '../core/record-columns.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { pathOf } from './result-json.ts';

/** Makes the URLs of files, relative to the page. */
export interface Links {
  file(saved: SavedPicture): string;
  /** Returns undefined if the picture itself is small. */
  thumbnail(picture: SavedPicture): string | undefined;
  /** True if files other than pictures can also be opened. */
  hasFiles: boolean;
}

/** URLs for the page in the report's folder. */
export const besideReport: Links = {
  file: (saved) => `../${addressOf(pathOf(saved))}`,
  thumbnail: thumbnailOf,
  hasFiles: true,
};

/**
 * URLs for a server's page. Browsers cache a picture until its content changes. The server replaces a missing
 * thumbnail by the picture.
 */
export const fromServer: Links = {
  file: (saved) => `${addressOf(pathOf(saved))}?v=${saved.sha256.slice(0, 16)}`,
  thumbnail: (picture) => {
    const thumbnail = thumbnailOf(picture);
    return thumbnail && `${thumbnail}?of=${encodeURIComponent(picture.file)}`;
  },
  hasFiles: false,
};

/** `columns` are the manifest's columns, in order. */
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
    ...(output && { output: wordListsOf(output) }),
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
