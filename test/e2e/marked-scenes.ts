/**
 * Shows whether a start has compared the list with the checkpoint, by marks on each scene that a comparison
 * would correct.
 */
import { join } from 'node:path';
import { type Database, Sqlite } from '../../src/lib/sqlite/database.ts';
import { CommitMarkFile, readCommitMark, sha256OfFile } from '../../src/runner/checkpoint/find-loss.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import type { Finished } from './cli.ts';

export function mark(cwd: string): void {
  const dir = join(cwd, 'out');
  const closed = readCommitMark(dir);
  editCheckpoint(dir, "UPDATE scenes SET source = 'marked'");
  if (closed === undefined) throw new Error('the checkpoint has no mark');
  const file = new CommitMarkFile(dir);
  file.writeDurably({ ...closed, sha256: sha256OfFile(join(dir, 'checkpoint.sqlite')) });
  file.close();
}

export function sourcesIn(cwd: string): string[] {
  const listed = "SELECT source FROM scenes WHERE state <> 'withdrawn' ORDER BY position";
  return withCheckpoint(cwd, (db) => db.prepare<[], string>(listed).pluck().all());
}

/** Returns the event that reports the comparison. */
export function planOf({ stdout }: Finished): unknown {
  const line = stdout.split('\n').find((each) => each.includes('"plan-made"'));
  return JSON.parse(line ?? 'null') as unknown;
}

export function withCheckpoint<T>(cwd: string, work: (db: Database) => T): T {
  const db = new Sqlite(join(cwd, 'out/checkpoint.sqlite'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}
