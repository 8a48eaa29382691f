/** Saved scenes that lack a file, since they were saved before `output.files` asked for it. */
import type { LackingFile, NamedFile } from '../core/named-file.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readBatch } from './batch-identity.ts';

/** By what the last run asked for; quick where that was asked for from the first run on. */
export function readLacking(db: Database): LackingFile[] {
  const later = readBatch(db)?.files?.filter(({ isLater }) => isLater === true) ?? [];
  if (later.length === 0) return [];
  const count = db.prepare<[object], number>(`SELECT count(*) FROM scenes s WHERE ${lacks}`).pluck();
  return later
    .map(({ label, kind }) => ({ label, scenes: count.get({ label, kind }) ?? 0 }))
    .filter(({ scenes }) => scenes > 0);
}

/** Ids of the saved scenes that lack any of these. */
export function readIdsLacking(db: Database, files: readonly NamedFile[]): string[] {
  const ids = db.prepare<[object], string>(`SELECT id FROM scenes s WHERE ${lacks}`).pluck();
  return [...new Set(files.flatMap(({ label, kind }) => ids.all({ label, kind })))];
}

/** Where the kind has changed, the old file is none of these. */
const lacks = `s.state = 'saved' AND NOT EXISTS (
  SELECT 1 FROM attempts a JOIN pictures p USING (attempt)
  WHERE a.scene = s.scene AND p.label = @label AND substr(p.file, -length(@kind) - 1) = '.' || @kind)`;
