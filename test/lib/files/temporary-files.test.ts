/** Promise: what a dead process left half written goes, and nothing that somebody may be writing, or anything else. */
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

/** Which are there afterwards of files of this run, of others and of other machines. */
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

it('removes those of earlier runs, whoever has their ids by now', async () => {
  expect(await leftOf()).toEqual(['own', 'picture', 'almost', 'elsewhere']);
});

it('spares those of running processes where several write', async () => {
  expect(await leftOf(true)).toEqual(['own', 'picture', 'almost', 'living', 'elsewhere']);
});

it('fails where there is no folder', async () => {
  await expect(removeLeftovers(join(tmpdir(), 'nightrender-nowhere'))).rejects.toThrow('ENOENT');
});

it('has a name of its own for every file', () => {
  expect(new Set([mine, temporaryName(), temporaryName()]).size).toBe(3);
});

it('knows who lives, whomever it belongs to', () => {
  expect([process.pid, 1, dead].map(isAlive)).toEqual([true, true, false]);
});
