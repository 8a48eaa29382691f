/** Small valid clips of every format, made without an encoder. ffmpeg decodes each of them without an error. */
import { createHash } from 'node:crypto';
import type { ClipFormat } from '../../src/runner/core/clip.ts';
import { flac, mp3, ogg, wav } from './sound-clips.ts';

export interface ClipOptions {
  /** Duration. Default: 1. */
  seconds?: number;
  /** Width in pixels. Default: 64×48. A WebM of another size has a valid container, but decoders refuse its frame. */
  width?: number;
  height?: number;
  /** Frames a second; 8 by default. */
  frameRate?: number;
  /** Text that is inside the file, so that contents differ. It also gives an MP4 or MOV its colour. */
  mark?: string;
  /** Minimum size of the file in bytes. The filling is inside boxes of the clip, so a truncated clip is always detected. */
  bytes?: number;
  /** True adds a track of silence to an MP4 or MOV. */
  hasSound?: boolean;
  /**
   * `open`: the file does not state its end (`mdat` of size 0, WebM of unknown size, WAV of size 0xFFFFFFFF, MP3
   * without a count, FLAC of unknown length, Ogg without a last page). `fragmented`: MP4 or MOV with `moof`. `long`:
   * 64-bit sizes and offsets. `late`: `moov` after `mdat`, as cameras and encoders write it.
   */
  form?: 'usual' | 'open' | 'fragmented' | 'long' | 'late';
}

export type Wanted = Required<ClipOptions>;

/** Returns a whole file of this format. */
export function clip(format: ClipFormat, options: ClipOptions = {}): Buffer {
  const wanted: Wanted = {
    seconds: 1,
    width: 64,
    height: 48,
    frameRate: 8,
    mark: 'clip',
    bytes: 0,
    hasSound: false,
    form: 'usual',
    ...options,
  };
  const bare = makers[format](wanted, 0);
  return bare.length < wanted.bytes ? makers[format](wanted, wanted.bytes - bare.length) : bare;
}

/** Functions that make a file of each format with at least `filling` bytes that players skip. */
const makers: Record<ClipFormat, (wanted: Wanted, filling: number) => Buffer> = {
  MP4: (wanted, filling) => mp4(wanted, filling, 'isom'),
  MOV: (wanted, filling) => mp4(wanted, filling, 'qt  '),
  WebM: webm,
  GIF: gif,
  WAV: wav,
  MP3: mp3,
  FLAC: flac,
  Ogg: ogg,
};

const u16 = (...numbers: number[]): Buffer => Buffer.from(numbers.flatMap((n) => [(n >> 8) & 255, n & 255]));
const u32 = (...numbers: number[]): Buffer =>
  Buffer.concat(
    numbers.map((n) => {
      const four = Buffer.alloc(4);
      four.writeUInt32BE(n % 2 ** 32);
      return four;
    }),
  );
const u64 = (n: number): Buffer => u32(Math.floor(n / 2 ** 32), n);
const zeros = (bytes: number): Buffer => Buffer.alloc(bytes);

/** Returns bytes that differ by position, so that a test notices a piece at a wrong position. */
const fill = (bytes: number, mark: string): Buffer =>
  bytes === 0 ? zeros(0) : Buffer.alloc(bytes, createHash('sha512').update(mark).digest().subarray(0, 61));

/** Returns a box of ISO BMFF (ISO/IEC 14496-12). */
const box = (type: string, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([u32(content.length + 8), Buffer.from(type, 'latin1'), content]);
};
const fullBox = (type: string, versionAndFlags: number, ...parts: Buffer[]): Buffer =>
  box(type, u32(versionAndFlags), ...parts);

/** Samples of one track, and the fields of the boxes that describe them. */
interface Track {
  id: number;
  isSound: boolean;
  samples: Buffer[];
  /** Units of time in a second. `step` is the duration of each sample in these units. */
  timescale: number;
  step: number;
  /** The sample entry in `stsd`. */
  entry: Buffer;
}

const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

function mp4(wanted: Wanted, filling: number, brand: string): Buffer {
  const { form, mark } = wanted;
  const tracks = [videoTrack(wanted), ...(wanted.hasSound ? [silentTrack(wanted)] : [])];
  const start = Buffer.concat([
    box('ftyp', Buffer.from(brand), u32(512), Buffer.from(brand === 'isom' ? 'isomiso2avc1mp41' : 'qt  ')),
    box('free', Buffer.from(mark)),
  ]);
  if (form === 'fragmented') return fragmented(start, tracks, wanted, filling);
  const isLong = form === 'long';
  const head = isLong ? 16 : 8;
  const data = Buffer.concat([...tracks.flatMap(({ samples }) => samples), fill(filling, mark)]);
  const moov = (at: number): Buffer => movie(tracks, wanted, at);
  const mdat =
    form === 'open'
      ? Buffer.concat([u32(0), Buffer.from('mdat'), data])
      : Buffer.concat([
          u32(isLong ? 1 : data.length + head),
          Buffer.from('mdat'),
          isLong ? u64(data.length + head) : zeros(0),
          data,
        ]);
  if (form === 'late') return Buffer.concat([start, mdat, moov(start.length + head)]);
  return Buffer.concat([start, moov(start.length + moov(0).length + head), mdat]);
}

