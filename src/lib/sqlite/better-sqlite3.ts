/** SQLite, by the release of better-sqlite3 that runs on this Node. */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';

const load = createRequire(import.meta.url);

/**
 * Release 13 ends Node 20 with a segmentation fault; 12, compiled for Node 24.19 or later, aborts the process when it
 * frees a statement (https://github.com/nodejs/node/issues/65446). npm installs the one that its Node can use; a checkout
 * has both on Node 20, since a lock names one. Node may be another one since.
 */
function packageOfThisNode(): string {
  const needed = Number.parseInt(process.versions.node) < 22 ? '12.' : '13.';
  const found = ['better-sqlite3', 'better-sqlite3-12'].find((name) => versionOf(name).startsWith(needed));
  if (found !== undefined) return found;
  // An installation of an earlier Node or version keeps the release that it has.
  const install = needed === '12.' ? 'npm install better-sqlite3@12.9.0' : 'npm update better-sqlite3';
  throw new Error(
    `better-sqlite3 ${needed}x, which Node ${process.versions.node} needs, is not installed (outside a checkout: ${install})`,
  );
}

/** Empty where it is not installed. */
function versionOf(name: string): string {
  try {
    return (load(`${name}/package.json`) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return '';
    throw error;
  }
}

export const packageName = packageOfThisNode();
export const Sqlite = load(packageName) as typeof BetterSqlite3;
// Release 12 loads its binary with the first database; where it has none, this says so before all else.
new Sqlite(':memory:').close();

/** Opens a file. Throws the system's own error where its folder went away, of which the package says what it says of bugs. */
export function openSqlite(path: string, options?: BetterSqlite3.Options): BetterSqlite3.Database {
  try {
    return new Sqlite(path, options);
  } catch (error) {
    if (error instanceof TypeError) statSync(dirname(path));
    throw error;
  }
}
