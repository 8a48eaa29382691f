/**
 * Promise: clips are checked, named, verified and adopted as pictures are, in a folder and in a bucket. A
 * clip is never read into memory as a whole.
 */
import { createHash } from 'node:crypto';
import { existsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clipEndings, clipFormats, isSound } from '../../../src/runner/core/clip.ts';
import type { Picture, ReceivedFile, SavedPicture } from '../../../src/runner/core/picture.ts';
import type { Provenance, ProvenanceWriter } from '../../../src/runner/core/provenance.ts';
import { newestRules } from '../../../src/runner/core/scene.ts';
import { bucketPlace } from '../../../src/runner/images/bucket-place.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore, type ImageStoreOptions } from '../../../src/runner/images/image-store.ts';
import { inspectPicture } from '../../../src/runner/images/inspect-picture.ts';
import { digestIn, type Place, readBytes } from '../../../src/runner/images/place.ts';
import { copyPicture, inspector } from '../../../src/runner/images/saved-files.ts';
import { copyMaker, sidecarMaker } from '../../../src/runner/images/sidecars.ts';
import { clip } from '../../fakes/clips.ts';
import { rest } from '../../fakes/tier.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { MemoryStore } from '../../fakes/memory-store.ts';
import { temporaryFolder } from './store.ts';

const places: [string, () => Promise<Place>][] = [
  ['a folder', async () => folderPlace(join(temporaryFolder(), 'images'))],
  ['a bucket', async () => bucketPlace(await (await MemoryStore.start()).open('s3://any/night/'), 'images/')],
];

const writer: ProvenanceWriter = { program: 'nightrender 1.2.3', rules: newestRules };
const provenance: Provenance = {
  scene: 'sea',
  prompt: 'the sea',
  input: { prompt: 'the sea' },
  seed: '7',
  number: 1,
  jobId: 'job-1',
  endpoint: { baseUrl: 'http://service', id: 'clips', version: 'v2' },
};