/** Returns the box `moov`. `at`: place of the first sample in the file; undefined if the samples are in fragments. */
function movie(tracks: Track[], { seconds, width, height, form }: Wanted, at: number | undefined): Buffer {
  const isLong = form === 'long';
  const ms = at === undefined ? 0 : Math.round(seconds * 1000);
  let place = at ?? 0;
  const traks = tracks.map(({ id, isSound, samples, timescale, step, entry }) => {
    const count = at === undefined ? 0 : samples.length;
    const table = box(
      'stbl',
      fullBox('stsd', 0, u32(1), entry),
      fullBox('stts', 0, ...(count === 0 ? [u32(0)] : [u32(1, count, step)])),
      ...(isSound || count === 0 ? [] : [fullBox('stss', 0, u32(1, 1))]),
      fullBox('stsc', 0, ...(count === 0 ? [u32(0)] : [u32(1, 1, count, 1)])),
      fullBox('stsz', 0, u32(0, count, ...samples.slice(0, count).map(({ length }) => length))),
      isLong
        ? fullBox('co64', 0, u32(1), u64(place))
        : fullBox('stco', 0, ...(count === 0 ? [u32(0)] : [u32(1, place)])),
    );
    place += samples.reduce((sum, { length }) => sum + length, 0);
    const size = isSound ? u32(0, 0) : u32(width * 0x10000, height * 0x10000);
    const tkhd = fullBox('tkhd', 3, u32(0, 0, id, 0, ms, 0, 0, 0), u16(isSound ? 0x100 : 0, 0), matrix, size);
    const handler = fullBox(
      'hdlr',
      0,
      u32(0),
      Buffer.from(isSound ? 'soun' : 'vide'),
      zeros(12),
      Buffer.of(0),
    );
    const header = isSound ? fullBox('smhd', 0, zeros(4)) : fullBox('vmhd', 1, zeros(8));
    const media = box('minf', header, box('dinf', fullBox('dref', 0, u32(1), fullBox('url ', 1))), table);
    const mdhd = fullBox('mdhd', 0, u32(0, 0, timescale, count * step), u16(0x55c4, 0));
    return box('trak', tkhd, box('mdia', mdhd, handler, media));
  });
  const mvhd = fullBox(
    'mvhd',
    0,
    u32(0, 0, 1000, ms, 0x10000),
    u16(0x100),
    zeros(10),
    matrix,
    zeros(24),
    u32(3),
  );
  const fragmentDefaults =
    at === undefined ? [box('mvex', ...tracks.map(({ id }) => fullBox('trex', 0, u32(id, 1, 0, 0, 0))))] : [];
  return box('moov', mvhd, ...traks, ...fragmentDefaults);
}

/** Returns a file with two fragments, each with half of the samples of each track. */
function fragmented(start: Buffer, tracks: Track[], wanted: Wanted, filling: number): Buffer {
  const fragment = (half: 0 | 1): Buffer => {
    const runs = tracks.map((track) => {
      const middle = Math.ceil(track.samples.length / 2);
      return {
        ...track,
        first: half === 0 ? 0 : middle,
        run: half === 0 ? track.samples.slice(0, middle) : track.samples.slice(middle),
      };
    });
    const moof = (at: number): Buffer => {
      let place = at;
      const trafs = runs.map(({ id, first, run, step, isSound }) => {
        const entries = run.flatMap(({ length }, i) => [
          step,
          length,
          isSound || first + i === 0 ? 0x2000000 : 0x1010000,
        ]);
        const trun = fullBox('trun', 0x701, u32(run.length, place, ...entries));
        place += run.reduce((sum, { length }) => sum + length, 0);
        return box('traf', fullBox('tfhd', 0x20000, u32(id)), fullBox('tfdt', 0, u32(first * step)), trun);
      });
      return box('moof', fullBox('mfhd', 0, u32(half + 1)), ...trafs);
    };
    const data = runs.flatMap(({ run }) => run);
    return Buffer.concat([
      moof(moof(0).length + 8),
      box('mdat', ...data, fill(half === 0 ? filling : 0, wanted.mark)),
    ]);
  };
  return Buffer.concat([start, movie(tracks, wanted, undefined), fragment(0), fragment(1)]);
}

/**
 * Returns a track of H.264 (baseline). The first frame is one colour in raw macroblocks (I_PCM), and all further frames
 * repeat it.
 */
