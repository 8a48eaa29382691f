/** Why a command did not start, where only the system knows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/better-sqlite3.ts';
import { expect, it, onTestFinished } from 'vitest';
import { refusalOf } from '../../src/commands/refusal.ts';

it.each([
  [
    'SQLITE_IOERR_FSYNC',
    'disk I/O error',
    /cannot be written \(disk I\/O error, SQLITE_IOERR_FSYNC\); fix that/,
  ],
  ['SQLITE_FULL', 'database or disk is full', /\(database or disk is full, SQLITE_FULL\); fix that/],
])('%s is told with its code where nothing can be seen on the disk', (code, message, text) => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-refusal-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const refusal = refusalOf(new Sqlite.SqliteError(message, code), dir);
  expect(refusal).toMatchObject({ ending: 'output-unwritable', text: expect.stringMatching(text) as string });
});

it('names the folder in which nothing can be made, not the file that is not there', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-refusal-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const error = Object.assign(new Error('EROFS'), {
    code: 'EROFS',
    syscall: 'open',
    path: join(dir, 'a/b.tmp'),
  });
  expect(refusalOf(error, dir)?.text).toMatch(
    new RegExp(
      `^cannot write ${dir}: the file system is read-only \\(EROFS\\); make it writable, .* again\\.$`,
    ),
  );
});
