/** Promise: every program can open the ZIP of starred pictures, whatever their names, number and size. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { fromBufferPromise, fromRandomAccessReaderPromise, RandomAccessReader, type Entry } from 'yauzl';
import type { OpenText } from '../../../src/lib/files/filed-text.ts';
import type { Mark } from '../../../src/runner/core/gallery-data.ts';
import { StarredArchive } from '../../../src/runner/watch/starred-archive.ts';
import { firstTier, rest } from '../../fakes/tier.ts';
import { unzipped } from './watch-harness.ts';

type Read = (file: string) => Promise<Buffer | OpenText | { problem: string }>;

const star: Mark = 'star';
const writtenAt = new Date(2026, 10, 29, 23, 59, 58);

/** Returns the archive of these scenes, each with its files. */
function archiveOf(scenes: Record<string, string[]>, read: Read): StarredArchive {
  const marks = new Map(Object.keys(scenes).map((id, line) => [id, { mark: star, at: 0, line }] as const));
  const batch = { marks: () => marks, picturesOf: (id: string) => scenes[id] ?? [] };
  return new StarredArchive(batch, { read }, writtenAt);
}

async function bytesOf(archive: StarredArchive): Promise<Buffer> {
  return Buffer.concat(await Readable.from(archive.pieces()).toArray());
}

const named: Read = async (file) => Buffer.from(`bytes of ${file}`);

firstTier.it(
  'the archive keeps names as in the batch, and makes others safe for Windows and unique',
  async () => {
    const files = ['a/b.png', 'größe 🦊.webp', 'A/B.png', 'con.png', 'a:b.png', 'a-b.png', '../../up.png'];
    const bytes = await bytesOf(archiveOf({ s1: files.slice(0, 3), s2: files.slice(3) }, named));
    const archive = await unzipped(bytes);
    expect([...archive.keys()]).toEqual([
      'a/b.png',
      'größe 🦊.webp',
      'A/B-2.png',
      '_con.png',
      'a-b.png',
      'a-b-2.png',
      'unnamed/unnamed/up.png',
    ]);
    expect([...archive.values()].map(String)).toEqual(files.map((file) => `bytes of ${file}`));
  },
);

firstTier.it(
  'the archive reads a picture when those before it have been taken, and says at the end which are missing',
  async () => {
    const asked: string[] = [];
    const read: Read = async (file) => {
      asked.push(file);
      return file === 's1.png' ? { problem: 'the file is gone' } : Buffer.alloc(10);
    };
    const pieces = archiveOf({ s0: ['s0.png'], s1: ['s1.png'], s2: ['s2.png'] }, read).pieces();
    for (let piece = 0; piece < 3; piece++) await pieces.next();
    expect(asked).toEqual(['s0.png']);
    await pieces.next();
    expect(asked).toEqual(['s0.png', 's1.png', 's2.png']);
    const archive = await unzipped(await bytesOf(archiveOf({ s1: ['s1.png'] }, read)));
    expect([...archive].map(([name, text]) => [name, text.toString()])).toEqual([
      [
        'missing-pictures.txt',
        'These starred pictures are not in this archive:\r\n\r\ns1: s1.png: the file is gone\r\n',
      ],
    ]);
  },
);

/** A clip of `count` chunks of 1 MB, all the same buffer. It records that it was closed. */
class Pieces implements OpenText {
  readonly byteCount: number;
  readonly #piece = Buffer.alloc(1_000_000, 7);
  readonly #count: number;
  isClosed = false;

