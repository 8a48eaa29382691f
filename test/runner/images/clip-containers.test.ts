/** Promise: a clip is saved only if its container is whole, and the result says so if the end cannot be proven. */
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clipFormats, type ClipFormat } from '../../../src/runner/core/clip.ts';
import { type ByteSource, sourceOfBytes, sourceOfFile } from '../../../src/runner/images/byte-source.ts';
import { recogniseClip, wholeClip } from '../../../src/runner/images/clip-containers.ts';
import { clip, type ClipOptions } from '../../fakes/clips.ts';
import { random, sampled } from '../../fakes/tier.ts';
import { temporaryFolder } from './store.ts';

const check = (bytes: Buffer, format: ClipFormat) => wholeClip(sourceOfBytes(bytes), format);

const isAccepted = async (bytes: Buffer, format: ClipFormat): Promise<boolean> =>
  !('problem' in (await check(bytes, format)));

/** Every combination of a format and a form that the format supports. */
const forms: [ClipFormat, NonNullable<ClipOptions['form']>][] = [
  ...(['usual', 'open', 'fragmented', 'long', 'late'] as const).map(
    (form) => ['MP4', form] as [ClipFormat, typeof form],
  ),
  ...clipFormats
    .filter((format) => format !== 'MP4')
    .map((format) => [format, 'usual'] as [ClipFormat, 'usual']),
  ...(['WebM', 'WAV', 'MP3', 'FLAC', 'Ogg'] as const).map(
    (format) => [format, 'open'] as [ClipFormat, 'open'],
  ),
];

describe('facts', () => {
  const video = { width: 64, height: 48, durationMs: 2500, frameRate: 8 };
  const sound = { width: 0, height: 0 };
  const facts: [ClipFormat, object][] = [
    ['MP4', { ...video, codecs: ['h264', 'aac'] }],
    ['MOV', { ...video, codecs: ['h264', 'aac'] }],
    ['WebM', { ...video, codecs: ['vp8'] }],
    ['GIF', { width: 64, height: 48, durationMs: 2600, frameRate: 7.692, codecs: ['gif'] }],
    ['WAV', { ...sound, durationMs: 2500, codecs: ['pcm_s16le'] }],
    ['MP3', { ...sound, durationMs: 2508, codecs: ['mp3'] }],
    ['FLAC', { ...sound, durationMs: 2500, codecs: ['flac'] }],
    ['Ogg', { ...sound, durationMs: 2500, codecs: ['opus'] }],
  ];

  it.each(facts)('of %s are duration, size, frame rate and codecs', async (format, wanted) => {
    const bytes = clip(format, { seconds: 2.5, hasSound: true });
    expect(await recogniseClip(sourceOfBytes(bytes.subarray(0, 256)))).toBe(format);
    expect(await check(bytes, format)).toEqual(wanted);
  });

  it.each(forms.filter(([, form]) => form === 'open' || form === 'fragmented'))(
    'of %s (%s) say that the end cannot be proven',
    async (format, form) => {
      expect(await check(clip(format, { form }), format)).toMatchObject({
        isEndOpen: true,
        codecs: [expect.any(String)],
      });
    },
  );

  it('have the frame rate of the samples, and the larger index of a large file', async () => {
    const wanted = { durationMs: 3003, frameRate: 29.97, width: 1280, height: 720 };
    for (const form of ['usual', 'long', 'late'] as const) {
      const bytes = clip('MP4', { seconds: 3.003, frameRate: 29.97, width: 1280, height: 720, form });
      expect(await check(bytes, 'MP4'), form).toMatchObject(wanted);
    }
  });

  it('of WebM are found if the name of its type ends with a NUL, as GStreamer writes it', async () => {
    const bytes = clip('WebM', { form: 'open' });
    const name = bytes.indexOf('webm');
    const size = bytes.indexOf('4282', 0, 'hex') + 2;
    const header = Buffer.concat([
      bytes.subarray(12, size),
      Buffer.from('857765626d00', 'hex'),
      bytes.subarray(name + 4, 12 + bytes.readUIntBE(6, 6)),
    ]);
    const start = Buffer.from('1a45dfa30100000000000000', 'hex');
    start.writeUInt8(header.length, 11);
    const longer = Buffer.concat([start, header, bytes.subarray(12 + bytes.readUIntBE(6, 6))]);
    expect(await recogniseClip(sourceOfBytes(longer.subarray(0, 256)))).toBe('WebM');
    expect(await check(longer, 'WebM')).toEqual(await check(bytes, 'WebM'));
  });

  it('are read from a file as from memory', async () => {
    const path = join(temporaryFolder(), 'a.mp4');
    const bytes = clip('MP4', { bytes: 3_000_000 });
    await writeFile(path, bytes);
    const file = await open(path);
    try {
      expect(await wholeClip(sourceOfFile(file, bytes.length), 'MP4')).toEqual(await check(bytes, 'MP4'));
      expect(await wholeClip(sourceOfFile(file, bytes.length + 1), 'MP4')).toHaveProperty('problem');
    } finally {
      await file.close();
    }
  });
});

