/** Packs the bytes of database pages that have changed, and applies them to a file. */
import { ftruncateSync, writeSync } from 'node:fs';

/** Default page size of SQLite. */
export const pageBytes = 4096;

/** Changes of one database, in the order in which they are applied. */
export interface Changes {
  /** Results of `packPage`, one after the other. */
  packed: Buffer;
  /** Number of pages of the database after the changes. */
  count: number;
}

/** Size of the header of a run: its position and its length, two bytes each. */
const runHeader = 4;

/**
 * Packs the changes from `before` to `after`, one page each; the whole page if `before` is missing. Format: page
 * number (4 bytes), number of runs (2 bytes), then position, length and bytes of each run. Applying changes twice
 * has the same result as applying them once.
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

/** Returns the changed runs. Runs that are closer than the size of a header are joined. */
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
