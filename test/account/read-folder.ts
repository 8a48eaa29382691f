/**
 * Reads the folder of a batch without changing it: the books from a copy of the checkpoint, and every file among the
 * pictures. No run may be active.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Database, Sqlite } from '../../src/lib/sqlite/database.ts';
import type { PictureSeen } from './account.ts';
import { readBooks, type Books, type SceneKey } from './books.ts';

export interface Folder {
  /** Undefined if no readable checkpoint exists. */
  books: Books | undefined;
  /** Files by path in the folder of pictures. */
  pictures: Map<string, PictureSeen>;
  /** Attempts for which an answer of the service is kept. */
  keptAnswers: Set<number>;
}

const parts = ['', '-wal'];

/**
 * Reads a folder. `madeOf` returns the part of a file that only its job makes. Default: the SHA-256 of the whole file.
 */
export function readFolder(out: string, key: SceneKey, madeOf: (bytes: Buffer) => string = sha256): Folder {
  return { books: booksIn(out, key), pictures: picturesIn(out, madeOf), keptAnswers: keptIn(out) };
}

function booksIn(out: string, key: SceneKey): Books | undefined {
  const copy = `${out}.read.sqlite`;
  for (const part of parts)
    if (existsSync(join(out, `checkpoint.sqlite${part}`)))
      copyFileSync(join(out, `checkpoint.sqlite${part}`), copy + part);
  let db: Database | undefined;
  try {
    // A connection that can write would write the log into the copy when it closes.
    db = new Sqlite(copy, { readonly: true, fileMustExist: true });
    return readBooks(db, key);
  } catch (error) {
    if (error instanceof Sqlite.SqliteError) return undefined;
    throw error;
  } finally {
    db?.close();
    for (const part of [...parts, '-shm']) if (existsSync(copy + part)) unlinkSync(copy + part);
  }
}

function picturesIn(out: string, madeOf: (bytes: Buffer) => string): Map<string, PictureSeen> {
  const images = join(out, 'images');
  if (!existsSync(images) || !statSync(images).isDirectory()) return new Map();
  const paths = readdirSync(images, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((path) => join(images, path))
    .filter((path) => statSync(path).isFile());
  return new Map(
    paths.map((path) => {
      const bytes = readFileSync(path);
      return [relative(images, path), { made: madeOf(bytes), sha256: sha256(bytes), bytes: bytes.length }];
    }),
  );
}

function keptIn(out: string): Set<number> {
  const folder = join(out, 'kept-answers');
  return new Set(existsSync(folder) ? readdirSync(folder).map((name) => Number.parseInt(name)) : []);
}

export function sha256(what: Buffer | string): string {
  return createHash('sha256').update(what).digest('hex');
}
