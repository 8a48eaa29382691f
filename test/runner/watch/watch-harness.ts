/**
 * Starts the server of `nightrender watch` with a batch of real files and with numbers that the test sets.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestOver, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { builtPage } from '../../../src/lib/http/http-response.ts';
import type { ArrivedScene } from '../../../src/runner/core/gallery-data.ts';
import type { BatchReading } from '../../../src/runner/watch/broadcast.ts';
import { MarksFile } from '../../../src/runner/files/marks-file.ts';
import { SignIn } from '../../../src/runner/watch/sign-in.ts';
import { startWatchServer, type WatchAccess } from '../../../src/runner/watch/start-watch-server.ts';

export const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1A\n', 'latin1'), Buffer.alloc(1_000_000, 7)]);
export const webp = Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1');

export const passwords = { owner: 'owner-of-pictures', viewer: 'viewer-of-pictures' };

export interface Watch {
  url: string;
  imagesDir: string;
  thumbnailsDir: string;
  reading: BatchReading;
  /** Number of times that the batch was read. */
  readings: number;
  /** Path of the file with the marks. */
  marks: string;
  /** Files of the pictures of each scene. */
  pictures: Record<string, string[]>;
  /** Reason why marks cannot be saved, if any. */
  problem: string | undefined;
  /** Warnings that the server has emitted. */
  troubles: string[];
}

/**
 * Starts the server. `bucket` holds the objects of the batch's bucket by key; without it, pictures are in a
 * folder.
 */
export async function startWatch(
  bucket?: Record<string, Buffer>,
  readEveryMs?: number,
  access: Partial<WatchAccess> = {},
): Promise<Watch> {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const imagesDir = join(dir, 'images');
  const thumbnailsDir = join(dir, 'report/thumbnails');
  mkdirSync(join(imagesDir, 'day one'), { recursive: true });
  mkdirSync(join(thumbnailsDir, 'ab'), { recursive: true });
  writeFileSync(join(imagesDir, 'day one', 'fox & 100 %.png'), png);
  writeFileSync(join(thumbnailsDir, 'ab', 'cd.webp'), webp);
  // The file contains a valid picture, so only its place can keep it from being served.
  writeFileSync(join(dir, 'checkpoint.sqlite'), png);
  const kept = new MarksFile(dir);
  const watch: Watch = {
    url: '',
    imagesDir,
    thumbnailsDir,
    reading: {
      state: {
        name: 'night/out',
        command: 'nightrender run p.yaml',
        run: { kind: 'none' },
        numbers: null,
      },
      list: null,
      marks: new Map(),
      gallery: null,
    },
    readings: 0,
    marks: kept.path,
    pictures: {},
    problem: undefined,
    troubles: [],
  };
  const server = await startWatchServer({
    batch: {
      imagesDir,
      thumbnailsDir,
      ...(bucket && {
        readElsewhere: async (kind, file) =>
          bucket[`${kind === 'picture' ? 'images' : 'report/thumbnails'}/${file}`] ?? null,
        openElsewhere: async (file) => {
          const bytes = bucket[`images/${file}`];
          if (bytes === undefined) return null;
          return { length: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) };
        },
      }),
      read: async () => {
        watch.readings += 1;
        return { ...watch.reading, marks: kept.read().marks };
      },
      marks: () => kept.read().marks,
      name: 'night/Bilder für Ämter',
      picturesOf: (id) => watch.pictures[id] ?? [],
      setMarks: (changes, by) => {
        if (watch.problem === undefined) kept.change(changes, Date.now(), by);
        return watch.problem;
      },
      rows: (piece) => {
        const { row } = arrived(piece);
        return watch.reading.list?.rows[piece] === undefined ? undefined : [row];
      },
    },
    page: builtPage('gallery', ''),
    access: {
      host: '127.0.0.1',
      names: [],
      tls: undefined,
      signIn: new SignIn(passwords, dir),
      isPrivate: false,
      ...access,
    },
    port: 0,
    onProblem: (text) => watch.troubles.push(text),
    ...(readEveryMs !== undefined && { readEveryMs }),
  });
  onTestFinished(() => server.close());
  watch.url = server.url;
  return watch;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Sends a request. `path` is sent unchanged, without normalization. */
export function ask(
  { url }: Watch,
  path: string,
  options: RequestOptions = {},
  body?: string,
): Promise<Answer> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = requestOver({ host: '127.0.0.1', port, path, ...options }, (response) => {
      const parts: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
    });
    request.on('error', reject).end(body);
  });
}

export function arrived(index: number): ArrivedScene {
  const picture = { file: `images/s${index}.png?v=ab`, width: 64, height: 64, bytes: 1_000 };
  const row = { id: `s${index}`, state: 'saved', pictures: [picture], source: `scenes.csv:${index + 2}` };
  return { picture: index, index, row };
}

/** Returns the files of a ZIP in its order. Throws if a file does not match its checksum. */
export async function unzipped(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await fromBufferPromise(bytes);
  const files = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry()) {
    const parts: Buffer[] = [];
    for await (const part of await zip.openReadStreamPromise(entry)) parts.push(part as Buffer);
    const content = Buffer.concat(parts);
    if (crc32(content) !== entry.crc32) throw new Error(`${entry.fileName}: wrong checksum`);
    files.set(entry.fileName, content);
  }
  return files;
}
