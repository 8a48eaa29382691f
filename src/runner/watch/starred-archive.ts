/** A ZIP of the starred pictures and clips, made while it is sent: one picture, or a piece of a clip, is in memory at a time. */
import { crc32 } from 'node:zlib';
import type { OpenText } from '../../lib/files/filed-text.ts';
import { nameKey, portablePath, withSuffix } from '../core/naming.ts';
import { withoutFormat } from '../core/picture.ts';
import type { WatchedBatch } from './broadcast.ts';
import type { WatchedPictures } from './watched-pictures.ts';

/** The name of no picture, because it ends differently. */
const missingFile = 'missing-pictures.txt';

export class StarredArchive {
  readonly #batch: Pick<WatchedBatch, 'marks' | 'picturesOf'>;
  readonly #pictures: Pick<WatchedPictures, 'read'>;
  readonly #writtenAt: Date;
  readonly #entries: Entry[] = [];
  readonly #names = new Set<string>();
  #offset = 0;

  constructor(
    batch: Pick<WatchedBatch, 'marks' | 'picturesOf'>,
    pictures: Pick<WatchedPictures, 'read'>,
    writtenAt: Date,
  ) {
    this.#batch = batch;
    this.#pictures = pictures;
    this.#writtenAt = writtenAt;
  }

  /**
   * Yields the archive. Pictures that cannot be sent are named in a text file at its end. An error of a bucket ends the
   * archive early, and so the connection.
   */
  async *pieces(): AsyncGenerator<Buffer> {
    const missing: string[] = [];
    for (const [id, { mark }] of this.#batch.marks()) {
      if (mark !== 'star') continue;
      const files = this.#batch.picturesOf(id);
      if (files.length === 0) missing.push(`${id}: the scene has no saved file now`);
      for (const file of files) {
        const read = await this.#pictures.read(file);
        if ('problem' in read) missing.push(`${id}: ${file}: ${read.problem}`);
        else yield* this.#stored(this.#nameOf(file), read);
      }
    }
    if (missing.length > 0) {
      const text = ['These starred pictures are not in this archive:', '', ...missing, ''].join('\r\n');
      yield* this.#stored(missingFile, Buffer.from(text));
    }
    yield* this.#directory();
  }

  /** Returns the name as in the batch, made unique and safe for every system. */
  #nameOf(file: string): string {
    const stem = withoutFormat(file);
    const safe = portablePath(`${stem}.png`).slice(0, -'.png'.length) + file.slice(stem.length);
    let name = safe;
    for (let number = 2; this.#names.has(nameKey(name)); number++) name = withSuffix(safe, `-${number}`);
    this.#names.add(nameKey(name));
    return name;
  }

