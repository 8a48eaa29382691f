/** Values of an input that contain files. A scene stores path and checksum; the content is read when it is sent. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface SentFile {
  path: string;
  /** Hex checksum of the file's bytes. */
  sha256: string;
  bytes: number;
}

/** The filters of a template that send a file: within a text, or uploaded before the job. */
const fileFilters = ['file_base64', 'upload'] as const;

export type FileFilter = (typeof fileFilters)[number];

type Piece = string | SentFile;

/** Returns the object that stands for a value with files. Its only key is reserved; an uploaded file has no other pieces. */
export function fileText(pieces: Piece[], filter: FileFilter = 'file_base64'): JsonObject {
  return { [`$${filter}`]: pieces as unknown as JsonValue };
}

/**
 * Returns the reserved key of a value of the user's that could be mistaken for one with files; undefined if none.
 * Services without uploads may have an input named `$upload`.
 */
export function reservedKeyIn(value: JsonValue, canUpload: boolean): string | undefined {
  if (Array.isArray(value)) return firstKeyIn(value, canUpload);
  if (!isJsonObject(value)) return undefined;
  const reserved = fileFilters.find(
    (filter) => Object.hasOwn(value, `$${filter}`) && (canUpload || filter !== 'upload'),
  );
  return reserved === undefined ? firstKeyIn(Object.values(value), canUpload) : `$${reserved}`;
}

function firstKeyIn(values: JsonValue[], canUpload: boolean): string | undefined {
  for (const value of values) {
    const key = reservedKeyIn(value, canUpload);
    if (key !== undefined) return key;
  }
  return undefined;
}

/** Returns the files of a value; those of one filter if it is given. */
export function filesIn(value: JsonValue, filter?: FileFilter): SentFile[] {
  if (Array.isArray(value)) return value.flatMap((item) => filesIn(item, filter));
  if (!isJsonObject(value)) return [];
  const found = filePiecesIn(value);
  if (found === undefined) return Object.values(value).flatMap((inner) => filesIn(inner, filter));
  const isMeant = filter === undefined || filter === found.filter;
  return isMeant ? found.pieces.filter((piece) => typeof piece !== 'string') : [];
}

/** Returns how many bytes a file takes when it is sent by this filter. */
export function bytesSent({ bytes }: Pick<SentFile, 'bytes'>, filter: FileFilter): number {
  return filter === 'upload' ? bytes : Math.ceil(bytes / 3) * 4;
}

/** Returns the input with the files of one filter replaced by texts. */
export function withFiles<Value extends JsonValue>(
  input: Value,
  textOf: (file: SentFile) => string,
  filter: FileFilter = 'file_base64',
): Value {
  return replaced(input, (found) =>
    found.filter === filter
      ? found.pieces.map((piece) => (typeof piece === 'string' ? piece : textOf(piece))).join('')
      : fileText(found.pieces, found.filter),
  ) as Value;
}

/** Returns the input without paths, for the fingerprint: a moved file keeps it, an edited file changes it. */
export function withoutPaths(input: JsonObject): JsonObject {
  return replaced(input, ({ pieces, filter }) =>
    fileText(
      pieces.map((piece) => (typeof piece === 'string' ? piece : { ...piece, path: '' })),
      filter,
    ),
  ) as JsonObject;
}

/** Returns the value with files described for people: `<photos/a.jpg, 3.1 MB as base64>`. */
export function withFilesNamed(value: JsonValue): JsonValue {
  return fileFilters.reduce(
    (named, filter) =>
      withFiles(named, (file) => `<${file.path}, ${shownBytes(bytesSent(file, filter), filter)}>`, filter),
    value,
  );
}

/** Returns the size of files in words, as they are sent by this filter: `3.1 MB as base64`. */
export function shownBytes(bytes: number, filter: FileFilter): string {
  return filter === 'upload' ? formatBytes(bytes) : `${formatBytes(bytes)} as base64`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1e3) return `${bytes} bytes`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

interface FilePieces {
  filter: FileFilter;
  pieces: Piece[];
}

function replaced(value: JsonValue, textOf: (found: FilePieces) => JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => replaced(item, textOf));
  if (!isJsonObject(value)) return value;
  const found = filePiecesIn(value);
  if (found !== undefined) return textOf(found);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner, textOf)]));
}

/**
 * Returns the pieces if this is a value with files, otherwise undefined. Checks each piece, because inputs and the metadata
 * of foreign pictures may hold anything under these keys.
 */
function filePiecesIn(value: JsonObject): FilePieces | undefined {
  const filter = fileFilters.find((each) => Object.hasOwn(value, `$${each}`));
  const pieces: unknown = filter && value[`$${filter}`];
  if (filter === undefined || !Array.isArray(pieces) || Object.keys(value).length > 1) return undefined;
  const hasFile = pieces.some((piece) => typeof piece !== 'string');
  return hasFile && pieces.every(isPiece) ? { filter, pieces } : undefined;
}

function isPiece(piece: unknown): piece is Piece {
  if (typeof piece === 'string') return true;
  if (!isJsonObject(piece)) return false;
  const { path, sha256, bytes } = piece;
  return typeof path === 'string' && typeof sha256 === 'string' && typeof bytes === 'number';
}
