/**
 * Promise: a picture is moved together with its sidecar and copies, including copies made after an earlier
 * move.
 */
import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { copyPicture } from '../../../src/runner/images/saved-files.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';

const picture = {
  attempt: 1,
  number: 1,
  sceneId: 'a',
  sceneState: 'saved' as const,
  moveTo: null,
  label: null,
  file: 'a.png',
  bytes: 7,
  sha256: hash('sha256', 'picture'),
  width: 1,
  height: 1,
};

const content = Buffer.from('picture');

it('a move brings copies that are newer than the first move', async () => {
  const [from, there] = [new Map([['a.png', content]]), new Map<string, Buffer>()];
  from.set('a.webp', Buffer.from('first'));
  const move = () => copyPicture(memoryPlace(from), memoryPlace(there), picture, ['.webp', '.avif', '.json']);
  expect(await move()).toEqual({ kind: 'good' });
  from.set('a.webp', Buffer.from('second')).set('a.avif', Buffer.from('new'));
  expect(await move()).toEqual({ kind: 'good' });
  expect([...there.keys()].toSorted()).toEqual(['a.avif', 'a.png', 'a.webp']);
  expect(String(there.get('a.webp'))).toBe('second');
});

it('a move leaves an existing picture alone if its source no longer exists', async () => {
  const there = new Map([['a.png', content]]);
  expect(await copyPicture(memoryPlace(), memoryPlace(there), picture, ['.webp'])).toEqual({ kind: 'good' });
  expect([...there.keys()]).toEqual(['a.png']);
});
