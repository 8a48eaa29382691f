/** Promise: a picture is moved with all that is beside it, also with what was made since it was moved before. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { copyPicture, picturesInFolder } from '../../../src/runner/images/picture-files.ts';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-pictures-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

const picture = {
  attempt: 1,
  number: 1,
  sceneId: 'a',
  sceneState: 'saved' as const,
  moveTo: null,
  label: null,
  file: 'a.png',
  bytes: 7,
  sha256: createHash('sha256').update('picture').digest('hex'),
  width: 1,
  height: 1,
};

it('brings copies that are newer than the first move', async () => {
  const [from, to] = [folder(), folder()];
  writeFileSync(join(from, 'a.png'), 'picture');
  writeFileSync(join(from, 'a.webp'), 'first');
  const move = () =>
    copyPicture(picturesInFolder(from), picturesInFolder(to), picture, ['.webp', '.avif', '.json']);
  expect(await move()).toEqual({ kind: 'good' });
  writeFileSync(join(from, 'a.webp'), 'second');
  writeFileSync(join(from, 'a.avif'), 'new');
  expect(await move()).toEqual({ kind: 'good' });
  expect(readdirSync(to).toSorted()).toEqual(['a.avif', 'a.png', 'a.webp']);
  expect(readFileSync(join(to, 'a.webp'), 'utf8')).toBe('second');
});

it('leaves a picture that is there alone where it comes from nowhere any more', async () => {
  const [from, to] = [folder(), folder()];
  writeFileSync(join(to, 'a.png'), 'picture');
  expect(await copyPicture(picturesInFolder(from), picturesInFolder(to), picture, ['.webp'])).toEqual({
    kind: 'good',
  });
  expect(readdirSync(to)).toEqual(['a.png']);
});
