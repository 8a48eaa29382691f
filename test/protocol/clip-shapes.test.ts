/** Promise: clips are found in the outputs of common workers, and are never confused with pictures. */
import { describe, expect, it, test } from 'vitest';
import { clipFormats, isSound } from '../../src/runner/core/clip.ts';
import { findPictures } from '../../src/protocol/output-shapes.ts';
import { clip } from '../fakes/clips.ts';

const url = 'https://cdn.example/out/1.mp4?sig=a%2Fb';
const other = 'https://cdn.example/out/2.webm';
const bare = 'https://cdn.example/get/17';
const sound = 'https://cdn.example/out/1.mp3';
const poster = 'https://cdn.example/out/1.jpg';
const video = clip('MP4').toString('base64');
const audio = clip('WAV').toString('base64');
const uri = `data:video/mp4;base64,${video}`;
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('video is found in the output of', () => {
  test.each<[string, unknown, object[]]>([
    ['a public endpoint', { video_url: bare, cost: 0.25 }, [{ url: bare }]],
    ['a public endpoint, several', { video_urls: [url, other] }, [{ url }, { url: other }]],
    ['a public endpoint, as its result', { result: url, cost: 0.25 }, [{ url }]],
    ['fal', { video: { url: bare, file_name: 'output.mp4' }, seed: 42 }, [{ url: bare, seed: '42' }]],
    [
      'fal, several',
      { videos: [{ url }, { url: other }], seed: 7 },
      [
        { url, seed: '7' },
        { url: other, seed: '7' },
      ],
    ],
    ['Replicate', url, [{ url }]],
    ['Replicate, without an ending', bare, [{ url: bare }]],
    ['Replicate, several', [url, other], [{ url }, { url: other }]],
    ['Replicate, with a poster', [poster, url], [{ url }]],
    ['a worker', { video: url }, [{ url }]],
    ['a worker, base64', { video, seed: 5 }, [{ base64: video, seed: '5' }]],
    ['a worker, as a data URI', { video_base64: uri }, [{ base64: uri }]],
    [
      'a worker, in a list',
      [
        { video: url, seed: 1 },
        { video: other, seed: 2 },
      ],
      [
        { url, seed: '1' },
        { url: other, seed: '2' },
      ],
    ],
    ['a worker, with its sound', { audio: sound, video: url }, [{ url }]],
    [
      'a worker, as an animation',
      { gif: 'https://cdn.example/a.gif' },
      [{ url: 'https://cdn.example/a.gif' }],
    ],
    ['ComfyUI, into a bucket', { message: url, status: 'success' }, [{ url }]],
    [
      'ComfyUI, 5 and later',
      { images: [{ filename: 'a.mp4', type: 'base64', data: video }] },
      [{ base64: video }],
    ],
    [
      'ComfyUI, beside a picture',
      {
        images: [
          { filename: 'a.png', data: picture },
          { filename: 'a.mp4', data: video },
        ],
      },
      [{ base64: video }],
    ],
    ['ComfyUI, gifs', { gifs: [{ filename: 'a.mp4', type: 'base64', data: video }] }, [{ base64: video }]],
    ["this service's ComfyUI", { videos: [{ filename: 'a.mp4', data: video }] }, [{ base64: video }]],
    ['a worker that says it nowhere else', { data: { clip: { file: url }, thumb: poster } }, [{ url }]],
  ])('%s', (_, output, pictures) => {
    expect(findPictures(output, undefined, { media: 'video' })).toMatchObject({ kind: 'pictures', pictures });
  });
});

describe('sound is found in the output of', () => {
  test.each<[string, unknown, object[]]>([
    ['a public endpoint', { audio_url: bare, cost: 0.01 }, [{ url: bare }]],
    ['fal', { audio: { url: sound, content_type: 'audio/mpeg' } }, [{ url: sound }]],
    ['fal, music', { audio_file: { url: bare, file_size: 5 } }, [{ url: bare }]],
    ['a worker', { audio, sample_rate: 44_100 }, [{ base64: audio }]],
    ['a worker, several', { audios: [sound, bare] }, [{ url: sound }, { url: bare }]],
    ['a worker, with the video', { video: url, audio: sound }, [{ url: sound }]],
    ['a worker that says it nowhere else', { clip: url, track: sound }, [{ url: sound }]],
    ["this service's ComfyUI", { audio: [{ filename: 'a.flac', data: audio }] }, [{ base64: audio }]],
  ])('%s', (_, output, pictures) => {
    expect(findPictures(output, undefined, { media: 'audio' })).toMatchObject({ kind: 'pictures', pictures });
  });
});

it('a configured path names the place of the clip, and a picture there is not a clip', () => {
  const output = { a: { movie: bare, still: poster } };
  expect(findPictures(output, 'a.movie', { media: 'video' })).toMatchObject({ pictures: [{ url: bare }] });
  expect(findPictures(output, 'a.still', { media: 'video' })).toMatchObject({ kind: 'unknown' });
});

it.each(clipFormats)(
  'a clip of the format %s is known by its first bytes, and is never a picture',
  (format) => {
    const base64 = clip(format).toString('base64');
    const output = { images: [base64], model: 'wan' };
    const media = isSound(format) ? 'audio' : 'video';
    expect(findPictures(output, undefined, { media })).toMatchObject({ pictures: [{ base64 }] });
    for (const path of [undefined, 'images[0]'])
      expect(findPictures(output, path)).toEqual({
        kind: 'unknown',
        found: 'a clip at images[0]',
        advice: `set \`output.media: ${media}\` if that is the result`,
        isOtherMedia: true,
      });
    expect(findPictures({ images: [base64, picture] })).toMatchObject({ pictures: [{ base64: picture }] });
  },
);

it.each([
  { video: { url: bare } },
  { video_url: bare, message: 'failed to write the thumbnail' },
  { videos: [url] },
  [url],
  url,
  { image_url: url },
])('%j is kept until output.media is set, whatever else it says', (output) => {
  expect(findPictures(output)).toMatchObject({
    kind: 'unknown',
    advice: 'set `output.media: video` if that is the result',
    isOtherMedia: true,
  });
});

it('names the value found in place of a clip', () => {
  const found = (output: unknown): unknown => findPictures(output, undefined, { media: 'video' });
  expect(found({ images: [poster] })).toMatchObject({
    found: 'a picture at images[0]',
    advice: 'leave output.media out',
    isOtherMedia: true,
  });
  expect(found({ a: url, b: other })).toMatchObject({
    found: '2 clips, at a, b',
    advice: 'choose the one to save with output.media',
  });
  expect(found({ video: 'out/a.mp4' })).toMatchObject({
    advice: 'let the worker return the clip itself, or its https address',
  });
  expect(found({ error: 'out of memory' })).toMatchObject({ kind: 'failure' });
  expect(found({ depth: 3 })).toMatchObject({ kind: 'unknown' });
});