function videoTrack({ seconds, width, height, frameRate, mark }: Wanted): Track {
  const [columns, rows] = [Math.ceil(width / 16), Math.ceil(height / 16)];
  const crop =
    width % 16 === 0 && height % 16 === 0
      ? '0'
      : `1${[0, (columns * 16 - width) / 2, 0, (rows * 16 - height) / 2].map(ue).join('')}`;
  const sps = unit(
    0x67,
    `${byte(66)}${byte(0xc0)}${byte(31)}${ue(0)}${ue(0)}${ue(2)}${ue(1)}0${ue(columns - 1)}${ue(rows - 1)}11${crop}0`,
  );
  const pps = unit(0x68, `${ue(0)}${ue(0)}00${ue(0)}${ue(0)}${ue(0)}000${ue(0)}${ue(0)}${ue(0)}000`);
  const colours = createHash('sha256').update(mark).digest();
  const [luma = 0, cb = 0, cr = 0] = colours.map((n) => 64 + (n >> 1));
  const macroblock = Buffer.concat([Buffer.alloc(256, luma), Buffer.alloc(64, cb), Buffer.alloc(64, cr)]);
  const head = padded(`${ue(0)}${ue(7)}${ue(0)}0000${ue(0)}00${ue(0)}${ue(25)}`);
  const next = Buffer.concat([bits(padded(ue(25))), macroblock]);
  const first = Buffer.concat([
    Buffer.of(0x65),
    bits(head),
    macroblock,
    ...Array<Buffer>(columns * rows - 1).fill(next),
    Buffer.of(0x80),
  ]);
  const samples = Array.from({ length: Math.max(1, Math.round(seconds * frameRate)) }, (_, i) => {
    const number = (i % 16).toString(2).padStart(4, '0');
    const repeat = unit(0x41, `${ue(0)}${ue(5)}${ue(0)}${number}000${ue(0)}${ue(columns * rows)}`);
    const nal = i === 0 ? first : repeat;
    return Buffer.concat([u32(nal.length), nal]);
  });
  const avcC = box(
    'avcC',
    Buffer.of(1, 66, 0xc0, 31, 0xff, 0xe1),
    u16(sps.length),
    sps,
    Buffer.of(1),
    u16(pps.length),
    pps,
  );
  const entry = box(
    'avc1',
    zeros(6),
    u16(1),
    zeros(16),
    u16(width, height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    zeros(32),
    u16(24, 0xffff),
    avcC,
  );
  return { id: 1, isSound: false, samples, timescale: Math.round(frameRate * 1000), step: 1000, entry };
}

/** Returns the Exponential-Golomb code of H.264 for `n`. */
const ue = (n: number): string => {
  const code = (n + 1).toString(2);
  return '0'.repeat(code.length - 1) + code;
};
const byte = (n: number): string => n.toString(2).padStart(8, '0');
const padded = (text: string): string => text.padEnd(Math.ceil(text.length / 8) * 8, '0');
const bits = (text: string): Buffer =>
  Buffer.from((text.match(/.{8}/g) ?? []).map((each) => Number.parseInt(each, 2)));
/** Returns a unit with its end bit, and with a 3 inside two zeros that would look like the start of a unit. */
const unit = (type: number, text: string): Buffer => {
  const bytes = [type, ...bits(padded(`${text}1`))];
  return Buffer.from(
    bytes.flatMap((each, i) =>
      i > 2 && each <= 3 && bytes[i - 1] === 0 && bytes[i - 2] === 0 ? [3, each] : [each],
    ),
  );
};

/** Returns a track of silent AAC, mono. */
function silentTrack({ seconds }: Wanted): Track {
  const silence = Buffer.from('00c800802380', 'hex');
  const descriptor = (tag: number, ...parts: Buffer[]): Buffer => {
    const content = Buffer.concat(parts);
    return Buffer.concat([Buffer.of(tag, content.length), content]);
  };
  const decoder = descriptor(
    4,
    Buffer.of(0x40, 0x15, 0, 0, 0),
    u32(64_000, 64_000),
    descriptor(5, Buffer.of(0x11, 0x88)),
  );
  const esds = fullBox('esds', 0, descriptor(3, u16(2), Buffer.of(0), decoder, descriptor(6, Buffer.of(2))));
  const entry = box('mp4a', zeros(6), u16(1), zeros(8), u16(1, 16, 0, 0), u32(48_000 * 0x10000), esds);
  const samples = Array<Buffer>(Math.max(1, Math.round((seconds * 48_000) / 1024))).fill(silence);
  return { id: 2, isSound: true, samples, timescale: 48_000, step: 1024, entry };
}

/** A blue frame of VP8, 64×48, by libvpx. */
const vp8 = Buffer.from(
  '5003009d012a4000300000470885858885848802020275aa03f8020708d567998f37d200fef936cfffaf32faf32faf32ffaf32ffeef37ede6fdbcdfefc80',
  'hex',
);

/** Returns an element of EBML (RFC 8794), with its size in eight bytes. */
const element = (id: string, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const size = u64(content.length);
  size[0] = 1;
  return Buffer.concat([Buffer.from(id, 'hex'), size, content]);
};
const unknownSize = Buffer.from('01ffffffffffffff', 'hex');
const openElement = (id: string, ...parts: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from(id, 'hex'), unknownSize, ...parts]);

