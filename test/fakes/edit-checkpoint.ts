/** A checkpoint edited by hand, by somebody who says so: the mark that would tell goes with it. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, Sqlite } from '../../src/lib/sqlite/database.ts';

/** `work` may be SQL. */
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

/** As the tenth format has them: no scene may be `unneeded`. */
export function forgetUnneeded(db: Database): void {
  db.unsafeMode(true);
  db.exec(`PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, ', ''unneeded''', '') WHERE name = 'scenes';
    PRAGMA writable_schema = RESET;
    ALTER TABLE attempts DROP COLUMN cost; ALTER TABLE attempts DROP COLUMN cost_from;
    ALTER TABLE attempts DROP COLUMN kept; PRAGMA user_version = 10`);
}
