/**
 * Promise: pictures kept in their original format are byte-identical, are checked as strictly as PNGs, and
 * have the right extension.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { withFormat } from '../../../src/runner/core/picture.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { picturesAmong, createImageStore } from '../../../src/runner/images/image-store.ts';
import { inspector } from '../../../src/runner/images/saved-files.ts';
import { copyMaker } from '../../../src/runner/images/sidecars.ts';
import { noise } from './pictures.ts';
import { expectNoFile, filesIn, temporaryFolder } from './store.ts';

const made = {
  JPEG: () => noise(64, 48).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  WebP: () => noise(48, 64).webp().toBuffer(),
  AVIF: () => noise(48, 64).avif().toBuffer(),
} as const;

const formats = ['JPEG', 'WebP', 'AVIF'] as const;

describe.each(formats)('%s', (format) => {
  test.each([false, true])('stays as it came (blank ones refused: %s)', async (blank) => {
    const bytes = await made[format]();
    const store = createImageStore(memoryPlace(), { isOriginalKept: true, blank });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(await store.check({ bytes })).toEqual({ content: bytes, format, width: 48, height: 64, sha256 });
  });

  test('is a PNG if originals are not requested', async () => {
    const checked = await createImageStore(memoryPlace()).check({ bytes: await made[format]() });
    expect(checked).toMatchObject({ format: 'PNG', width: 48, height: 64 });
  });

  test('is refused if it has one colour and blank pictures are refused', async () => {
    const blank = sharp({ create: { width: 64, height: 48, channels: 3, background: '#888' } });
    const encoded = { JPEG: blank.jpeg(), WebP: blank.webp(), AVIF: blank.avif() }[format];
    const options = { isOriginalKept: true, blank: true };
    const text = (await encoded.toBuffer()).toString('base64');
    await expectNoFile(text, /one colour/, 'blank-picture', options);
  });

  test('has copies, but none of its own name, and is verified by decoding', async () => {
    const bytes = await made[format]();
    const dir = temporaryFolder();
    const beside = (['webp', 'jpeg', 'avif'] as const).map((each) =>
      copyMaker({ format: each, quality: 80 }, () => expect.fail()),
    );
    const store = createImageStore(folderPlace(dir), { isOriginalKept: true, beside });
    const checked = await store.check({ bytes });
    if (!('content' in checked)) return expect.fail(checked.text);
    const file = withFormat('a.png', format);
    await store.write(checked, file);
    expect(filesIn(dir)).toEqual(['a.avif', 'a.jpg', 'a.webp']);
    expect(readFileSync(join(dir, file)).equals(bytes)).toBe(true);
    const { width, height, sha256 } = checked;
    const recorded = { file, width, height, sha256, bytes: bytes.length };
    const inspect = (more = {}) => inspector(folderPlace(dir), false)({ ...recorded, ...more });
    expect(await inspect()).toEqual({ kind: 'good' });
    writeFileSync(join(dir, file), await noise(48, 64).png().toBuffer());
    const other = readFileSync(join(dir, file));
    const its = { bytes: other.length, sha256: createHash('sha256').update(other).digest('hex') };
    expect(await inspect(its)).toMatchObject({ problem: expect.stringContaining(`a PNG, not a ${format}`) });
    await store.remove(file);
    expect(filesIn(dir)).toEqual([]);
  });
});

test.each(formats)('something behind the end of the data of %s is seen', async (format) => {
  const more = Buffer.concat([await made[format](), Buffer.from('<html>502 Bad Gateway</html>')]);
  await expectNoFile(more.toString('base64'), /follows the end/, 'bad-picture', {
    isOriginalKept: true,
  });
});

test('further pictures behind a JPEG are passed over, as by viewers', async () => {
  const bytes = Buffer.concat([await made.JPEG(), await noise(8, 8).jpeg().toBuffer()]);
  const store = createImageStore(memoryPlace(), { isOriginalKept: true });
  expect(await store.check({ bytes })).toMatchObject({ content: bytes, width: 48 });
});

test.each<[string, (jpeg: Buffer) => Buffer]>([
  ['a byte', (jpeg) => Buffer.concat([jpeg, Buffer.of(1)])],
  ['a byte before a line end', (jpeg) => Buffer.concat([jpeg, Buffer.from('x\n')])],
  [
    'the beginning of another picture',
    (jpeg) => Buffer.concat([jpeg, Buffer.from('\u00ff\u00d8not a picture', 'latin1')]),
  ],
  ['20,000 beginnings of one', (jpeg) => Buffer.concat([jpeg, Buffer.alloc(40_000, 'ffd8', 'hex')])],
])('%s behind a JPEG is no further picture', async (_, make) => {
  const options = { isOriginalKept: true };
  await expectNoFile(make(await made.JPEG()).toString('base64'), /follows the end/, 'bad-picture', options);
});

test.each(['\n', '\r\n', '\0\0\0', ' \n\0'])('%j behind a PNG or a JPEG is no damage', async (fill) => {
  const [png, jpeg] = [await noise(48, 64).png().toBuffer(), await made.JPEG()];
  const check = async (file: Buffer, isOriginalKept: boolean) =>
    createImageStore(memoryPlace(), { isOriginalKept }).check({
      bytes: Buffer.concat([file, Buffer.from(fill)]),
    });
  const filled = (file: Buffer): Buffer => Buffer.concat([file, Buffer.from(fill)]);
  expect(await check(png, false)).toMatchObject({ content: png, width: 48 });
  expect(await check(png, true)).toMatchObject({ content: filled(png), width: 48 });
  expect(await check(jpeg, false)).toMatchObject({ format: 'PNG', width: 48 });
  expect(await check(jpeg, true)).toMatchObject({ content: filled(jpeg), format: 'JPEG' });
});

test('20,000 pictures behind one another are looked at in one pass', async () => {
  const small = await noise(1, 1).jpeg().toBuffer();
  const bytes = Buffer.concat(Array.from({ length: 20_000 }, () => small));
  const store = createImageStore(memoryPlace(), { isOriginalKept: true });
  expect(await store.check({ bytes })).toMatchObject({ width: 1, height: 1 });
});

test('a picture of another format that had its name makes way', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir), { isOriginalKept: true });
  writeFileSync(join(dir, 'a.png'), 'the old one');
  const checked = await store.check({ bytes: await made.JPEG() });
  if (!('content' in checked)) return expect.fail(checked.text);
  await store.write(checked, 'a.jpg');
  expect(filesIn(dir)).toEqual(['a.jpg', 'a.png.former']);
  expect(store.kept()).toBe(1);
});

test.each([
  [
    ['a.png', 'a.webp', 'a-512.jpg', 'b.jpg'],
    ['.webp', '-512.jpg'],
    ['a.png', 'b.jpg'],
  ],
  [['a.jpg', 'a.webp', 'a-512.jpg'], ['.webp', '-512.jpg'], ['a.jpg']],
  [['a.avif', 'a.webp'], ['.avif'], ['a.webp']],
  [['cat.jpg', 'cat-512.jpg'], [], ['cat.jpg', 'cat-512.jpg']],
  [['a.webp', 'b/a.jpg'], ['.webp'], ['a.webp', 'b/a.jpg']],
])('of %j with copies %j the pictures are %j', (files, copies, pictures) => {
  expect(picturesAmong(files, copies, true)).toEqual(pictures);
});

test('a copy whose PNG is gone is no picture if originals are not kept', () => {
  expect(picturesAmong(['a.webp', 'b.jpg'], ['.webp'], false)).toEqual(['b.jpg']);
});

test('a smaller copy that is made no more is no picture if originals are not kept', () => {
  expect(picturesAmong(['a.png', 'a-512.webp'], [], false)).toEqual(['a.png']);
});
