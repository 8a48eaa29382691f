/**
 * Promise: with `check.decode`, a clip is saved only if ffmpeg decodes every frame. Nothing is sent if ffmpeg
 * is missing. Files that ffmpeg makes are whole, and have the facts that ffprobe finds.
 */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  clipEndings,
  type ClipFacts,
  clipFormats,
  type ClipFormat,
  clipKinds,
} from '../../../src/runner/core/clip.ts';
import type { UncheckedPicture } from '../../../src/runner/core/picture.ts';
import { withDecoding } from '../../../src/runner/images/ffmpeg.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { clip } from '../../fakes/clips.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { random, sampled } from '../../fakes/tier.ts';
import { temporaryFolder } from './store.ts';

const noFfmpeg = spawnSync('ffmpeg', ['-version']).status !== 0;

const storeOf = () => withDecoding(createImageStore(folderPlace(temporaryFolder())));

const provenance = { id: 'a' } as never;

const whole = createImageStore(memoryPlace());

const unchecked = (bytes: Buffer, format: ClipFormat): UncheckedPicture => ({
  bytes,
  named: { label: 'clip', kind: clipKinds[clipFormats.indexOf(format)] ?? 'mp4' },
});

const check = (bytes: Buffer, format: ClipFormat) => storeOf().check(unchecked(bytes, format), provenance);

afterEach(() => {
  vi.unstubAllEnvs();
});

it('refuses to start with a message if ffmpeg is missing', async () => {
  vi.stubEnv('PATH', '/nowhere');
  await expect(storeOf().prepare()).rejects.toThrow('`check.decode` needs `ffmpeg`');
});

describe.skipIf(noFfmpeg)('with ffmpeg', () => {
  it('starts', () => storeOf().prepare());

  it.each(clipFormats)('accepts every form of %s that the check accepts', async (format) => {
    for (const form of format === 'MP4'
      ? (['usual', 'open', 'fragmented', 'late'] as const)
      : (['usual', 'open'] as const))
      expect(await check(clip(format, { form, hasSound: true }), format), form).not.toHaveProperty('kind');
  });

  it('refuses a clip whose container is whole and whose frames are not', async () => {
    const bytes = clip('FLAC');
    const video = clip('MP4', { mark: 'a' });
    // The bytes of the first frame become noise. Its offset and size stay the same.
    video.fill(0x55, video.indexOf('mdat') + 12, video.indexOf('mdat') + 400);
    expect(await check(bytes, 'FLAC')).not.toHaveProperty('kind');
    expect(await check(video, 'MP4')).toMatchObject({
      kind: 'bad-clip',
      text: expect.stringContaining('the file clip cannot be used: ffmpeg cannot decode it ('),
    });
  });

  it('real files of all encoders pass both checks, with the facts that ffprobe finds, and not if they are cut', async () => {
    const dir = temporaryFolder();
    for (const [i, made] of sampled(campaign, { ms: 900, least: 5 }).entries()) {
      const [, ending = '', options = ''] = /^(\w+) ?(.*)$/.exec(made) ?? [];
      const path = join(dir, `${i}.${ending}`);
      const format = clipFormats.find((each) => clipEndings[each] === `.${ending}`) ?? 'MP4';
      encode(path, options.split(' ').filter(Boolean));
      const bytes = await readFile(path);
      const checked = await check(bytes, format);
      expect(checked, made).not.toHaveProperty('kind');
      if ('kind' in checked) continue;
      const { width, height, output } = checked;
      expectSame({ width, height, ...output?.clip }, path, made);
      for (let tries = 0; tries < 20; tries += 1) {
        // A WAV may lack the last byte, which only fills its last chunk.
        const shorter = await whole.check(unchecked(bytes.subarray(0, random(bytes.length - 1)), format));
        expect('kind' in shorter || shorter.output?.clip?.isEndOpen, made).toBe(true);
        const flipped = Buffer.from(bytes);
        const place = random(Math.min(bytes.length, 2_000));
        flipped.writeUInt8((bytes[place] ?? 0) ^ (1 << random(8)), place);
        await whole.check(unchecked(flipped, format));
      }
    }
  });
});