describe.each(forms)('%s (%s)', (format, form) => {
  const bytes = clip(format, {
    seconds: format === 'FLAC' ? 2 : 0.3,
    width: 16,
    height: 16,
    hasSound: true,
    form,
  });

  it('is refused wherever it is cut, unless the result says that the end cannot be proven', async () => {
    // Such a form has the same bytes at the start as a shorter clip. An Ogg without its last page is such a form.
    const canBeOpen = form === 'open' || form === 'fragmented' || format === 'Ogg';
    for (let length = 0; length < bytes.length; length += 1) {
      const checked = await check(bytes.subarray(0, length), format);
      if ('problem' in checked)
        expect(checked.problem, `${length} bytes`).toMatch(/^it is (?:not |cut|damaged)/);
      else expect([canBeOpen, checked.isEndOpen], `${length} bytes`).toEqual([true, true]);
    }
  });

  it('is refused if something follows, and accepted if that is only fill', async () => {
    expect(await isAccepted(Buffer.concat([bytes, Buffer.from('\r\n\0 ')]), format)).toBe(true);
    // In these forms, the last chunk has no end, so any following bytes belong to it.
    if (form === 'open' && (format === 'WAV' || format === 'MP4')) return;
    expect(await isAccepted(Buffer.concat([bytes, Buffer.from('<html>it failed</html>')]), format)).toBe(
      false,
    );
  });

  it('is refused as every other format', async () => {
    for (const other of clipFormats.filter((each) => each !== format))
      expect(await check(bytes, other)).toMatchObject({ problem: expect.stringContaining('it is not ') });
  });
});

/** Returns an MP4 with these bytes at the end of its index, which follows the data. */
function withInIndex(more: Buffer): Buffer {
  const bytes = clip('MP4', { hasSound: true, form: 'late' });
  const at = bytes.indexOf('moov') - 4;
  bytes.writeUInt32BE(bytes.readUInt32BE(at) + more.length, at);
  return Buffer.concat([bytes, more]);
}

/** Returns a copy of a file with this 32-bit number `distance` bytes after a name of a box. */
function withNumber(
  bytes: Buffer,
  place: { name: string; distance: number; last?: true },
  value: number,
): Buffer {
  const copy = Buffer.from(bytes);
  const at = place.last ? bytes.lastIndexOf(place.name) : bytes.indexOf(place.name);
  copy.writeUInt32BE(value, at + place.distance);
  return copy;
}

