/** Loads the release of better-sqlite3 that works with this version of Node. */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';

const load = createRequire(import.meta.url);

/**
 * Release 13 ends Node 20 with a segmentation fault. Release 12, compiled for Node 24.19 or later, aborts the
 * process when it frees a statement (https://github.com/nodejs/node/issues/65446). npm installs the one for
 * its Node. A checkout on Node 20 has both, because the lock file names one. Node may have changed since.
 */
function packageOfThisNode(): string {
  const needed = Number.parseInt(process.versions.node) < 22 ? '12.' : '13.';
  const found = ['better-sqlite3', 'better-sqlite3-12'].find((name) => versionOf(name).startsWith(needed));
  if (found !== undefined) return found;
  // An installation by an earlier version of Node or of this program keeps its release.
  const install = needed === '12.' ? 'npm install better-sqlite3@12.9.0' : 'npm update better-sqlite3';
  throw new Error(
    `better-sqlite3 ${needed}x, which Node ${process.versions.node} needs, is not installed (outside a checkout: ${install})`,
  );
}

/** Returns '' if the package is not installed. */
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
// Release 12 loads its binary with the first database. If the binary is missing, this fails before anything else.
new Sqlite(':memory:').close();

/** Opens a file. Throws the system's error if its folder went away, for which the package throws a `TypeError`. */
export function openSqlite(path: string, options?: BetterSqlite3.Options): BetterSqlite3.Database {
  try {
    return new Sqlite(path, options);
  } catch (error) {
    if (error instanceof TypeError) statSync(dirname(path));
    throw error;
  }
}
