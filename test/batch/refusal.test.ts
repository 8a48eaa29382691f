/**
 * Promise: if a command cannot start because of the operating system, the message says why and what to do.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect, it, onTestFinished } from 'vitest';
import { refusalOf } from '../../src/batch/refusal.ts';
import { ConfigError } from '../../src/lib/yaml/problem.ts';

it.each([
  [
    'SQLITE_IOERR_FSYNC',
    'disk I/O error',
    /cannot be read or written \(disk I\/O error, SQLITE_IOERR_FSYNC\); check the disk/,
  ],
  ['SQLITE_FULL', 'database or disk is full', /^the disk is full, and .* cannot be written; free some space/],
])('%s is reported with its code if nothing on the disk explains it', (code, message, text) => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-refusal-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const refusal = refusalOf(new Sqlite.SqliteError(message, code), dir);
  expect(refusal).toMatchObject({ ending: 'output-unwritable', text: expect.stringMatching(text) as string });
});

it('a refusal names the folder in which nothing can be created, not the missing file', () => {
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

it.each(
  Object.entries(constants.errno).filter(
    ([code]) => !/^E(BADF|CONN|PIPE|NOTCONN|TIMEDOUT|HOST|NET)/.test(code),
  ),
)('a disk that fails with %s is not reported as a bug, whatever was done to a file', (_, number) => {
  for (const syscall of [
    'open',
    'read',
    'write',
    'fsync',
    'fdatasync',
    'rename',
    'unlink',
    'ftruncate',
    'fstat',
  ]) {
    const error = Object.assign(new Error('a failure'), {
      code: `Unknown system error -${number}`,
      errno: -number,
      syscall,
    });
    const refusal = refusalOf(error, undefined);
    expect(refusal).toMatchObject({ ending: 'output-unwritable' });
    // Some systems have two names for one error number.
    expect(constants.errno[/\((E\w+)\)/.exec(refusal?.text ?? '')?.[1] as keyof typeof constants.errno]).toBe(
      number,
    );
  }
});

it.each(['ENOTCONN', 'ETIMEDOUT', 'EHOSTDOWN'])(
  'a network folder that answers %s is not reported as a bug',
  (code) => {
    const failed = { code, errno: -constants.errno[code as 'ENOTCONN'] };
    for (const known of [
      { syscall: 'stat' },
      { syscall: 'fsync' },
      { syscall: 'read', path: '/mnt/nas/a.png' },
    ])
      expect(refusalOf(Object.assign(new Error(code), failed, known), undefined)).toMatchObject({
        ending: 'output-unwritable',
      });
  },
);

it.each(['read', 'write', 'connect'])(
  'a connection that breaks at %s is not taken for a failure of the disk',
  (syscall) => {
    const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104, syscall });
    expect(refusalOf(error, undefined)).toBeUndefined();
  },
);

it('a refusal counts all problems that one of its lines sums up', () => {
  const problems = [
    { where: 'a.csv:2', text: 'has 1 column; the header has 2' },
    { where: '', text: '19,990 more rows are bad', count: 19_990 },
  ];
  expect(refusalOf(new ConfigError(problems), undefined)?.text).toBe(
    '19,991 problems were found; nothing was sent and nothing written.',
  );
});