function webm({ seconds, width, height, frameRate, mark, form }: Wanted, filling: number): Buffer {
  const grow = form === 'open' ? openElement : element;
  const frame = Buffer.from(vp8);
  frame.writeUInt16LE(width, 6);
  frame.writeUInt16LE(height, 8);
  const times = Array.from({ length: Math.max(1, Math.round(seconds * frameRate)) }, (_, i) =>
    Math.round((i * 1000) / frameRate),
  );
  const clusters = Array.from({ length: Math.ceil(seconds) }, (_, second) => {
    const inside = times.filter((time) => Math.floor(time / 1000) === second);
    const blocks = inside.map((time) =>
      element('a3', Buffer.of(0x81), u16(time - second * 1000), Buffer.of(0x80), frame),
    );
    return grow('1f43b675', element('e7', u32(second * 1000)), ...blocks);
  });
  const duration = Buffer.alloc(8);
  duration.writeDoubleBE(seconds * 1000);
  const info = element(
    '1549a966',
    element('2ad7b1', u32(1_000_000)),
    ...(form === 'open' ? [] : [element('4489', duration)]),
    element('7ba9', Buffer.from(mark)),
    element('4d80', Buffer.from('test')),
    element('5741', Buffer.from('test')),
  );
  const video = element('e0', element('b0', u16(width)), element('ba', u16(height)));
  const track = element(
    'ae',
    element('d7', Buffer.of(1)),
    element('73c5', Buffer.of(1)),
    element('83', Buffer.of(1)),
    element('86', Buffer.from('V_VP8')),
    element('23e383', u32(Math.round(1e9 / frameRate))),
    video,
  );
  const head = element(
    '1a45dfa3',
    element('4286', Buffer.of(1)),
    element('42f7', Buffer.of(1)),
    element('42f2', Buffer.of(4)),
    element('42f3', Buffer.of(8)),
    element('4282', Buffer.from('webm')),
    element('4287', Buffer.of(2)),
    element('4285', Buffer.of(2)),
  );
  const empty = filling === 0 ? [] : [element('ec', fill(filling, mark))];
  return Buffer.concat([head, grow('18538067', info, element('1654ae6b', track), ...empty, ...clusters)]);
}

/** Returns a GIF whose frames have a single colour each. Its codes of eight bits need no packing. */
function gif({ seconds, width, height, frameRate, mark }: Wanted, filling: number): Buffer {
  const le = (...numbers: number[]): Buffer => u16(...numbers).swap16();
  const blocks = (data: Buffer): Buffer => {
    const parts: Buffer[] = [];
    for (let at = 0; at < data.length; at += 255) {
      const part = data.subarray(at, at + 255);
      parts.push(Buffer.of(part.length), part);
    }
    return Buffer.concat([...parts, Buffer.of(0)]);
  };
  const delay = Math.max(1, Math.round(100 / frameRate));
  const frames = Array.from({ length: Math.max(1, Math.round(seconds * frameRate)) }, (_, i) => {
    // Code 128 empties the table before codes would need more than eight bits. Code 129 is the end.
    const pixels = Buffer.alloc(width * height, i % 128);
    const codes: Buffer[] = [];
    for (let at = 0; at < pixels.length; at += 100) codes.push(Buffer.of(128), pixels.subarray(at, at + 100));
    return Buffer.concat([
      Buffer.of(0x21, 0xf9, 4, 0),
      le(delay),
      Buffer.of(0, 0, 0x2c),
      le(0, 0, width, height),
      Buffer.of(0, 7),
      blocks(Buffer.concat([...codes, Buffer.of(129)])),
    ]);
  });
  return Buffer.concat([
    Buffer.from('GIF89a'),
    le(width, height),
    Buffer.of(0xf6, 0, 0),
    Buffer.from(Array.from({ length: 128 }, (_, i) => [i * 2, 255 - i, mark.length % 256]).flat()),
    Buffer.of(0x21, 0xff, 11),
    Buffer.from('NETSCAPE2.0'),
    Buffer.of(3, 1, 0, 0, 0),
    Buffer.of(0x21, 0xfe),
    blocks(Buffer.concat([Buffer.from(mark), fill(filling, mark)])),
    ...frames,
    Buffer.of(0x3b),
  ]);
}
