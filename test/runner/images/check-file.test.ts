/** Promise: a file besides pictures is saved only if it is whole and of the requested kind. */
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import type { FailureKind } from '../../../src/runner/core/failure.ts';
import type { FileKind } from '../../../src/runner/core/picture.ts';
import { clipFormats, clipKinds } from '../../../src/runner/core/clip.ts';
import { clip } from '../../fakes/clips.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { flipped, noise } from './pictures.ts';
import { camera, exr, glb, glbOf, mask, npz, packedNpz } from './whole-files.ts';

const store = createImageStore(memoryPlace(), { pixels: 1_000_000 });

const checkFile = (held: { base64: string } | { bytes: Buffer }, kind: FileKind) =>
  store.check({ ...held, named: { label: 'depth', kind } });

async function problemOf(
  bytes: Buffer,
  kind: FileKind,
  as: FailureKind | RegExp = clipKinds.some((each) => each === kind)
    ? /^(?:bad-clip|other-file-kind)$/
    : 'bad-file',
): Promise<string | undefined> {
  const checked = await checkFile({ bytes }, kind);
  if ('kind' in checked)
    expect(checked).toMatchObject({ kind: expect.stringMatching(as), digest: expect.any(String) });
  else expect(Buffer.from(checked.content).equals(bytes)).toBe(true);
  return 'kind' in checked ? checked.text : undefined;
}

const whole: [string, FileKind, () => Buffer | Promise<Buffer>][] = [
  ['a PNG of 16 bits', 'png', mask],
  ['an EXR in blocks of 16 lines', 'exr', () => exr()],
  ['an EXR line by line', 'exr', () => exr(5, 3, { isPacked: false })],
  ['an EXR in tiles', 'exr', () => exr(70, 40, { tiles: { side: 32, hasLevels: false } })],
  ['an EXR in tiles with levels', 'exr', () => exr(70, 40, { tiles: { side: 32, hasLevels: true } })],
  ['an EXR of three pictures', 'exr', () => exr(9, 17, { parts: 3 })],
  ['JSON', 'json', () => camera],
  ['a GLB', 'glb', glb],
  ['an NPZ', 'npz', () => npz],
  ['a packed NPZ', 'npz', () => packedNpz],
  ...clipFormats.map((format): [string, FileKind, () => Buffer] => [
    `a clip (${format})`,
    clipKinds[clipFormats.indexOf(format)] ?? 'mp4',
    () => clip(format, { seconds: 0.3, width: 16, height: 16 }),
  ]),
];

describe.each(whole)('%s', (_, kind, make) => {
  it('is kept byte for byte, from base64 in any form', async () => {
    const bytes = await make();
    expect(await problemOf(bytes, kind)).toBeUndefined();
    const base64 = bytes.toString('base64');
    for (const text of [
      base64,
      `data:application/octet-stream;base64,${base64}`,
      base64.replace(/.{60}/g, '$&\n'),
    ]) {
      const checked = await checkFile({ base64: text }, kind);
      expect(checked).toMatchObject({ content: bytes });
    }
  });

  it('is refused wherever it is cut, and if other data follows it', async () => {
    const bytes = await make();
    for (let length = 0; length < bytes.length; length += Math.ceil(bytes.length / 400))
      expect(await problemOf(bytes.subarray(0, length), kind), `${length} bytes`).toContain(
        'the file depth cannot be used: ',
      );
    // Readers ignore bytes after the last block of an EXR.
    if (kind !== 'exr')
      expect(await problemOf(Buffer.concat([bytes, Buffer.from('PK')]), kind)).toBeDefined();
  });

  it('is refused if another kind was requested, and requested again only if a message came', async () => {
    const bytes = await make();
    const as = kind === 'json' ? undefined : 'other-file-kind';
    for (const other of ['png', 'exr', 'json', 'glb', 'npz', 'mp4', 'wav'] as const)
      if (other !== kind) expect(await problemOf(bytes, other, as), other).toBeDefined();
  });
});

it('has a size in pixels if it is a picture, and none otherwise', async () => {
  const sizeOf = (bytes: Buffer, kind: FileKind) => checkFile({ bytes }, kind);
  expect(await sizeOf(exr(40, 20), 'exr')).toMatchObject({ width: 40, height: 20 });
  expect(await sizeOf(await mask(24, 16), 'png')).toMatchObject({ width: 24, height: 16 });
  expect(await sizeOf(npz, 'npz')).toMatchObject({ width: 0, height: 0 });
});

it('says what is wrong', async () => {
  const jpeg = await noise(8, 8).jpeg().toBuffer();
  expect(await problemOf(jpeg, 'png', 'other-file-kind')).toContain(
    'it is a JPEG, and `output.files` asks for PNG: let the worker send that',
  );
  expect(await problemOf(Buffer.from('{"a": NaN}'), 'json')).toContain('it is not JSON');
  expect(await problemOf(Buffer.from('7b22ff227d', 'hex'), 'json')).toContain('it is not JSON');
  const short = glbOf('{"asset":{"version":"2.0"},"buffers":[{"byteLength":40}]}', Buffer.alloc(36));
  expect(await problemOf(short, 'glb')).toContain('its buffer has 36 bytes, and its JSON says 40');
  expect(await problemOf(glbOf('{"asset":{}', Buffer.alloc(4)), 'glb')).toContain('its JSON is not glTF');
  // The damage is within the data of an array. The directory and all sizes are right.
  expect(await problemOf(flipped(npz, 200), 'npz')).toContain(
    'its array depth.npy is damaged: its checksum is wrong',
  );
  expect(await problemOf(flipped(packedNpz, 90), 'npz')).toMatch(/its array depth\.npy is damaged: /);
  expect(await problemOf(Buffer.from('504b0506'.padEnd(44, '0'), 'hex'), 'npz')).toContain(
    'it holds no array',
  );
  const text = await checkFile({ base64: 'out/depth.exr' }, 'exr');
  expect(text).toMatchObject({
    kind: 'bad-file',
    text: expect.stringContaining('the name of a file on the worker'),
  });
});

it('refuses an EXR that its renderer did not finish, and tables that lead nowhere', async () => {
  const bytes = exr(5, 3, { isPacked: false });
  const table = bytes.length - 3 * (8 + 4 + 4 + 24);
  const at = (offset: bigint): Buffer => {
    const copy = Buffer.from(bytes);
    copy.writeBigUInt64LE(offset, table + 8);
    return copy;
  };
  expect(bytes.readBigUInt64LE(table)).toBe(BigInt(table + 24));
  expect(await problemOf(at(0n), 'exr')).toContain('it was not finished: its offset table has gaps');
  expect(await problemOf(at(2n ** 63n), 'exr')).toContain('it is cut: a block is missing in the file');
  expect(await problemOf(at(BigInt(bytes.length - 9)), 'exr')).toMatch(/a block is not whole|is not whole/);
});

it('unpacks no more of an array than its directory says', async () => {
  const zeros = deflateRawSync(Buffer.alloc(10_000_000));
  const start = packedNpz.indexOf('depth.npy') + 'depth.npy'.length + 20;
  const bomb = Buffer.concat([
    packedNpz.subarray(0, start),
    zeros,
    packedNpz.subarray(packedNpz.indexOf('PK\x01\x02')),
  ]);
  const directory = bomb.lastIndexOf('PK\x01\x02');
  bomb.writeUInt32LE(zeros.length, directory + 20);
  bomb.writeUInt32LE(directory, bomb.length - 6);
  expect(await problemOf(bomb, 'npz')).toContain('it is longer than the ZIP directory says');
});
