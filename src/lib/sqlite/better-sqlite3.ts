/** SQLite, by the release of better-sqlite3 that runs on this Node. */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';

const load = createRequire(import.meta.url);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/**
 * Release 13 ends Node 20 with a segmentation fault; 12, compiled for Node 24.19 or later, aborts the process when it
 * frees a statement (https://github.com/nodejs/node/issues/65446). npm leaves 13 out where Node is 20, and Node may be
 * another one since.
 */
function packageOfThisNode(): string {
  if (major < 22) return 'better-sqlite3';
  try {
    load.resolve('better-sqlite3-13');
  } catch (error) {
    if (major < 24 || (major === 24 && minor < 19)) return 'better-sqlite3';
    throw error;
  }
  return 'better-sqlite3-13';
}

export const packageName = packageOfThisNode();
export const Sqlite = load(packageName) as typeof BetterSqlite3;

/** Opens a file. Throws the system's own error where its folder went away, of which the package says what it says of bugs. */
export function openSqlite(path: string, options?: BetterSqlite3.Options): BetterSqlite3.Database {
  try {
    return new Sqlite(path, options);
  } catch (error) {
    if (error instanceof TypeError) statSync(dirname(path));
    throw error;
  }
}
