/** Edits a checkpoint by hand. Also deletes the file beside it by which the program would notice the edit. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, Sqlite } from '../../src/lib/sqlite/database.ts';

/** Changes the checkpoint in `dir`. `work` is SQL or a function. */
export function editCheckpoint(dir: string, work: string | ((db: Database) => void)): void {
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
  try {
    if (typeof work === 'string') db.exec(work);
    else work(db);
  } finally {
    db.close();
  }
  rmSync(join(dir, '.checkpoint.json'), { force: true });
}

/** Turns the checkpoint back into format 10, in which no scene could be `unneeded`. */
export function forgetUnneeded(db: Database): void {
  db.unsafeMode(true);
  db.exec(`PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, ', ''unneeded''', '') WHERE name = 'scenes';
    PRAGMA writable_schema = RESET;
    ALTER TABLE attempts DROP COLUMN cost; ALTER TABLE attempts DROP COLUMN cost_from;
    ALTER TABLE attempts DROP COLUMN kept; PRAGMA user_version = 10`);
}
