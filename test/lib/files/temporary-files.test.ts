/** Promise: half-written files of dead processes are removed, and no file that may still be in use. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isAlive, removeLeftovers, temporaryName } from '../../../src/lib/files/temporary-files.ts';

const mine = temporaryName();
const [, pid = '', , host = ''] = mine.split('-').slice(0, 4);
/** No process has this id. */
const dead = 2 ** 22 + 1;
const hourAgo = Date.now() / 1_000 - 3_700;

/**
 * Creates files of this run, other processes and other machines, removes leftovers, and returns which files
 * remain.
 */
async function leftOf(sparesLiving?: boolean): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, 'below'));
  const files = {
    own: mine,
    picture: 'a.png',
    almost: '.nightrender-1-a-1.tmp.png',
    dead: `.nightrender-${dead}-abc-${host}-1.tmp`,
    deadBelow: `below/.nightrender-${dead}-abc-1.tmp`,
    living: `.nightrender-${process.ppid}-abc-${host}-1.tmp`,
    sameId: `.nightrender-${pid}-abc-${host}-1.tmp`,
    elsewhere: `.nightrender-${dead}-abc-000000-1.tmp`,
    elsewhereOld: `.nightrender-${dead}-abc-000000-2.tmp`,
  };
  for (const name of Object.values(files)) writeFileSync(join(dir, name), '');
  utimesSync(join(dir, files.elsewhereOld), hourAgo, hourAgo);
  await removeLeftovers(dir, sparesLiving);
  return Object.entries(files).flatMap(([what, name]) => (existsSync(join(dir, name)) ? [what] : []));
}

it('removes temporary files of earlier runs, even if another process has the same id now', async () => {
  expect(await leftOf()).toEqual(['own', 'picture', 'almost', 'elsewhere']);
});

it('keeps temporary files of running processes if several processes write', async () => {
  expect(await leftOf(true)).toEqual(['own', 'picture', 'almost', 'living', 'elsewhere']);
});

it('fails if there is no folder', async () => {
  await expect(removeLeftovers(join(tmpdir(), 'nightrender-nowhere'))).rejects.toThrow('ENOENT');
});

it('gives every file a name of its own', () => {
  expect(new Set([mine, temporaryName(), temporaryName()]).size).toBe(3);
});

it('recognizes a running process of any user', () => {
  expect([process.pid, 1, dead].map(isAlive)).toEqual([true, true, false]);
});
