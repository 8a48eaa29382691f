/**
 * The additions with which a careful user's loop does the same work as the program: ids on disk, every picture decoded,
 * durable files, and thumbnails.
 */
import { mkdirSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { Sqlite } from '../../src/lib/sqlite/database.ts';

/** Size of the gallery's thumbnails in pixels. Smaller pictures have none. */
const thumbnailSide = 320;

sharp.cache(false);

export class CarefulLoop {
  readonly #folder: string;
  readonly #submitted;
  readonly #saved;

  /** `folder` holds the pictures. Ids and thumbnails are beside it. */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync('thumbnails');
    const db = new Sqlite('ids.sqlite');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.exec('CREATE TABLE jobs (name TEXT PRIMARY KEY, job TEXT, saved INTEGER)');
    this.#submitted = db.prepare<[string, string]>('INSERT INTO jobs (name, job) VALUES (?, ?)');
    this.#saved = db.prepare<[string]>('UPDATE jobs SET saved = 1 WHERE name = ?');
  }

  submitted(name: string, job: string): void {
    this.#submitted.run(name, job);
  }

  async keep(name: string, png: Buffer): Promise<void> {
    const thumbnail = await decoded(png);
    await durable(join(this.#folder, `${name}.png`), png);
    if (thumbnail !== undefined)
      await durable(join('thumbnails', `${name}.jpg`), thumbnail, { isSynced: false });
    this.#saved.run(name);
  }
}

/**
 * Decodes a picture and returns its thumbnail. Undefined if the picture is small. Throws if a pixel cannot be decoded.
 */
async function decoded(png: Buffer): Promise<Buffer | undefined> {
  const image = sharp(png, { failOn: 'warning' });
  const { width, height } = await image.metadata();
  if (Math.max(width, height) > thumbnailSide)
    return image.resize(thumbnailSide, thumbnailSide, { fit: 'inside' }).jpeg().toBuffer();
  await image.raw().toBuffer();
  return undefined;
}

async function durable(path: string, bytes: Buffer, { isSynced = true } = {}): Promise<void> {
  const temporary = `${path}.part`;
  const file = await open(temporary, 'w');
  await file.writeFile(bytes);
  if (isSynced) await file.sync();
  await file.close();
  await rename(temporary, path);
}
