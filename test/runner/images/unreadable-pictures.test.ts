/** Promise: a picture that exists but cannot be read never counts as missing, because it was paid for. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import type { UnfinishedWriting } from '../../../src/runner/core/attempt.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { UnreadableFile, type Place } from '../../../src/runner/images/place.ts';
import { copyPicture, inspector } from '../../../src/runner/images/saved-files.ts';
import { finishWriting } from '../../../src/runner/pipeline/recover.ts';
import { Stop } from '../../../src/runner/pipeline/stop.ts';

const bytes = Buffer.from('a picture');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const picture = { width: 1, height: 1, bytes: bytes.length, sha256 };
let dir = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'unreadable-'));
});

afterEach(() => rm(dir, { recursive: true }));

/** Returns the folder, on a disk that fails to read one file. */
function failingPlace(unreadable: string): Place {
  const place = folderPlace(dir);
  const read: Place['read'] = async (file) => {
    if (file !== unreadable) return place.read(file);
    throw new UnreadableFile({ kind: 'output-unwritable', text: `cannot read ${file}` }, file, 'EIO');
  };
  return { ...place, read };
}

test('after a crash, a run ends rather than forget a picture that it cannot read, and removes none', async () => {
  const place = failingPlace('b.png');
  for (const file of ['a.png', 'b.png']) await place.put(file, bytes);
  const settlement = { pictures: ['a.png', 'b.png'].map((file) => ({ ...picture, file })) };
  const unfinished = { attempt: {}, isInFlight: true, settlement } as UnfinishedWriting;
  const dropped: unknown[] = [];
  const checkpoint = {
    unfinishedWriting: async () => [unfinished],
    ownerOf: async () => undefined,
    settle: async () => undefined,
    dropWriting: async (attempt: unknown) => void dropped.push(attempt),
  };

  const finished = finishWriting(checkpoint, createImageStore(place), new Stop());

  await expect(finished).rejects.toThrow(FatalFailure);
  expect(dropped).toEqual([]);
  expect(await readdir(dir)).toEqual(['a.png', 'b.png']);
});

test('a copy replaces a file of its name that cannot be read', async () => {
  const to = failingPlace('a.png');
  await to.put('a.png', Buffer.from('a damage!'));
  const from: Place = { ...to, read: async (file) => (file === 'a.png' ? bytes : undefined) };
  const recorded = { ...picture, file: 'a.png', label: null } as Parameters<typeof copyPicture>[2];

  expect(await copyPicture(from, to, recorded, [])).toEqual({ kind: 'good' });
  expect(await folderPlace(dir).read('a.png')).toEqual(bytes);
});

test('a picture is examined without the details beside it, if those cannot be read', async () => {
  const content = await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const place = failingPlace('a.json');
  await place.put('a.png', content);

  const examined = await createImageStore(place).examine('a.png');

  expect(examined).toMatchObject({ picture: { file: 'a.png', bytes: content.length } });
});

test('a link that leads in a circle makes way for a picture, and is damage for a verification', async () => {
  await symlink('a.png', join(dir, 'a.png'));
  const place = folderPlace(dir);
  const store = createImageStore(place);

  expect(await store.whichExist(['a.png'])).toEqual([]);
  for (const isDeep of [false, true])
    expect(await inspector(place, isDeep)({ ...picture, file: 'a.png' })).toMatchObject({ kind: 'damaged' });
  await store.write({ ...picture, content: bytes, format: 'PNG' }, 'a.png');
  expect(await readdir(dir)).toEqual(['a.png', 'a.png.former']);
  expect(await place.read('a.png')).toEqual(bytes);
});