describe.each(places)('in %s', (where, open) => {
  it.each(clipFormats)(
    '%s is saved as it came, with its facts and a sidecar, and without copies',
    async (format) => {
      const { place, store } = await opened(open);
      const bytes = clip(format, { seconds: 2 });
      const received = receivedFile(bytes);
      const checked = (await store.check({ received, isClip: true }, provenance)) as Picture;
      expect(checked).toMatchObject({ format, sha256: digestOf(bytes), received });
      const isSeen = !isSound(format);
      expect([checked.width, checked.height]).toEqual(isSeen ? [64, 48] : [0, 0]);
      expect(checked.output?.clip).toBeDefined();
      expect('isClip' in checked).toBe(false);
      await store.write(checked, `a${clipEndings[format]}`);
      // The poster of a clip in a bucket is made from the received file.
      expect(existsSync(received.path)).toBe(where === 'a bucket');
      expect(await namesIn(place)).toEqual([`a${clipEndings[format]}`, 'a.json'].toSorted());
      expect((await place.read(`a${clipEndings[format]}`))?.equals(bytes)).toBe(true);
      expect(JSON.parse(String(await place.read('a.json')))).toMatchObject({
        jobId: 'job-1',
        picture: { sha256: digestOf(bytes) },
      });
    },
  );

  it('a clip in an answer is saved too', async () => {
    const { place, store } = await opened(open);
    const bytes = clip('WAV');
    for (const held of [{ bytes }, { base64: `data:audio/wav;base64,${bytes.toString('base64')}` }])
      await store.write((await store.check({ ...held, isClip: true })) as Picture, 'a.wav');
    expect((await place.read('a.wav'))?.equals(bytes)).toBe(true);
  });

  it('a clip is adopted with its facts, and with its provenance if the sidecar is of it', async () => {
    const { place, store } = await opened(open);
    const bytes = clip('MP4', { seconds: 2 });
    await store.write((await store.check({ received: receivedFile(bytes) }, provenance)) as Picture, 'a.mp4');
    await place.put('b.webm', clip('WebM'));
    await place.put('c.mp4', clip('MOV'));
    await place.put('a.png', Buffer.from('no clip'));
    await place.put('d.mp4.damaged', Buffer.from('kept'));
    expect((await store.list()).toSorted()).toEqual(['a.mp4', 'b.webm', 'c.mp4']);
    const own = await store.examine('a.mp4');
    expect(own).toMatchObject({
      origin: { scene: 'sea', jobId: 'job-1' },
      picture: {
        file: 'a.mp4',
        width: 64,
        height: 48,
        bytes: bytes.length,
        sha256: digestOf(bytes),
        seed: '7',
      },
    });
    expect('picture' in own && own.picture.output?.clip).toBeDefined();
    expect(await store.examine('b.webm')).toMatchObject({ origin: undefined, picture: { file: 'b.webm' } });
    expect(await store.examine('c.mp4')).toEqual({ problem: 'it is MOV, but its name says otherwise' });
    expect(await store.examine('gone.mp4')).toEqual({ problem: 'there is no such file' });
  });

  it('a saved clip is verified: whole, cut, changed or gone', async () => {
    const { place } = await opened(open);
    const bytes = clip('MP4', { bytes: 3_000_000 });
    const saved = { file: 'a.mp4', bytes: bytes.length, sha256: digestOf(bytes), width: 64, height: 48 };
    for (const isDeep of [false, true]) {
      const inspect = inspector(place, isDeep);
      await place.put('a.mp4', bytes);
      expect(await inspect(saved)).toEqual({ kind: 'good' });
      await place.put('a.mp4', bytes.subarray(0, -1));
      expect(await inspect(saved)).toMatchObject({
        kind: 'damaged',
        problem: expect.stringMatching(/instead of/) as string,
      });
      await place.put('a.mp4', flipped(bytes));
      expect(await inspect(saved)).toMatchObject({
        kind: 'damaged',
        problem: expect.stringMatching(/sha256/) as string,
      });
      await place.remove('a.mp4');
      expect(await inspect(saved)).toEqual({ kind: 'missing' });
    }
    // An earlier version saved this clip without checking it.
    const cut = clip('MP4').subarray(0, -5);
    await place.put('a.mp4', cut);
    const recorded = { ...saved, bytes: cut.length, sha256: digestOf(cut) };
    expect(await inspector(place, true)(recorded)).toMatchObject({
      kind: 'damaged',
      problem: expect.stringMatching(/cut/) as string,
    });
  });

  it('a clip is renamed and removed with its sidecar', async () => {
    const { place, store } = await opened(open);
    const checked = (await store.check({ received: receivedFile(clip('MP4')) }, provenance)) as Picture;
    await store.write(checked, 'a.mp4');
    expect(await store.move('a.mp4', 'sea/b.mp4')).toBe(true);
    expect(await namesIn(place)).toEqual(['sea/b.json', 'sea/b.mp4']);
    const saved: SavedPicture = {
      file: 'sea/b.mp4',
      width: 64,
      height: 48,
      bytes: 1,
      sha256: checked.sha256,
    };
    expect(await store.has({ ...saved, bytes: checked.received?.length ?? 0 })).toBe(true);
    await place.remove('sea/b.json');
    await store.complete(saved, provenance);
    expect(await namesIn(place)).toEqual(['sea/b.json', 'sea/b.mp4']);
    await store.remove('sea/b.mp4');
    expect(await namesIn(place)).toEqual([]);
  });

  it('a large clip is copied to another place, unless its bytes are others', async () => {
    const { place } = await opened(open);
    const to = memoryPlace();
    const bytes = clip('MP4', { bytes: readBytes + 1_000 });
    await place.put('a.mp4', bytes);
    await place.put('a.json', Buffer.from('{}'));
    const picture = {
      file: 'a.mp4',
      label: null,
      bytes: bytes.length,
      sha256: digestOf(bytes),
      width: 64,
      height: 48,
      moveTo: null,
    } as Parameters<typeof copyPicture>[2];
    expect(await copyPicture(place, to, picture, ['.json'])).toEqual({ kind: 'good' });
    expect((await to.read('a.mp4'))?.equals(bytes)).toBe(true);
    expect(await namesIn(to)).toEqual(['a.json', 'a.mp4']);
    expect(await copyPicture(place, to, picture, [])).toEqual({ kind: 'good' });
    await place.put('a.mp4', flipped(bytes));
    expect(await copyPicture(place, memoryPlace(), picture, [])).toMatchObject({ kind: 'damaged' });
    expect(await copyPicture(memoryPlace(), memoryPlace(), picture, [])).toEqual({ kind: 'missing' });
  });

  it('a refused clip is kept as .damaged, once, and over no other', async () => {
    const { place, store } = await opened(open);
    const bytes = clip('MP4').subarray(0, -5);
    const refused = await store.check({ received: receivedFile(bytes), isClip: true });
    expect(refused).toMatchObject({
      kind: 'bad-clip',
      text: expect.stringMatching(/^the clip cannot be used: /),
    });
    const keep = (content: Buffer) =>
      store.keepRefused({ received: receivedFile(content) }, 'sea/a.png', 'damaged');
    expect(await keep(bytes)).toBe('sea/a.mp4.damaged');
    expect(await keep(bytes)).toBe('sea/a.mp4.damaged');
    expect(await keep(bytes.subarray(0, -1))).toBe('sea/a.mp4.damaged-2');
    expect(await store.keepRefused({ base64: 'no base64!' }, 'b.png', 'damaged')).toBe('b.damaged');
    expect((await place.read('sea/a.mp4.damaged'))?.equals(bytes)).toBe(true);
    expect(await namesIn(place)).toEqual(['b.damaged', 'sea/a.mp4.damaged', 'sea/a.mp4.damaged-2']);
    expect(await store.list()).toEqual([]);
  });

  it.each([
    ['an AVI', '524946460000000041564920', 'a.avi.kept'],
    ['a Matroska', '1a45dfa3934282886d6174726f736b61', 'a.mkv.kept'],
    ['a TIFF', '49492a00', 'a.tiff.kept'],
    ['a PNG', '89504e470d0a1a0a0000000d49484452', 'a.png.kept'],
    ['anything else', '00', 'a.kept'],
  ])('%s that is not saved is kept with its extension', async (_, hex, name) => {
    const { store } = await opened(open);
    const held = { received: receivedFile(Buffer.from(hex, 'hex')) };
    expect(await store.keepRefused(held, 'a.png', 'kept')).toBe(name);
  });
});

