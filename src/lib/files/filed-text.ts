/** A text too long for memory, made of texts and files, and passed on piece by piece. */
import { type FileHandle, open } from 'node:fs/promises';

/** A text that is read piece by piece. Its receiver has to close it. */
export interface OpenText {
  readonly byteCount: number;
  /** Yields pieces, each read when it is requested. Throws if the file has become shorter. */
  pieces(): AsyncIterable<Buffer>;
  /** Closes the file after the current read. May be called repeatedly. */
  close(): Promise<void>;
}

/** A file that can be read to its end even if it is deleted meanwhile. */
export class OpenFile implements OpenText {
  readonly byteCount: number;
  readonly #handle: FileHandle;
  readonly #start: number;

  /** Returns undefined if there is no such file. */
  static async open(path: string): Promise<OpenFile | undefined> {
    let handle: FileHandle;
    try {
      handle = await open(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      return new OpenFile(handle, (await handle.stat()).size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** `start`: position of the first of the `byteCount` bytes. */
  constructor(handle: FileHandle, byteCount: number, start = 0) {
    this.#handle = handle;
    this.byteCount = byteCount;
    this.#start = start;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.byteCount;) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, this.byteCount - at));
      const { bytesRead } = await this.#handle.read(piece, 0, piece.length, this.#start + at);
      if (bytesRead === 0) throw new Error('the file is shorter than it was');
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

export type Text = string | Buffer;

export type FiledText = readonly (Text | OpenText)[];

/** Small pieces, because unsent pieces of many slow readers have to fit into memory. */
const pieceBytes = 64 * 1024;

export function isFiled(text: Text | FiledText): text is FiledText {
  return Array.isArray(text);
}

export function byteCountOf(text: Text | FiledText): number {
  if (!isFiled(text)) return Buffer.byteLength(text);
  return text.reduce((sum, part) => sum + (isFile(part) ? part.byteCount : Buffer.byteLength(part)), 0);
}

/** Yields the pieces of all parts. Leaves the files open. */
export async function* piecesOf(text: FiledText): AsyncGenerator<Text> {
  for (const part of text) {
    if (isFile(part)) yield* part.pieces();
    else yield part;
  }
}

/** Returns the whole text in memory, and closes its files. */
export async function wholeOf(text: Text | FiledText): Promise<Text> {
  if (!isFiled(text)) return text;
  try {
    const pieces: Buffer[] = [];
    for await (const piece of piecesOf(text)) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces);
  } finally {
    await closeFilesOf(text);
  }
}

export async function closeFilesOf(text: Text | FiledText | undefined): Promise<void> {
  if (text !== undefined && isFiled(text)) await Promise.all(text.filter(isFile).map((file) => file.close()));
}

export function isFile(part: Text | OpenText): part is OpenText {
  return typeof part === 'object' && 'pieces' in part;
}
