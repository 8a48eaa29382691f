/**
 * Promise: one release of SQLite is installed, the right one for this Node, and only Node 20 needs to compile
 * it.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageName, Sqlite } from '../../../src/lib/sqlite/database.ts';

const isOldNode = Number.parseInt(process.versions.node) < 22;

it('loads the release that runs on this Node', () => {
  expect(packageName).toBe(isOldNode ? 'better-sqlite3-12' : 'better-sqlite3');
  const db = new Sqlite(':memory:');
  expect(db.prepare('SELECT 6 * 7').pluck().get()).toBe(42);
  db.close();
});

it('leaves the choice to npm, whose newest first is the newest that names the Node at hand', () => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: object;
    optionalDependencies?: object;
  };
  expect(dependencies).toMatchObject({ 'better-sqlite3': '12.9.0 || 13.2.0' });
  expect(optionalDependencies).toBeUndefined();
});

/**
 * `npm install` rewrites both lines from the packages, so put them back. Without the first, npm skips release
 * 12 except on Node 20. Without the second, npm 10 and 11 compile release 13, although it includes binaries.
 */
it('the lock file makes a checkout install both on Node 20, and release 13 alone elsewhere', () => {
  const text = readFileSync('package-lock.json', 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, unknown> };
  expect(packages['node_modules/better-sqlite3-12']).toMatchObject({ version: '12.9.0', optional: true });
  expect(packages['node_modules/better-sqlite3-12']).toMatchObject({ engines: { node: '20.x' } });
  expect(packages['node_modules/better-sqlite3']).toMatchObject({ version: '13.2.0', gypfile: false });
  expect(text).not.toMatch(/"resolved": "https?:/);
});