describe('an MP4 that players play is accepted', () => {
  const plain = clip('MP4', { hasSound: true, form: 'late' });

  it.each(['cprt', 'Xtra', 'prfl', 'gpsd', 'trep'])('with a box %s in its index', async (name) => {
    const bytes = withInIndex(Buffer.concat([Buffer.of(0, 0, 0, 12), Buffer.from(`${name}abcd`)]));
    expect(await check(bytes, 'MP4')).toEqual(await check(plain, 'MP4'));
  });

  it('with four zero bytes at the end of its index, and refused with four others', async () => {
    expect(await check(withInIndex(Buffer.alloc(4)), 'MP4')).toEqual(await check(plain, 'MP4'));
    expect(await isAccepted(withInIndex(Buffer.from('abcd')), 'MP4')).toBe(false);
  });

  it('but refused if the name of a box that it needs is damaged by a bit', async () => {
    for (const name of ['mvhd', 'trak', 'trex', 'traf', 'tfhd', 'trun'])
      for (let bit = 0; bit < 32; bit += 1) {
        const bytes = clip('MP4', { hasSound: true, form: 'fragmented' });
        const at = bytes.lastIndexOf(name) + (bit >> 3);
        bytes.writeUInt8((bytes[at] ?? 0) ^ (1 << (bit & 7)), at);
        const isTrep = bytes.includes('trep');
        expect([name, bit, await isAccepted(bytes, 'MP4')]).toEqual([name, bit, isTrep]);
      }
  });

  it('if a chunk or a run without bytes is outside of its data', async () => {
    const chunk = withNumber(plain, { name: 'stco', distance: 12, last: true }, 2 ** 30);
    expect(await isAccepted(chunk, 'MP4')).toBe(false);
    chunk.fill(0, plain.lastIndexOf('stsz') + 16, plain.lastIndexOf('stco') - 4);
    expect(await isAccepted(chunk, 'MP4')).toBe(true);
    const whole = clip('MP4', { hasSound: true, form: 'fragmented' });
    const run = withNumber(whole, { name: 'trun', distance: 12, last: true }, 2 ** 30);
    expect(await isAccepted(run, 'MP4')).toBe(false);
    const entries = whole.lastIndexOf('trun') + 16;
    // The entry of each sample has duration, size and flags.
    for (let i = whole.readUInt32BE(entries - 8); i > 0; i -= 1)
      run.writeUInt32BE(0, entries + (i - 1) * 12 + 4);
    expect(await isAccepted(run, 'MP4')).toBe(true);
  });

  it('if a track of neither video nor sound leads outside of the file', async () => {
    const moved = withNumber(plain, { name: 'stco', distance: 12, last: true }, 2 ** 30);
    const text = Buffer.from(moved);
    text.write('text', moved.indexOf('soun'), 'latin1');
    text.write('nmhd', moved.indexOf('smhd'), 'latin1');
    expect(await check(text, 'MP4')).toMatchObject({ codecs: ['h264'], durationMs: 1000 });
    expect(await isAccepted(moved, 'MP4')).toBe(false);
    const fragmented = clip('MP4', { hasSound: true, form: 'fragmented' });
    const run = { name: 'trun', distance: 12, last: true } as const;
    expect(await isAccepted(withNumber(fragmented, run, 2 ** 30), 'MP4')).toBe(false);
    const other = withNumber(fragmented, run, 2 ** 30);
    other.write('text', other.indexOf('soun'), 'latin1');
    other.write('nmhd', other.indexOf('smhd'), 'latin1');
    expect(await isAccepted(other, 'MP4')).toBe(true);
  });

  it('if it states no duration of its last sample, and refused if it states none of two', async () => {
    const count = plain.readUInt32BE(plain.indexOf('stts') + 12);
    const less = (by: number) => withNumber(plain, { name: 'stts', distance: 12 }, count - by);
    expect(await check(less(1), 'MP4')).toEqual(await check(plain, 'MP4'));
    expect(await isAccepted(less(2), 'MP4')).toBe(false);
  });
});

/**
 * Parts of a file in which a flipped bit cannot be proven, with the reason. Any other flip is refused. A name that ends
 * with `!` stands for the type of a box, chunk or element, and one that ends with `#` for its size.
 */
const unproven: Partial<Record<ClipFormat, Record<string, string>>> = {
  MP4: {
    mdat: 'frames have no checksum: `check: { decode: true }` decodes them',
    'ftyp free mvhd tkhd mdhd hdlr vmhd smhd dref stss trex mfhd tfdt': 'nothing else states these numbers',
    stsd: 'settings of the decoder',
    'stts stsc stsz stco tfhd trun': 'durations, flags, and places that are still inside the data',
    'free! dinf! dref! stss! vmhd! smhd! mfhd! tfdt!':
      'the box becomes an unknown one, and players do without it',
    'trex!': 'becomes `trep`, which belongs there too',
    'vmhd# smhd# tfdt#': 'the box swallows the next one, and players do without both',
  },
  WebM: {
    a3: 'frames have no checksum: `check: { decode: true }` decodes them',
    '4286 42f2 42f3 4287 4285 2ad7b1 4489 7ba9 4d80 5741 73c5 83 86 23e383 b0 ba e7':
      'nothing else states these numbers and names',
    '4286! 42f7! 42f2! 42f3! 4287! 4285! 2ad7b1! 4489! 7ba9! 4d80! 5741! 73c5! 83! 23e383!':
      'readers pass over unknown elements',
    'e7! a3!': 'becomes another element that belongs there',
    '2ad7b1# 7ba9# 86#': 'the element swallows the next one, and players do without both',
  },
  WAV: {
    data: 'samples have no checksum',
    'LIST LIST! INAM': 'texts, which players do without',
    'RIFF#': 'a size of the file that is too small: programs write wrong ones, and the chunks have their own',
    'fmt ': 'the tag of a format that is as long',
  },
};

const bitsOf = (from: number, end: number): number[] =>
  Array.from({ length: (end - from) * 8 }, (_, i) => from * 8 + i);

