/** SQLite, by the release of better-sqlite3 that runs on this Node. */
import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';

/**
 * Release 13 ends Node 20 with a segmentation fault; 12, compiled for Node 24.19 or later, aborts the process when it
 * frees a statement (https://github.com/nodejs/node/issues/65446).
 */
export const packageName =
  Number(process.versions.node.split('.')[0]) >= 22 ? 'better-sqlite3-13' : 'better-sqlite3';

export const Sqlite = createRequire(import.meta.url)(packageName) as typeof BetterSqlite3;