/** Endings of files, and the options with which ffmpeg makes them. */
const campaign = [
  'mp4 -c:v libx264 -c:a aac',
  'mp4 -c:v libx264 -c:a aac -movflags faststart -timecode 01:00:00:00',
  'mp4 -c:v libx264 -c:a aac -movflags frag_keyframe+empty_moov -g 5',
  'mp4 -c:v libx264 -c:a aac -movflags cmaf+frag_keyframe -g 5',
  'mp4 -c:v libx264 -c:a aac -movflags frag_keyframe+empty_moov+separate_moof -g 5',
  'mp4 -c:v libx264 -c:a aac -movflags frag_keyframe+empty_moov+omit_tfhd_offset -g 5',
  'mp4 -c:v libx264 -bf 2 -c:a aac -movflags negative_cts_offsets',
  'mp4 -c:v libx264 -c:a aac -movflags rtphint',
  'mp4 -c:v libx264 -an -movflags frag_every_frame+empty_moov',
  'mp4 -c:v libvpx-vp9 -deadline realtime -c:a libopus',
  'mp4 -c:v mpeg4 -c:a libmp3lame',
  'mp4 -c:v mpeg2video -c:a ac3',
  'mp4 -c:v h263 -s 176x144 -c:a aac -f 3gp',
  'mp4 -vn -c:a alac',
  'mov -c:v prores_ks -c:a pcm_s16le',
  'mov -c:v libx264 -c:a alac -timecode 10:00:00:00',
  'mov -c:v qtrle -c:a pcm_mulaw',
  'mov -c:v png -c:a adpcm_ima_qt',
  'mov -c:v mjpeg -pix_fmt yuvj420p -c:a pcm_f32le -movflags faststart',
  'webm -c:v libvpx -deadline realtime -c:a libvorbis',
  'webm -c:v libvpx -deadline realtime -c:a libvorbis -live 1',
  'webm -c:v libvpx -deadline realtime -c:a libopus -cues_to_front 1',
  'webm -c:v libvpx-vp9 -deadline realtime -c:a libopus -cluster_time_limit 200',
  'webm -c:v libvpx -deadline realtime -pix_fmt yuva420p -auto-alt-ref 0 -an',
  'ogg -vn -c:a libvorbis',
  'ogg -vn -c:a libopus',
  'ogg -vn -c:a flac',
  'ogg -c:v libtheora -c:a libvorbis',
  'ogg -c:v libvpx -deadline realtime -c:a libopus',
  'flac -vn',
  'flac -vn -sample_fmt s32 -ar 96000 -frame_size 256',
  'mp3 -vn -b:a 320k',
  'mp3 -vn -q:a 5 -write_id3v1 1',
  'mp3 -vn -ar 8000 -b:a 8k -write_xing 0',
  'wav -vn',
  'wav -vn -c:a pcm_f32le -rf64 always',
  'wav -vn -c:a pcm_s24le -af aformat=channel_layouts=5.1',
  'wav -vn -c:a adpcm_ima_wav -write_bext 1 -metadata description=test',
  'wav -vn -c:a adpcm_ms -ac 2',
  'wav -vn -c:a libmp3lame',
  'wav -vn -c:a g722 -ar 16000',
  'gif -an',
  'gif -an -frames:v 1',
  'gif -an -vf format=rgba,colorkey=red:0.4 -gifflags -offsetting',
];

function encode(path: string, options: string[]): void {
  const sources = ['-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=1', '-f', 'lavfi', '-i', 'sine=d=1:r=48000'];
  const made = spawnSync('ffmpeg', ['-v', 'error', ...sources, ...options, path], { encoding: 'utf8' });
  expect(made, options.join(' ')).toMatchObject({ status: 0 });
}

/** Compares facts with those of ffprobe. A duration may differ by a frame. */
function expectSame(facts: { width: number; height: number } & ClipFacts, path: string, made: string): void {
  const entries = 'format=duration:stream=codec_type,codec_name,width,height,avg_frame_rate';
  const probe = spawnSync('ffprobe', ['-v', 'error', '-show_entries', entries, '-of', 'json', path]);
  const { streams, format } = JSON.parse(probe.stdout.toString()) as Probe;
  const video = streams.find(({ codec_type: type }) => type === 'video');
  const [frames = 0, seconds = 1] = video?.avg_frame_rate.split('/').map(Number) ?? [];
  const media = streams.filter(({ codec_type: type }) => type === 'video' || type === 'audio');
  expect(facts, made).toMatchObject({
    width: video?.width ?? 0,
    height: video?.height ?? 0,
    // QuickTime's names of plain samples say little of their form.
    codecs: media.map(({ codec_name: name }) =>
      path.endsWith('.mov') ? name.replace(/^pcm_[sf].*/, 'pcm') : name,
    ),
  });
  // Some streams state no frame rate, and a single frame has none.
  if (frames > 0 && facts.durationMs !== undefined)
    expect(facts.frameRate, made).toBeCloseTo(frames / seconds, 0);
  const { durationMs = 0 } = facts;
  if (format.duration !== undefined && !made.includes('-frames:v 1'))
    expect(Math.abs(durationMs - Number(format.duration) * 1000), `${made}: ${durationMs} ms`).toBeLessThan(
      60,
    );
}

interface Probe {
  streams: {
    codec_type: string;
    codec_name: string;
    width: number;
    height: number;
    avg_frame_rate: string;
  }[];
  format: { duration?: string };
}