/** Returns those of `bits` whose flip the check does not notice. */
async function unnoticed(bytes: Buffer, format: ClipFormat, bits: readonly number[]): Promise<number[]> {
  const found: number[] = [];
  for (const bit of bits) {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8((bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)), bit >> 3);
    if (await isAccepted(flipped, format)) found.push(bit);
  }
  return found;
}

describe('a WAV of a program that does not know, or miscounts, its own length', () => {
  const whole = clip('WAV', { seconds: 1, hasSound: true });
  const data = whole.indexOf('data');

  function withSizes(file: number, samples = whole.readUInt32LE(data + 4), bytes = whole): Buffer {
    const changed = Buffer.from(bytes);
    changed.writeUInt32LE(file, 4);
    changed.writeUInt32LE(samples, data + 4);
    return changed;
  }

  it.each([
    ['the length of the file', withSizes(whole.length)],
    ['8 bytes too few', withSizes(whole.length - 16)],
    ['nothing', withSizes(0)],
    ['nothing of a chunk at the end', Buffer.concat([whole, Buffer.from('LIST\x04\0\0\0INFO', 'latin1')])],
  ])('is accepted if it states %s', async (_, bytes) => {
    expect(await check(bytes, 'WAV')).toEqual(await check(whole, 'WAV'));
  });

  it.each([0, data, 0xffffffff])('is accepted with an open end if it was streamed (%i)', async (file) => {
    const samples = whole.subarray(0, data + 8 + whole.readUInt32LE(data + 4));
    expect(await check(withSizes(file, 0, samples), 'WAV')).toMatchObject({
      isEndOpen: true,
      durationMs: 1000,
    });
  });
});

describe('a flipped bit', () => {
  const small = { seconds: 0.3, width: 16, height: 16, hasSound: true };

  it.each([
    ['MP4', 'usual'],
    ['MP4', 'fragmented'],
    ['WebM', 'usual'],
    ['WAV', 'usual'],
  ] as const)('in a %s (%s) is refused, but for parts that nothing proves', async (format, form) => {
    const bytes = clip(format, { ...small, seconds: format === 'WAV' ? 0.01 : 0.3, form });
    const bits = sampled(bitsOf(0, bytes.length), { ms: 0.2, least: 2_000 });
    const parts = (await unnoticed(bytes, format, bits)).map((bit) => partOf(bytes, format, bit >> 3));
    const expected = Object.keys(unproven[format] ?? {}).flatMap((names) =>
      names === 'fmt ' ? [names] : names.split(' '),
    );
    expect(expected).toEqual(expect.arrayContaining([...new Set(parts)]));
  });

  it('in an Ogg is refused, and in the frames of a FLAC', async () => {
    const ogg = clip('Ogg', small);
    expect(await unnoticed(ogg, 'Ogg', bitsOf(0, ogg.length))).toEqual([]);
    const flac = clip('FLAC', { seconds: 3 });
    const frames = flac.indexOf(Buffer.from('fff8', 'hex'));
    expect(await unnoticed(flac, 'FLAC', bitsOf(frames, flac.length))).toEqual([]);
  });

  it('in the headers of the frames of an MP3, and of the blocks of a GIF, is refused', async () => {
    const mp3 = clip('MP3', small);
    // The first three of the four bytes hold sync, version, layer, bit rate and sample rate. The rest changes
    // how a frame sounds.
    const headers = allOf(mp3, 'fffb').flatMap((at) => bitsOf(at, at + 3).filter((bit) => bit % 24 !== 8));
    const sound = (await unnoticed(mp3, 'MP3', headers)).map(
      (bit) => (bit >> 3) - (allOf(mp3, 'fffb')[0] ?? 0),
    );
    expect(new Set(sound.map((at) => at % 104))).toEqual(new Set([1, 2]));
    const gif = clip('GIF', small);
    const starts = [...allOf(gif, '21f904'), ...allOf(gif, '2c00000000'), gif.length - 1];
    expect(
      await unnoticed(
        gif,
        'GIF',
        starts.flatMap((at) => bitsOf(at, at + 1)),
      ),
    ).toEqual([]);
  });
});

function allOf(bytes: Buffer, hex: string): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(hex, 0, 'hex'); at !== -1; at = bytes.indexOf(hex, at + 1, 'hex'))
    found.push(at);
  return found;
}

const containers =
  /^(?:moov|trak|mdia|minf|stbl|dinf|mvex|moof|traf|1a45dfa3|18538067|1549a966|1654ae6b|ae|e0|1f43b675|RIFF)$/;

