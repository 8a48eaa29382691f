/** Input texts that contain files. A scene stores path and checksum; the content is inserted when it is sent. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface SentFile {
  path: string;
  /** Hex checksum of the file's bytes. */
  sha256: string;
  bytes: number;
}

/** The only key of an object that stands for such a text, with its pieces as value. Input may not use it. */
export const fileTextKey = '$file_base64';

type Piece = string | SentFile;

export function fileText(pieces: Piece[]): JsonObject {
  return { [fileTextKey]: pieces as unknown as JsonValue };
}

/** True if a value of the user's could be mistaken for a text that contains files. */
export function looksLikeFileText(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(looksLikeFileText);
  return (
    isJsonObject(value) && (Object.hasOwn(value, fileTextKey) || Object.values(value).some(looksLikeFileText))
  );
}

export function filesIn(value: JsonValue): SentFile[] {
  if (Array.isArray(value)) return value.flatMap(filesIn);
  if (!isJsonObject(value)) return [];
  const pieces = piecesOf(value);
  if (pieces === undefined) return Object.values(value).flatMap(filesIn);
  return pieces.filter((piece) => typeof piece !== 'string');
}

export function base64Bytes({ bytes }: SentFile): number {
  return Math.ceil(bytes / 3) * 4;
}

export function withFiles<Value extends JsonValue>(input: Value, textOf: (file: SentFile) => string): Value {
  return replaced(input, (pieces) =>
    pieces.map((piece) => (typeof piece === 'string' ? piece : textOf(piece))).join(''),
  ) as Value;
}

/** Returns the input without paths, for the fingerprint: a moved file keeps it, an edited file changes it. */
export function withoutPaths(input: JsonObject): JsonObject {
  return replaced(input, (pieces) =>
    fileText(pieces.map((piece) => (typeof piece === 'string' ? piece : { ...piece, path: '' }))),
  ) as JsonObject;
}

/** Returns the value with files described for people: `<photos/a.jpg, 3.1 MB as base64>`. */
export function withFilesNamed(value: JsonValue): JsonValue {
  return withFiles(value, (file) => `<${file.path}, ${formatBytes(base64Bytes(file))} as base64>`);
}

export function formatBytes(bytes: number): string {
  if (bytes < 1e3) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function replaced(value: JsonValue, textOf: (pieces: Piece[]) => JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => replaced(item, textOf));
  if (!isJsonObject(value)) return value;
  const pieces = piecesOf(value);
  if (pieces !== undefined) return textOf(pieces);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner, textOf)]));
}

/** Checked piece by piece, because metadata of foreign pictures may hold anything under this key. */
function piecesOf(value: JsonObject): Piece[] | undefined {
  const pieces: unknown = Object.hasOwn(value, fileTextKey) ? value[fileTextKey] : undefined;
  return Array.isArray(pieces) && pieces.every(isPiece) ? pieces : undefined;
}

function isPiece(piece: unknown): piece is Piece {
  if (typeof piece === 'string') return true;
  if (!isJsonObject(piece)) return false;
  const { path, sha256, bytes } = piece;
  return typeof path === 'string' && typeof sha256 === 'string' && typeof bytes === 'number';
}
