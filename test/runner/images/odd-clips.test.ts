/** Promise: a clip that players play is accepted in whatever form programs write it, and states its true facts. */
import { describe, expect, it } from 'vitest';
import type { ClipFormat } from '../../../src/runner/core/clip.ts';
import { sourceOfBytes } from '../../../src/runner/images/byte-source.ts';
import { recogniseClip, wholeClip } from '../../../src/runner/images/clip-containers.ts';
import { clip } from '../../fakes/clips.ts';
import { chunk, page } from '../../fakes/sound-clips.ts';

const check = (bytes: Buffer, format: ClipFormat) => wholeClip(sourceOfBytes(bytes), format);

const recognised = (bytes: Buffer) => recogniseClip(sourceOfBytes(bytes));

const cut = { problem: expect.stringMatching(/^it is cut/) as string };

/** A tag (ID3v2) of this many bytes. */
function id3(bytes: number): Buffer {
  const size = [21, 14, 7, 0].map((shift) => ((bytes - 10) >> shift) & 127);
  return Buffer.concat([Buffer.from('ID3\x04\0\0'), Buffer.from(size), Buffer.alloc(bytes - 10)]);
}

function apeTag(): Buffer {
  const items = Buffer.from('\x04\0\0\0\0\0\0\0abc\0data');
  const edge = (flags: number): Buffer => {
    const bytes = Buffer.alloc(32);
    bytes.write('APETAGEX');
    bytes.writeUInt32LE(2000, 8);
    bytes.writeUInt32LE(items.length + 32, 12);
    bytes.writeUInt32LE(1, 16);
    bytes.writeUInt32LE(flags, 20);
    return bytes;
  };
  return Buffer.concat([edge(0xa0000000), items, edge(0x80000000)]);
}

describe('an MP3', () => {
  const first = clip('MP3', { seconds: 1 });
  const second = clip('MP3', { seconds: 2 });
  const bare = second.subarray(second.indexOf('fffb', 0, 'hex'));
  const id3v1 = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125)]);

  it.each<[string, Buffer[]]>([
    ['nothing', [bare]],
    ['a tag of its end (ID3v1)', [id3v1, bare]],
    ['a tag of its beginning (ID3v2)', [second]],
    ['both', [id3v1, second]],
    ['an APE tag', [apeTag(), bare]],
  ])('that another was joined to, with %s between, has the sound of both', async (_, rest) => {
    const joined = Buffer.concat([first, ...rest]);
    const frames = 38 + 77;
    const wanted = { codecs: ['mp3'], width: 0, height: 0, durationMs: Math.round(frames * 26.1224) };
    expect(await check(joined, 'MP3')).toEqual(wanted);
    expect(await check(joined.subarray(0, -104), 'MP3')).toEqual({
      problem: 'it is cut: it has 76 of its 77 frames',
    });
    expect(await check(Buffer.concat([first.subarray(0, -104), ...rest]), 'MP3')).toEqual({
      problem: 'it is cut: it has 37 of its 38 frames',
    });
  });

  it('that one without a number of frames was joined to has an end that cannot be proven', async () => {
    const open = clip('MP3', { form: 'open' });
    expect(
      await check(Buffer.concat([first, open.subarray(open.indexOf('fffb', 0, 'hex'))]), 'MP3'),
    ).toMatchObject({
      durationMs: 1985,
      isEndOpen: true,
    });
  });

  it('whose tag in the middle or at the end is torn is refused', async () => {
    for (const tag of [id3v1, id3(500), apeTag()])
      expect(await check(Buffer.concat([first, tag.subarray(0, 60)]), 'MP3')).toEqual(cut);
  });

  it.each([
    ['NULs', Buffer.alloc(600)],
    ['line ends', Buffer.from('\r\n\r\n')],
    ['an APE tag', apeTag()],
    ['two tags', Buffer.concat([id3(100), id3(200)])],
    ['a tag and NULs', Buffer.concat([id3(100), Buffer.alloc(2000)])],
  ])('behind %s is recognized', async (_, front) => {
    const bytes = Buffer.concat([front, bare]);
    expect(await recognised(bytes)).toBe('MP3');
    expect(await check(bytes, 'MP3')).toEqual(await check(bare, 'MP3'));
  });

  it('is not seen in NULs and bytes that only begin like a frame', async () => {
    for (const bytes of ['', 'fffb10c4', 'fffb10c4'.padEnd(300, '0'), 'fffb00c4'.padEnd(9000, '0')])
      expect(await recognised(Buffer.concat([Buffer.alloc(9), Buffer.from(bytes, 'hex')]))).toBeUndefined();
  });

  describe('whose frames state no bit rate', () => {
    /** Returns the frames without bit rate. Each third frame has a byte more, and says so. */
    function free(bytes: Buffer): Buffer {
      const start = bytes.indexOf('fffb', 0, 'hex');
      const frames = Array.from({ length: (bytes.length - start) / 104 }, (_, i) => {
        const frame = Buffer.from(bytes.subarray(start + i * 104, start + (i + 1) * 104));
        frame.writeUInt8(i % 3 === 0 ? 0x02 : 0x00, 2);
        return i % 3 === 0 ? Buffer.concat([frame, Buffer.alloc(1)]) : frame;
      });
      return Buffer.concat([bytes.subarray(0, start), ...frames]);
    }

    it.each(['usual', 'open'] as const)(
      'is accepted (%s), and refused if it is cut or damaged',
      async (form) => {
        const bytes = free(clip('MP3', { form }));
        expect(await recognised(bytes)).toBe('MP3');
        expect(await check(bytes, 'MP3')).toEqual(await check(clip('MP3', { form }), 'MP3'));
        for (const missing of [1, 50, 103])
          expect(await check(bytes.subarray(0, -missing), 'MP3')).toHaveProperty('problem');
        const without = Buffer.concat([bytes.subarray(0, 1000), bytes.subarray(1001)]);
        expect(await check(without, 'MP3')).toHaveProperty(
          'problem',
          expect.stringMatching(/no frame begins/),
        );
      },
    );
  });
});