it.each<[string, Buffer, string, RegExp]>([
  ['a page', Buffer.from('<!doctype html><title>Sign in</title>'), 'bad-clip', /an HTML page/],
  ['nothing', Buffer.alloc(0), 'bad-clip', /it is empty/],
  [
    'a picture',
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    'output-unsupported',
    /it is a PNG, and only MP4/,
  ],
  ['an archive', Buffer.from('504b0304', 'hex'), 'output-unsupported', /it is a ZIP archive/],
  [
    'a sound of another format',
    Buffer.from('726966662e91cf11a5d628db04c10000', 'hex'),
    'output-unsupported',
    /it is a sound \(Wave64\), and only MP4/,
  ],
  [
    'a Matroska',
    Buffer.from('1a45dfa3934282886d6174726f736b61', 'hex'),
    'output-unsupported',
    /it is a video \(Matroska\), and only MP4/,
  ],
])('%s in place of a clip is reported, and not rendered again', async (_, bytes, kind, text) => {
  const store = createImageStore(memoryPlace(), { isOfClips: true });
  for (const held of [{ received: receivedFile(bytes) }, { bytes }])
    expect(await store.check(held)).toEqual({
      kind,
      text: expect.stringMatching(text) as string,
      digest: digestOf(bytes),
      ...(kind === 'bad-clip' && bytes.length > 0 && { isText: true }),
    });
});

