/** The contact sheets of a batch: every saved picture of its manifest, in its order. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readRows } from '../runner/checkpoint/read-rows.ts';
import type { SavedPicture } from '../runner/core/picture.ts';
import { cellsOnSheet, contactSheet, type SheetCell } from '../runner/images/contact-sheet.ts';
import { thumbnailFrom } from '../runner/images/missing-thumbnails.ts';
import { thumbnailFiles } from '../runner/images/thumbnail-files.ts';
import { writeSheets } from '../runner/report/write-sheets.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { lookAtBatch } from './look-at-batch.ts';

/** Absolute paths; the report's folder is there. Throws the reason of `signal` where that cuts it, and older ones stay. */
export async function makeContactSheets(dir: string, signal: AbortSignal): Promise<string[]> {
  return lookAtBatch(dir, (db) => writeSheets(join(dir, 'report'), sheetsOf(dir, db, signal), signal));
}

interface Labelled {
  label: string;
  picture: SavedPicture;
}

async function* sheetsOf(dir: string, db: Database, signal: AbortSignal): AsyncGenerator<Buffer> {
  let sheet: SheetCell[] = [];
  for (const { label, picture } of savedPictures(db)) {
    signal.throwIfAborted();
    sheet.push({ label, thumbnail: await thumbnailNow(dir, picture) });
    if (sheet.length < cellsOnSheet) continue;
    yield await contactSheet(sheet);
    sheet = [];
  }
  if (sheet.length > 0) yield await contactSheet(sheet);
}

function* savedPictures(db: Database): Generator<Labelled> {
  for (const { id, state, pictures } of readRows(db)) {
    if (state !== 'saved' || id === null) continue;
    for (const [i, picture] of pictures.entries())
      yield { label: i === 0 ? id : `${id} (${i + 1})`, picture };
  }
}

/** The file, or one made for the sheet alone. */
async function thumbnailNow(dir: string, picture: SavedPicture): Promise<Uint8Array | undefined> {
  const files = thumbnailFiles(join(dir, 'report'));
  const path = files.pathOf(picture);
  if (path !== undefined && files.isThere(path)) return readFile(path);
  return thumbnailFrom(resolve(dir, 'images'), { ...picture, moveTo: null });
}