describe('a FLAC behind a tag of MP3', () => {
  const bytes = clip('FLAC', { seconds: 2 });

  it.each([100, 5_000, 300_000])('of %i bytes is a FLAC', async (size) => {
    const tagged = Buffer.concat([id3(size), bytes]);
    expect(await recognised(tagged)).toBe('FLAC');
    expect(await check(tagged, 'FLAC')).toEqual(await check(bytes, 'FLAC'));
    expect(await check(tagged.subarray(0, -1), 'FLAC')).toEqual({
      problem: expect.stringMatching(/^it is cut/) as string,
    });
  });

  it('that is cut is refused', async () => {
    expect(await check(id3(300).subarray(0, 200), 'MP3')).toEqual(cut);
  });
});

it('a GIF with NULs before its end is accepted, and refused if players would stop at them', async () => {
  const bytes = clip('GIF');
  const withNuls = (place: number): Buffer =>
    Buffer.concat([bytes.subarray(0, place), Buffer.alloc(2), bytes.subarray(place)]);
  const odd = withNuls(bytes.length - 1);
  expect(await check(odd, 'GIF')).toEqual(await check(bytes, 'GIF'));
  expect(await check(odd.subarray(0, -1), 'GIF')).toEqual(cut);
  for (const place of [bytes.indexOf('21f904', 0, 'hex'), bytes.lastIndexOf('21f904', undefined, 'hex')])
    expect(await check(withNuls(place), 'GIF')).toEqual({
      problem: expect.stringMatching(/^it is damaged: no block begins at byte/) as string,
    });
});

describe('a WAV of compressed sound', () => {
  const le32 = (n: number): Buffer => Buffer.from(Uint32Array.of(n).buffer);

  /** A WAV with 10,000 bytes of sound at 8 kHz. `samples`: those that `fact` states. */
  function wav(codec: number, bytesPerSecond: number, samples?: number, dataBytes = 10_000): Buffer {
    const format = Buffer.alloc(16);
    format.writeUInt16LE(codec);
    format.writeUInt16LE(1, 2);
    format.writeUInt32LE(8000, 4);
    format.writeUInt32LE(bytesPerSecond, 8);
    format.writeUInt16LE(codec === 1 ? 2 : 256, 12);
    format.writeUInt16LE(codec === 1 ? 16 : 4, 14);
    const data = chunk('data', Buffer.alloc(10_000));
    data.writeUInt32LE(dataBytes, 4);
    const chunks = [
      chunk('fmt ', format),
      ...(samples === undefined ? [] : [chunk('fact', le32(samples))]),
      data,
    ];
    const content = Buffer.concat([Buffer.from('WAVE'), ...chunks]);
    return Buffer.concat([Buffer.from('RIFF'), le32(content.length), content]);
  }

  it.each<[string, Buffer, object]>([
    ['its number of samples', wav(0x11, 4064, 20_000), { codecs: ['adpcm_ima_wav'], durationMs: 2500 }],
    ['it without bytes a second', wav(0x55, 0, 24_000), { codecs: ['mp3'], durationMs: 3000 }],
    ['bytes a second alone', wav(2, 5000), { codecs: ['adpcm_ms'], durationMs: 2000 }],
    ['no number, as a program that streams', wav(2, 5000, 0), { durationMs: 2000 }],
    ['no number in another way', wav(2, 5000, 0xffffffff), { durationMs: 2000 }],
    ['neither', wav(0x55, 0), { codecs: ['mp3'] }],
    ['a wrong number of plain samples', wav(1, 16_000, 9), { codecs: ['pcm_s16le'], durationMs: 625 }],
    ['a number, and streams', wav(2, 5000, 3, 0xffffffff), { durationMs: 2000, isEndOpen: true }],
  ])('has the duration that its header gives if it states %s', async (_, bytes, wanted) => {
    const found = await check(bytes, 'WAV');
    expect(found).toMatchObject(wanted);
    expect('durationMs' in found).toBe('durationMs' in wanted);
  });
});

