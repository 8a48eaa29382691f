/** How pages of a database have changed, packed: the bytes that are others now. */
import { ftruncateSync, writeSync } from 'node:fs';

/** SQLite's own. */
export const pageBytes = 4096;

/** Changes of one database, in the order in which they are to be made. */
export interface Changes {
  /** As `packPage` has made them, one after the other. */
  packed: Buffer;
  /** How many pages the database has now. */
  count: number;
}

/** A place, two bytes, and a length, two bytes. */
const runHeader = 4;

/**
 * What makes `after` of `before`, a page each; without `before` all of it. The number of the page, four bytes, how many stretches have
 * changed, two bytes, and of each its place, its length and its bytes. To change a page twice to the same is to change it once.
 */
export function packPage(page: number, before: Buffer | undefined, after: Buffer): Buffer {
  const runs = before === undefined ? [{ from: 0, to: pageBytes }] : changedRuns(before, after);
  const head: Buffer = Buffer.allocUnsafe(6);
  head.writeUInt32LE(page, 0);
  head.writeUInt16LE(runs.length, 4);
  const parts: Buffer[] = [head];
  for (const { from, to } of runs) {
    const place = Buffer.allocUnsafe(runHeader);
    place.writeUInt16LE(from, 0);
    place.writeUInt16LE(to - from, 2);
    parts.push(place, after.subarray(from, to));
  }
  return Buffer.concat(parts);
}

/** Stretches between which more is equal than what it takes to name another one. */
function changedRuns(before: Buffer, after: Buffer): { from: number; to: number }[] {
  const runs: { from: number; to: number }[] = [];
  let last: { from: number; to: number } | undefined;
  for (let i = 0; i < pageBytes; i++) {
    if (before[i] === after[i]) continue;
    if (last !== undefined && i - last.to <= runHeader) last.to = i + 1;
    else runs.push((last = { from: i, to: i + 1 }));
  }
  return runs;
}

/** Makes them in an open file. */
export function applyChanges(file: number, { packed, count }: Changes): void {
  for (let at = 0; at < packed.length;) {
    const start = (packed.readUInt32LE(at) - 1) * pageBytes;
    const runs = packed.readUInt16LE(at + 4);
    at += 6;
    for (let run = 0; run < runs; run++) {
      const length = packed.readUInt16LE(at + 2);
      writeSync(file, packed, at + runHeader, length, start + packed.readUInt16LE(at));
      at += runHeader + length;
    }
  }
  ftruncateSync(file, count * pageBytes);
}