/** Returns the name of the innermost part at this place. */
function partOf(bytes: Buffer, format: ClipFormat, place: number): string {
  let [at, end, name] = [0, bytes.length, ''];
  while (at < end) {
    const { type, typeEnd, sizeAt, from, size } = head(bytes, format, at);
    if (place >= from + size) {
      at = from + size + (format === 'WAV' ? size % 2 : 0);
      continue;
    }
    if (place < from)
      return place >= sizeAt && (format === 'MP4' ? place < at + 4 : true) ? `${type}#` : `${type}!`;
    name = type;
    if (!containers.test(type)) break;
    end = from + size;
    at = from + (type === 'RIFF' ? 4 : 0);
    if (place < at || typeEnd === 0) break;
  }
  return name;
}

/** Reads the head of a box, chunk or element. Sizes of elements have eight bytes. */
function head(bytes: Buffer, format: ClipFormat, at: number) {
  if (format === 'MP4')
    return {
      type: bytes.toString('latin1', at + 4, at + 8),
      typeEnd: at + 8,
      sizeAt: at,
      from: at + 8,
      size: bytes.readUInt32BE(at) - 8,
    };
  if (format === 'WAV')
    return {
      type: bytes.toString('latin1', at, at + 4),
      typeEnd: at + 4,
      sizeAt: at + 4,
      from: at + 8,
      size: bytes.readUInt32LE(at + 4),
    };
  const typeEnd = at + Math.clz32(bytes[at] ?? 0) - 23;
  return {
    type: bytes.toString('hex', at, typeEnd),
    typeEnd,
    sizeAt: typeEnd,
    from: typeEnd + 8,
    size: bytes.readUIntBE(typeEnd + 2, 6),
  };
}

/**
 * Returns a source of `length` bytes: `start`, then `others` repeated. The bytes are never all in memory, and
 * the source counts what is read.
 */
function endless(length: number, start: Buffer, others: Buffer) {
  const repeated = Buffer.alloc(200_000 * others.length, others);
  const seen = { bytes: 0, most: 0 };
  const source: ByteSource = {
    length,
    read: async (at, wanted) => {
      const from = Math.max(0, at - start.length) % others.length;
      const bytes = Buffer.concat([start.subarray(at), repeated.subarray(from)]).subarray(
        0,
        Math.min(wanted, length - at),
      );
      seen.bytes += bytes.length;
      seen.most = Math.max(seen.most, bytes.length);
      return bytes;
    },
  };
  return { source, seen };
}

describe('a hostile or huge file', () => {
  it.each([
    ['MP4', clip('MP4').subarray(0, 32), Buffer.from('0000000866726565', 'hex')],
    ['GIF', clip('GIF').subarray(0, 397), Buffer.from('21fe00', 'hex')],
    ['WebM', clip('WebM', { form: 'open' }).subarray(0, 104), Buffer.from('ec80', 'hex')],
  ] as const)('of endless empty parts (%s) is refused after some of them', async (format, start, part) => {
    const { source, seen } = endless(10 ** 7, start, part);
    expect(await wholeClip(source, format)).toEqual({
      problem: 'it has so many parts for its size that it cannot be checked',
    });
    expect(seen.most).toBeLessThanOrEqual(131_072);
  });

  it('with 2 GB of data is read only if it has headers', async () => {
    const { source, seen } = endless(2 * 10 ** 9, clip('MP4', { form: 'open' }), Buffer.of(7));
    expect(await wholeClip(source, 'MP4')).toMatchObject({ width: 64, durationMs: 1000, isEndOpen: true });
    expect(seen.bytes).toBeLessThan(1_000_000);
  });

  it('whose tables refer to more data than it has is rejected', async () => {
    const bytes = clip('MP4');
    for (const type of ['stsz', 'stsc', 'stco', 'stts', 'stsd'])
      for (const count of [2 ** 32 - 1, 2 ** 31, 100_000]) {
        const damaged = Buffer.from(bytes);
        const at = damaged.indexOf(type) + (type === 'stsz' ? 12 : 8);
        damaged.writeUInt32BE(count, at);
        expect([type, count, await isAccepted(damaged, 'MP4')]).toEqual([type, count, type === 'stsd']);
      }
  });

  it('of random bytes ends with a reason', async () => {
    for (const [format, form] of forms)
      for (let i = 0; i < 50; i += 1) {
        const bytes = clip(format, { seconds: 0.3, width: 16, height: 16, form });
        for (let n = random(20) + 1; n > 0; n -= 1) bytes.writeUInt8(random(256), random(bytes.length));
        const checked = await check(bytes, format);
        expect('problem' in checked ? checked.problem : checked.codecs).toBeDefined();
      }
  });
});
