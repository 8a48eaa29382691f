/**
 * Promise: a clip has its first frame as a poster if one can be made, and a clip without a poster is not a
 * failure.
 */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ClipFormat } from '../../../src/runner/core/clip.ts';
import { thumbnailOf, withFormat } from '../../../src/runner/core/picture.ts';
import type { RecordedPicture } from '../../../src/runner/core/scene-record.ts';
import { bucketPlace } from '../../../src/runner/images/bucket-place.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { makeMissingThumbnails } from '../../../src/runner/images/missing-files.ts';
import { posterOf } from '../../../src/runner/images/ffmpeg.ts';
import type { Place } from '../../../src/runner/images/place.ts';
import { clip } from '../../fakes/clips.ts';
import { MemoryStore } from '../../fakes/memory-store.ts';
import { temporaryFolder } from './store.ts';

const hasFfmpeg = spawnSync('which', ['ffmpeg']).status === 0;
const size = { width: 64, height: 48 };
const never = new AbortController().signal;

function written(format: ClipFormat, bytes = clip(format)): string {
  const path = join(temporaryFolder(), withFormat('odd: %d name', format));
  writeFileSync(path, bytes);
  return path;
}

const whole = { format: 'jpeg', ...size };

/** Returns facts about the poster in the report. Throws if it is missing. */
function posterIn(folder: string, saved: Parameters<typeof thumbnailOf>[0]) {
  return sharp(join(folder, 'report', thumbnailOf(saved) ?? '')).metadata();
}

it.each<ClipFormat>(hasFfmpeg ? ['MP4', 'MOV', 'WebM', 'GIF'] : ['GIF'])(
  'a poster is the first frame: %s (video only if there is ffmpeg)',
  async (format) => {
    const poster = await posterOf({ source: written(format), format, ...size });
    if (poster === undefined) throw new Error('no poster');
    const { format: is, width, height } = await sharp(poster).metadata();
    expect(is).toBe('jpeg');
    expect(width / height).toBeCloseTo(64 / 48, 1);
  },
);

it.each<[string, ClipFormat, Buffer]>([
  ['sound', 'WAV', clip('WAV')],
  ['noise', 'MP4', Buffer.alloc(10_000, 7)],
  ['an empty file', 'WebM', Buffer.alloc(0)],
  ['a cut animation', 'GIF', clip('GIF').subarray(0, 20)],
  // ffmpeg would read the file that a playlist names.
  ['a playlist', 'MP4', Buffer.from('#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n')],
])('there is no poster of %s', async (_, format, bytes) => {
  expect(await posterOf({ source: written(format, bytes), format, ...size })).toBeUndefined();
});

describe.each<[string, (folder: string) => Promise<Place>]>([
  ['a folder', async (folder) => folderPlace(join(folder, 'images'))],
  ['a bucket', async () => bucketPlace(await (await MemoryStore.start()).open('s3://any/night/'), 'images/')],
])('in %s', (where, open) => {
  it.each(['a received file', 'bytes', 'base64'])(
    'is made when a clip is saved that came as %s, under the name of its content',
    async (how) => {
      const folder = temporaryFolder();
      const store = createImageStore(await open(folder), {
        reportDir: join(folder, 'report'),
        isOfClips: true,
      });
      await store.prepare();
      const bytes = clip('GIF');
      const received = {
        path: join(folder, 'received'),
        length: bytes.length,
        sha256: hash('sha256', bytes),
      };
      writeFileSync(received.path, bytes);
      const ways = { bytes: { bytes }, base64: { base64: bytes.toString('base64') } };
      const checked = await store.check(ways[how as keyof typeof ways] ?? { received });
      if ('kind' in checked) throw new Error(checked.text);
      await store.write(checked, 'a.gif');
      expect(await posterIn(folder, { ...checked, file: 'a.gif', bytes: bytes.length })).toMatchObject(whole);
    },
  );

  it('is made of an adopted clip, unless that would have to be loaded', async () => {
    const folder = temporaryFolder();
    const place = await open(folder);
    const store = createImageStore(place, { reportDir: join(folder, 'report'), isOfClips: true });
    await store.prepare();
    await place.put('a.gif', clip('GIF'));
    const adopted = await store.examine('a.gif');
    if ('problem' in adopted) throw new Error(adopted.problem);
    const poster = posterIn(folder, adopted.picture);
    if (where === 'a folder') expect(await poster).toMatchObject(whole);
    else await expect(poster).rejects.toThrow('missing');
  });
});

it('a poster is made of a video that came as base64 (only if there is ffmpeg)', async () => {
  const poster = await posterOf({ source: clip('MP4'), format: 'MP4', ...size });
  expect(poster === undefined).toBe(!hasFfmpeg);
  // A full disk for temporary files is no failure either.
  vi.stubEnv('TMPDIR', join(temporaryFolder(), 'gone'));
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await posterOf({ source: clip('MP4'), format: 'MP4', ...size })).toBeUndefined();
});

it('a missing poster is made later, but not of a file that has changed', async () => {
  const folder = temporaryFolder();
  const images = folderPlace(join(folder, 'images'));
  mkdirSync(images.name);
  const clips = ['a', 'b'].map((mark) => {
    const bytes = clip('GIF', { mark });
    writeFileSync(join(images.name, `${mark}.gif`), mark === 'b' ? clip('GIF', { mark: 'other' }) : bytes);
    const facts = { file: `${mark}.gif`, ...size, bytes: bytes.length, sha256: hash('sha256', bytes) };
    return { ...facts, label: null, moveTo: null } as RecordedPicture;
  });
  const source = { images, reportCopy: undefined };
  const make = () => makeMissingThumbnails(source, join(folder, 'report'), clips, never, () => undefined);
  expect(await make()).toEqual({ made: 1, lacking: 1 });
  expect(await make()).toEqual({ made: 0, lacking: 1 });
  const [first] = clips;
  expect(await posterIn(folder, first as RecordedPicture)).toMatchObject({ format: 'jpeg' });
});
