/**
 * Promise: a path that is not a regular file, such as a pipe, is rejected with a message and never waited
 * for.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { assertPlainFile, NotAFile } from '../../../src/lib/files/temporary-files.ts';
import { similarFile } from '../../../src/lib/files/glob.ts';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

it('accepts files, folders and missing paths', () => {
  const dir = folder();
  writeFileSync(join(dir, 'file'), '');
  for (const path of [dir, join(dir, 'file'), join(dir, 'nothing')])
    expect(() => assertPlainFile(path)).not.toThrow();
});

it('names the kind of any other path', async () => {
  const dir = folder();
  const [pipe, socket] = [join(dir, 'pipe'), join(dir, 'socket')];
  execFileSync('mkfifo', [pipe]);
  const server = createServer().listen(socket);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  for (const [path, what] of [
    [pipe, 'a named pipe'],
    [socket, 'a socket'],
    ['/dev/null', 'a device'],
  ] as const) {
    expect(() => assertPlainFile(path)).toThrow(NotAFile);
    expect(() => assertPlainFile(path)).toThrow(`${path} is ${what}, but must be a file`);
  }
});

it('suggests a file beside a mistyped one, if one may be meant', () => {
  const dir = folder();
  writeFileSync(join(dir, 'scenes.csv'), '');
  expect(similarFile(join(dir, 'scene.csv'))).toBe(`; did you mean ${join(dir, 'scenes.csv')}?`);
  expect([similarFile(join(dir, 'weather')), similarFile(join(dir, 'none', 'scenes.csv'))]).toEqual(['', '']);
});

it.each([
  ['lists\\night\\a.csv', 'lists/night/a.csv', ' Here, folders are separated by / and not by \\'],
  [
    'cafe\u0301.csv',
    'caf\u00e9.csv',
    ' Its name is in composed Unicode (NFC) on this disk, and in decomposed Unicode (NFD) here',
  ],
  [
    'caf\u00e9s/a.csv',
    'cafe\u0301s/a.csv',
    ' Its name is in decomposed Unicode (NFD) on this disk, and in composed Unicode (NFC) here',
  ],
  [
    'cafe\u0301s\\\u00e9.csv',
    'cafe\u0301s/e\u0301.csv',
    ' Here, folders are separated by / and not by \\. Its name is in decomposed Unicode (NFD) on this disk, and in composed Unicode (NFC) here',
  ],
])('names the file that is there for %j', (path, there, why) => {
  const dir = folder();
  mkdirSync(dirname(join(dir, there)), { recursive: true });
  writeFileSync(join(dir, there), '');
  expect(similarFile(`${dir}/${path}`)).toBe(`; did you mean ${dir}/${there}?${why}`);
  expect(similarFile(`${dir}/${there}x/none/at/all`)).toBe('');
});