  constructor(count: number) {
    this.#count = count;
    this.byteCount = count * this.#piece.length;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for (let piece = 0; piece < this.#count; piece++) yield this.#piece;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

firstTier.it(
  'the archive passes on a clip piece by piece, and closes it, also if the reader leaves',
  async () => {
    const clip = new Pieces(3);
    const archive = archiveOf({ s1: ['s1.mp4', 's2.png'] }, async (file) =>
      file === 's1.mp4' ? clip : Buffer.from('png'),
    );
    let largest = 0;
    const parts: Buffer[] = [];
    for await (const piece of archive.pieces()) {
      largest = Math.max(largest, piece.length);
      parts.push(piece);
    }
    expect([largest, clip.isClosed]).toEqual([1_000_000, true]);
    const files = await unzipped(Buffer.concat(parts));
    expect([...files].map(([name, { length }]) => [name, length])).toEqual([
      ['s1.mp4', 3_000_000],
      ['s2.png', 3],
    ]);
    const left = new Pieces(3);
    const pieces = archiveOf({ s1: ['s1.mp4'] }, async () => left).pieces();
    await pieces.next();
    await pieces.return(undefined);
    expect(left.isClosed).toBe(true);
  },
);

rest.it(
  'the archive has more than 65,535 files, and unzip finds nothing wrong (skipped if there is no unzip)',
  async () => {
    const files = Array.from({ length: 65_600 }, (_, n) => `day ${n % 7}/s${n}.png`);
    const bytes = await bytesOf(archiveOf({ s1: files }, named));
    const names: string[] = [];
    for await (const { fileName } of (await fromBufferPromise(bytes)).eachEntry()) names.push(fileName);
    expect(names).toEqual(files);
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-zip-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const path = join(dir, 'starred.zip');
    writeFileSync(path, bytes);
    const other = spawnSync('unzip', ['-tqq', path]);
    if (other.error === undefined)
      expect([other.status, String(other.stdout), String(other.stderr)]).toEqual([0, '', '']);
  },
);

/** Chunks of a ZIP that is too large for memory. Most chunks are the same buffer. */
class Parts extends RandomAccessReader {
  readonly parts: { start: number; bytes: Buffer }[] = [];
  length = 0;

  add(bytes: Buffer): void {
    this.parts.push({ start: this.length, bytes });
    this.length += bytes.length;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const within = this.parts.flatMap(({ start: from, bytes }) => {
      const part = bytes.subarray(Math.max(0, start - from), Math.max(0, end - from));
      return part.length === 0 ? [] : [part];
    });
    return Readable.from(within);
  }
}

rest.it('the archive has a clip of more than 4 GB, and files behind it', async () => {
  const read: Read = async (file) => (file === 'long.mp4' ? new Pieces(4_300) : Buffer.from('the last'));
  const parts = new Parts();
  for await (const piece of archiveOf({ s1: ['long.mp4', 'last.png'] }, read).pieces()) parts.add(piece);
  const zip = await fromRandomAccessReaderPromise(parts, parts.length, { autoClose: false });
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) entries.push(entry);
  expect(entries.map(({ fileName, uncompressedSize }) => [fileName, uncompressedSize])).toEqual([
    ['long.mp4', 4_300_000_000],
    ['last.png', 8],
  ]);
  const last = entries[1];
  if (last === undefined) throw new Error('no entry');
  const content = await (await zip.openReadStreamPromise(last)).toArray();
  expect(Buffer.concat(content as Buffer[]).toString()).toBe('the last');
});

rest.it('the archive is longer than 4 GB', async () => {
  const picture = Buffer.alloc(64 * 1024 * 1024, 7);
  const last = Buffer.from('the last');
  const files = [...Array.from({ length: 65 }, (_, n) => `s${n}.png`), 'last.png'];
  const read: Read = async (file) => (file === 'last.png' ? last : picture);
  const parts = new Parts();
  for await (const piece of archiveOf({ s1: files }, read).pieces()) parts.add(piece);
  expect(parts.length).toBeGreaterThan(2 ** 32);
  const zip = await fromRandomAccessReaderPromise(parts, parts.length, { autoClose: false });
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) entries.push(entry);
  expect(entries.map(({ fileName }) => fileName)).toEqual(files);
  const [entry] = entries.slice(-1);
  if (entry === undefined) throw new Error('no entry');
  expect(entry.relativeOffsetOfLocalHeader).toBeGreaterThan(2 ** 32);
  expect(entry.getLastModDate()).toEqual(writtenAt);
  const content = await (await zip.openReadStreamPromise(entry)).toArray();
  expect(Buffer.concat(content as Buffer[]).toString()).toBe('the last');
});
