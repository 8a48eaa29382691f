/** A text too long for memory: a file with what stands around it, handed on piece by piece. */
import { type FileHandle, open } from 'node:fs/promises';

/** A text that is read piece by piece; to be closed by whom it is given to. */
export interface OpenText {
  readonly byteCount: number;
  /** Each is read when it is asked for. Throws where it has become shorter. */
  pieces(): AsyncIterable<Buffer>;
  /** Once what is being read has been; as often as one likes. */
  close(): Promise<void>;
}

/** A file that is read to its end, also where it is deleted meanwhile. */
export class OpenFile implements OpenText {
  readonly byteCount: number;
  readonly #handle: FileHandle;

  /** Undefined where there is none. */
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

  constructor(handle: FileHandle, byteCount: number) {
    this.#handle = handle;
    this.byteCount = byteCount;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.byteCount;) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, this.byteCount - at));
      const { bytesRead } = await this.#handle.read(piece, 0, piece.length, at);
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

/** Its parts in their order, some of which stand in files. */
export type FiledText = readonly (Text | OpenText)[];

/** What a reader has not taken yet is in memory: many slow ones have to fit there. */
const pieceBytes = 64 * 1024;

export function isFiled(text: Text | FiledText): text is FiledText {
  return Array.isArray(text);
}

export function byteCountOf(text: Text | FiledText): number {
  if (!isFiled(text)) return Buffer.byteLength(text);
  return text.reduce((sum, part) => sum + (isFile(part) ? part.byteCount : Buffer.byteLength(part)), 0);
}

/** Files are left open. */
export async function* piecesOf(text: FiledText): AsyncGenerator<Text> {
  for (const part of text) {
    if (isFile(part)) yield* part.pieces();
    else yield part;
  }
}

/** All of it in memory; files are closed. */
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