it('keeps an existing file with the name of a new clip as .former, in whatever format', async () => {
  const { place, store } = await opened(async () => memoryPlace());
  await place.put('a.mp4', Buffer.from('somebody else'));
  await place.put('b.png', Buffer.from('somebody else'));
  const checked = await store.check({ bytes: clip('MP4') });
  for (const file of ['a.mp4', 'a.mp4', 'b.mp4']) await store.write(checked as Picture, file);
  expect(await namesIn(place)).toEqual(['a.mp4', 'a.mp4.former', 'b.mp4', 'b.png.former']);
  expect(store.kept()).toBe(2);
});

it('knows that a clip may exist in any format before it is rendered', async () => {
  const { place, store } = await opened(async () => memoryPlace());
  await place.put('a.webm', clip('WebM'));
  expect(await store.whichExist(['a.png', 'b.png'])).toEqual(['a.webm']);
});

rest.it('verifies a clip of 1 GB in little memory', async () => {
  const dir = temporaryFolder();
  const place = folderPlace(join(dir, 'images'));
  await place.prepare();
  const path = join(dir, 'images', 'a.mp4');
  const start = clip('MP4');
  // The MP4 box of free space is a hole in the file, so it uses no disk space.
  const box = Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('free'), Buffer.alloc(8)]);
  box.writeBigUInt64BE(2n ** 30n, 8);
  writeFileSync(path, Buffer.concat([start, box]));
  truncateSync(path, start.length + 2 ** 30);
  const before = process.resourceUsage().maxRSS;
  const sha256 = (await digestIn(place, 'a.mp4')) ?? '';
  const saved = { file: 'a.mp4', bytes: start.length + 2 ** 30, sha256, width: 64, height: 48 };
  expect(await inspector(place, true)(saved)).toEqual({ kind: 'good' });
  expect(await createImageStore(place, { isOfClips: true }).examine('a.mp4')).toMatchObject({
    picture: saved,
  });
  expect(process.resourceUsage().maxRSS - before, 'kB').toBeLessThan(100_000);
});

it('describes a file, and who made it', async () => {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir), {
    isOfClips: true,
    beside: [sidecarMaker(writer, 'sidecar')],
  });
  const bytes = clip('MP4');
  await store.write((await store.check({ bytes }, provenance)) as Picture, 'a.mp4');
  expect(await inspectPicture(join(dir, 'a.mp4'))).toMatchObject({
    format: 'mp4',
    width: 64,
    height: 48,
    bytes: bytes.length,
    sha256: digestOf(bytes),
    from: 'sidecar',
    isOfThisPicture: true,
    provenance: { jobId: 'job-1' },
  });
  writeFileSync(join(dir, 'b.mp4'), bytes.subarray(0, -5));
  expect(await inspectPicture(join(dir, 'b.mp4'))).toMatchObject({
    problem: expect.stringMatching(/cut/) as string,
  });
  expect(await inspectPicture(join(dir, 'c.mp4'))).toEqual({ problem: 'there is no such file' });
});

async function opened(open: () => Promise<Place>) {
  const place = await open();
  await place.prepare();
  const copies = copyMaker({ format: 'webp', quality: 80 }, () => undefined);
  const options: ImageStoreOptions = { isOfClips: true, beside: [sidecarMaker(writer, 'embed'), copies] };
  return { place, store: createImageStore(place, { ...options, embedsAs: writer }) };
}

function receivedFile(bytes: Buffer): ReceivedFile {
  const path = join(temporaryFolder(), 'received');
  writeFileSync(path, bytes);
  return { path, length: bytes.length, sha256: digestOf(bytes) };
}

function flipped(bytes: Buffer): Buffer {
  const other = Buffer.from(bytes);
  other.writeUInt8(other.readUInt8(bytes.length - 9) ^ 1, bytes.length - 9);
  return other;
}

async function namesIn(place: Place): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of place.list()) names.push(name);
  return names.toSorted();
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