it('a WAV that another was joined to is refused, because players play only the first', async () => {
  const [first, second] = [clip('WAV'), clip('WAV', { seconds: 2 })];
  const place = first.length.toLocaleString('en');
  expect(await check(Buffer.concat([first, second]), 'WAV')).toEqual({
    problem: `it is mixed up: another WAV begins at byte ${place}, which players pass over`,
  });
});

describe('an Ogg of video', () => {
  const sound = { width: 64, height: 48, frameRate: 24, durationMs: 2000 };

  /** 48 frames of 64×48 at 24 a second in an Ogg whose granules count as those of this codec. */
  function ogg(head: Buffer, granule: bigint): Buffer {
    const frames = Array<Buffer>(48).fill(Buffer.alloc(20, 7));
    return Buffer.concat([
      page([head], 0, 0, 2),
      page([Buffer.alloc(9)], 0, 1, 0),
      page(frames, granule, 2, 4),
    ]);
  }

  it('by Theora has size, frame rate and duration', async () => {
    const head = Buffer.alloc(42);
    head.write('\x80theora\x03\x02\x01', 'latin1');
    head.writeUIntBE(64, 14, 3);
    head.writeUIntBE(48, 17, 3);
    head.writeUInt32BE(24_000, 22);
    head.writeUInt32BE(1000, 26);
    // Six bits of each position count the frames after a key frame.
    head.writeUInt16BE(6 << 5, 40);
    const bytes = ogg(head, (33n << 6n) | 15n);
    expect(await check(bytes, 'Ogg')).toEqual({ ...sound, codecs: ['theora'] });
    expect(await check(bytes.subarray(0, -1), 'Ogg')).toEqual(cut);
  });

  it('by VP8 has size, frame rate and duration', async () => {
    const head = Buffer.alloc(26);
    head.write('OVP80\x01\x01\x00', 'latin1');
    head.writeUInt16BE(64, 8);
    head.writeUInt16BE(48, 10);
    head.writeUInt32BE(48, 18);
    head.writeUInt32BE(2, 22);
    expect(await check(ogg(head, (48n << 32n) | (9n << 3n)), 'Ogg')).toEqual({ ...sound, codecs: ['vp8'] });
  });

  it('without a frame rate has no duration', async () => {
    const head = Buffer.alloc(42);
    head.write('\x80theora', 'latin1');
    head.writeUIntBE(64, 14, 3);
    head.writeUIntBE(48, 17, 3);
    expect(await check(ogg(head, 48n), 'Ogg')).toEqual({ width: 64, height: 48, codecs: ['theora'] });
  });
});

describe('an MP4 or MOV', () => {
  it.each([
    ['AVdn', 'dnxhd'],
    ['dvcp', 'dvvideo'],
    ['dvh1', 'hevc'],
    ['Hap1', 'hap'],
    ['s263', 'h263'],
    ['rle ', 'qtrle'],
    ['2vuy', 'rawvideo'],
    ['v210', 'v210'],
  ])('with the codec %s has its usual name', async (code, name) => {
    const bytes = clip('MOV');
    bytes.write(code, bytes.indexOf('avc1'), 'latin1');
    expect(await check(bytes, 'MOV')).toMatchObject({ codecs: [name], width: 64, height: 48 });
  });

  it.each([
    [0x69, 'mp3'],
    [0xa9, 'dts'],
    [0x40, 'aac'],
  ])('with sound of the type %i has its name', async (type, name) => {
    const bytes = clip('MP4', { hasSound: true });
    // After version, two descriptors and their sizes.
    bytes.writeUInt8(type, bytes.indexOf('esds') + 8 + 7);
    expect(await check(bytes, 'MP4')).toMatchObject({ codecs: ['h264', name] });
  });
});