  /** Stores the bytes as they are, because compressing a PNG or a clip again saves nothing. Closes a file. */
  async *#stored(name: string, content: Buffer | OpenText): AsyncGenerator<Buffer> {
    try {
      const entry = {
        name: Buffer.from(name),
        // Precedes the bytes, because some programs unpack a ZIP while they receive it. So a file is read twice.
        crc: await checksumOf(content),
        size: Buffer.isBuffer(content) ? content.length : content.byteCount,
        offset: this.#offset,
      };
      const isLong = entry.size >= maxLong;
      const extra = isLong ? longNumbers([entry.size, entry.size]) : Buffer.alloc(0);
      const header = Buffer.alloc(30);
      header.writeUInt32LE(0x04034b50, 0);
      this.#describe(entry, header, 4, isLong ? longVersion : version);
      header.writeUInt16LE(extra.length, 28);
      this.#entries.push(entry);
      yield* this.#counted([header, entry.name, ...(isLong ? [extra] : [])]);
      if (Buffer.isBuffer(content)) yield* this.#counted([content]);
      else for await (const piece of content.pieces()) yield* this.#counted([piece]);
    } finally {
      if (!Buffer.isBuffer(content)) await content.close();
    }
  }

  /** Yields the list of all files, which the archive ends with. */
  *#directory(): Generator<Buffer> {
    const start = this.#offset;
    for (const entry of this.#entries) yield* this.#counted([this.#listed(entry)]);
    const [count, size] = [this.#entries.length, this.#offset - start];
    const end = Buffer.alloc(22);
    if (count >= maxShort || this.#offset >= maxLong) yield* this.#counted(longEnd(count, size, start));
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(Math.min(count, maxShort), 8);
    end.writeUInt16LE(Math.min(count, maxShort), 10);
    end.writeUInt32LE(Math.min(size, maxLong), 12);
    end.writeUInt32LE(Math.min(start, maxLong), 16);
    yield end;
  }

  #listed(entry: Entry): Buffer {
    const { name, size, offset } = entry;
    const long = [...(size >= maxLong ? [size, size] : []), ...(offset >= maxLong ? [offset] : [])];
    const extra = long.length === 0 ? Buffer.alloc(0) : longNumbers(long);
    const header = Buffer.alloc(46);
    header.writeUInt32LE(0x02014b50, 0);
    header.writeUInt16LE(longVersion, 4);
    this.#describe(entry, header, 6, long.length > 0 ? longVersion : version);
    header.writeUInt16LE(extra.length, 30);
    header.writeUInt32LE(Math.min(offset, maxLong), 42);
    return Buffer.concat([header, name, extra]);
  }

  /** Writes what both headers of a file have in common. */
  #describe({ name, crc, size }: Entry, header: Buffer, at: number, needed: number): void {
    const written = this.#writtenAt;
    header.writeUInt16LE(needed, at);
    header.writeUInt16LE(namesAreUtf8, at + 2);
    header.writeUInt16LE(
      (written.getHours() << 11) | (written.getMinutes() << 5) | (written.getSeconds() >> 1),
      at + 6,
    );
    header.writeUInt16LE(
      ((written.getFullYear() - 1980) << 9) | ((written.getMonth() + 1) << 5) | written.getDate(),
      at + 8,
    );
    header.writeUInt32LE(crc, at + 10);
    header.writeUInt32LE(Math.min(size, maxLong), at + 14);
    header.writeUInt32LE(Math.min(size, maxLong), at + 18);
    header.writeUInt16LE(name.length, at + 22);
  }

  *#counted(pieces: Buffer[]): Generator<Buffer> {
    for (const piece of pieces) {
      this.#offset += piece.length;
      yield piece;
    }
  }
}

async function checksumOf(content: Buffer | OpenText): Promise<number> {
  if (Buffer.isBuffer(content)) return crc32(content);
  let sum = 0;
  for await (const piece of content.pieces()) sum = crc32(piece, sum);
  return sum;
}

/** Returns the extra field with numbers that are too large for 32 bits (APPNOTE 4.5.3). */
function longNumbers(numbers: number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * numbers.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * numbers.length, 2);
  for (const [index, number] of numbers.entries()) extra.writeBigUInt64LE(BigInt(number), 4 + 8 * index);
  return extra;
}

interface Entry {
  name: Buffer;
  crc: number;
  size: number;
  offset: number;
}

/** Versions of the format that a reader has to know: 2.0, and 4.5 with 64-bit numbers (APPNOTE 4.4.3). */
const version = 20;
const longVersion = 45;
const namesAreUtf8 = 0x0800;

/** These values say that the number is in a 64-bit field. */
const maxShort = 0xffff;
const maxLong = 0xffffffff;

/** Returns the end of an archive with more than 65,535 files or 4 GB, before the usual one. */
function longEnd(count: number, size: number, start: number): Buffer[] {
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(longVersion, 12);
  record.writeUInt16LE(longVersion, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(size), 40);
  record.writeBigUInt64LE(BigInt(start), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(start + size), 8);
  locator.writeUInt32LE(1, 16);
  return [record, locator];
}
