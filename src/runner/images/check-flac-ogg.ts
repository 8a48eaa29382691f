/** Checks the frames of a FLAC and the pages of an Ogg from end to end, by their checksums. */
import type { ClipFacts } from '../core/clip.ts';
import { ClipProblem, type ClipReader } from './byte-source.ts';
import { endOfFrames, id3Bytes } from './check-sound.ts';

type SoundFacts = { width: number; height: number } & ClipFacts;

const noSize = { width: 0, height: 0 };

const at = (offset: number): string => `byte ${offset.toLocaleString('en')}`;

/** Returns the table of a CRC with the highest bit first. */
function crcTable(width: 8 | 16 | 32, polynomial: number): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let sum = byte << (width - 8);
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & (1 << (width - 1)) ? polynomial : 0) ^ (sum << 1);
    return width === 32 ? sum : sum & ((1 << width) - 1);
  });
}

const crc8 = crcTable(8, 0x07);
const crc16 = crcTable(16, 0x8005);
const crc32 = crcTable(32, 0x04c11db7);

/** Most bytes of a FLAC frame's header. */
const flacHeadBytes = 16;

export async function checkFlac(reader: ClipReader): Promise<SoundFacts> {
  // Some programs put a tag of MP3 in front.
  const start = id3Bytes(await reader.bytes(0, Math.min(10, reader.length)));
  let place = start + 4;
  let info: Buffer | undefined;
  for (let isLast = false; !isLast;) {
    reader.countPart();
    const head = await reader.bytes(place, 4);
    const [type, bytes] = [head.readUInt8(0) & 127, head.readUIntBE(1, 3)];
    isLast = head.readUInt8(0) > 127;
    if (bytes > reader.length - place - 4)
      throw new ClipProblem('it is cut: a block of its header is not whole');
    if (type === 127 || (type === 0) !== (place === start + 4) || (type === 0 && bytes !== 34))
      throw new ClipProblem(`it is damaged: its block at ${at(place)} has no known type`);
    if (type === 0) info = await reader.bytes(place + 4, bytes);
    place += 4 + bytes;
  }
  if (!info) throw new ClipProblem('it is damaged: it has no header (STREAMINFO)');
  const [rate, total] = [info.readUIntBE(10, 3) >> 4, Number(info.readBigUInt64BE(10) & 0xf_ffff_ffffn)];
  if (rate === 0) throw new ClipProblem('it is damaged: its sample rate is 0');
  const samples = await checkFlacFrames(reader, place, await endOfFrames(reader));
  if (total > 0 && samples !== total)
    throw new ClipProblem(
      `it is ${samples < total ? 'cut' : 'mixed up'}: it has ${samples.toLocaleString('en')} samples, and its header says ${total.toLocaleString('en')}`,
    );
  return {
    ...noSize,
    durationMs: Math.round((samples / rate) * 1000),
    codecs: ['flac'],
    ...(total === 0 && { isEndOpen: true as const }),
  };
}

/**
 * Returns the number of samples. A frame states no size: it ends where its checksum, which includes itself, is 0 and
 * the next frame begins.
 */
async function checkFlacFrames(reader: ClipReader, start: number, end: number): Promise<number> {
  let [place, sum, frameAt, soundEnd, samples] = [start, 0, start, start, 0];
  let next: number | undefined;
  while (place < end) {
    const piece = await reader.bytes(place, Math.min(65_536, end - place));
    const scanned = piece.length === end - place ? piece.length : piece.length - flacHeadBytes;
    for (let i = 0; i < scanned; i += 1) {
      const byte = piece[i] ?? 0;
      if (sum === 0 && byte === 0xff) {
        const frame = flacFrame(piece.subarray(i, i + flacHeadBytes));
        if (frame && (next === undefined || next === frame.number)) {
          frameAt = place + i;
          samples += frame.samples;
          next = frame.number + (frame.isFixed ? 1 : frame.samples);
          reader.countPart();
        }
      }
      if (next === undefined) throw new ClipProblem(`it is damaged: no frame begins at ${at(start)}`);
      sum = ((sum << 8) & 0xffff) ^ (crc16[(sum >> 8) ^ byte] ?? 0);
      if (sum === 0) soundEnd = place + i + 1;
    }
    place += scanned;
  }
  if (next === undefined) throw new ClipProblem('it is cut: it has no frame');
  if (soundEnd <= frameAt || !(await reader.isFill(soundEnd, end)))
    throw new ClipProblem(`it is cut or damaged: the checksum of its frame at ${at(frameAt)} is wrong`);
  return samples;
}

/** Reads the header of a FLAC frame (RFC 9639). Undefined if the bytes are none. */
function flacFrame(head: Buffer): { isFixed: boolean; number: number; samples: number } | undefined {
  const [, second = 0, sizes = 0, kind = 0, first = 0] = head;
  if (second >> 1 !== 0x7c || sizes >> 4 === 0 || (sizes & 15) === 15 || kind >> 4 > 10 || (kind & 1) === 1)
    return undefined;
  // The number has the form of UTF-8, with seven bytes at most.
  const more = first < 0x80 ? 0 : Math.clz32(~(first << 24)) - 1;
  if (first >= 0x80 && (more < 1 || more > 6)) return undefined;
  let number = more === 0 ? first : first & (0x3f >> more);
  for (const byte of head.subarray(5, 5 + more)) number = number * 64 + (byte & 63);
  let place = 5 + more;
  const code = sizes >> 4;
  let samples = code === 1 ? 192 : code < 6 ? 576 << (code - 2) : 256 << (code - 8);
  if (code === 6 || code === 7) {
    const bytes = code - 5;
    if (head.length < place + bytes) return undefined;
    samples = head.readUIntBE(place, bytes) + 1;
    place += bytes;
  }
  place += [0, 1, 2, 2][Math.max(0, (sizes & 15) - 11)] ?? 0;
  let sum = 0;
  for (const byte of head.subarray(0, place)) sum = crc8[sum ^ byte] ?? 0;
  if (head[place] !== sum) return undefined;
  return { isFixed: (second & 1) === 0, number, samples };
}

/** One stream of an Ogg. A file may have several, at the same time or one after another. */
interface OggStream {
  codec: string;
  width: number;
  height: number;
  /** Samples or frames a second; 0 if it is unknown. */
  rate: number;
  /** Returns the number of samples or frames up to the position (granule) that a page states. */
  count: (granule: bigint) => number;
  /** Samples at the start that are not played. */
  skipped: number;
  nextPage: number;
  /** True if the last packet so far goes on in the next page. */
  isTorn: boolean;
  isEnded: boolean;
  /** Samples or frames so far. */
  counted: number;
}

const maxOggStreams = 64;

export async function checkOgg(reader: ClipReader): Promise<SoundFacts> {
  let streams = new Map<number, OggStream>();
  let [place, ms] = [0, 0];
  const facts: SoundFacts = { ...noSize, codecs: [] };
  while (place < reader.length && !(place > 0 && (await reader.isFill(place)))) {
    const page = await readOggPage(reader, place);
    // A file may begin anew after all its streams have ended.
    if (streams.size > 0 && [...streams.values()].every(({ isEnded }) => isEnded)) {
      ms += durationOf(streams);
      streams = new Map();
    }
    const { codec, width, height, rate } = takePage(page, streams, place);
    if (codec !== '' && facts.codecs?.includes(codec) === false) facts.codecs.push(codec);
    if (width > 0) Object.assign(facts, { width, height });
    if (width > 0 && rate > 0) facts.frameRate = Math.round(rate * 1000) / 1000;
    place += page.length;
  }
  const last = [...streams.values()];
  if (last.some(({ isTorn }) => isTorn)) throw new ClipProblem('it is cut: its last packet is not whole');
  if (last.every(({ counted }) => counted <= 0)) throw new ClipProblem('it is cut: it has no frame');
  ms += durationOf(streams);
  if (ms > 0) facts.durationMs = Math.round(ms);
  return last.every(({ isEnded }) => isEnded) ? facts : { ...facts, isEndOpen: true };
}

/** Returns the page at this offset, whose checksum is right. */
async function readOggPage(reader: ClipReader, place: number): Promise<Buffer> {
  reader.countPart();
  const head = await reader.bytes(place, Math.min(282, reader.length - place));
  if (head.toString('latin1', 0, 4) !== 'OggS' || (head[4] ?? 0) !== 0)
    throw new ClipProblem(`it is cut or damaged: no page begins at ${at(place)}`);
  const segments = head[26] ?? 0;
  const bytes = head.subarray(27, 27 + segments).reduce((sum, size) => sum + size, 27 + segments);
  if (head.length < 27 + segments || bytes > reader.length - place)
    throw new ClipProblem('it is cut: its last page is not whole');
  const page = await reader.bytes(place, bytes);
  let sum = 0;
  for (let i = 0; i < bytes; i += 1) {
    // The checksum itself counts as zeros.
    const byte = i >= 22 && i < 26 ? 0 : (page[i] ?? 0);
    sum = (sum << 8) ^ (crc32[(sum >>> 24) ^ byte] ?? 0);
  }
  if (sum >>> 0 !== page.readUInt32LE(22))
    throw new ClipProblem(`it is damaged: the checksum of its page at ${at(place)} is wrong`);
  return page;
}

/** Returns the stream of a page, after the page. */
function takePage(page: Buffer, streams: Map<number, OggStream>, place: number): OggStream {
  const [flags, serial, number] = [page.readUInt8(5), page.readUInt32LE(14), page.readUInt32LE(18)];
  const segments = page.readUInt8(26);
  const isFirst = (flags & 2) !== 0;
  if (isFirst && !streams.has(serial)) {
    if (streams.size >= maxOggStreams)
      throw new ClipProblem(`it has more than ${maxOggStreams} streams, and cannot be checked`);
    streams.set(serial, oggStream(page.subarray(27 + segments), number));
  } else if (isFirst) throw new ClipProblem(`it is mixed up: a stream begins twice, at ${at(place)}`);
  const stream = streams.get(serial);
  if (!stream) throw new ClipProblem(`it is mixed up: the page at ${at(place)} belongs to no stream`);
  if (stream.isEnded || stream.nextPage !== number || stream.isTorn !== ((flags & 1) !== 0))
    throw new ClipProblem(`it is mixed up: another page belongs before ${at(place)}`);
  stream.nextPage = (number + 1) % 2 ** 32;
  stream.isEnded = (flags & 4) !== 0;
  if (segments > 0) stream.isTorn = page[26 + segments] === 255;
  const granule = page.readBigInt64LE(6);
  if (granule !== -1n) stream.counted = stream.count(granule);
  return stream;
}

/** Reads the first packet of a stream. */
function oggStream(packet: Buffer, number: number): OggStream {
  const stream = { codec: '', width: 0, height: 0, rate: 0, skipped: 0, count: Number };
  const name = packet.toString('latin1', 0, 8);
  if (name === 'OpusHead' && packet.length >= 19)
    Object.assign(stream, { codec: 'opus', rate: 48_000, skipped: packet.readUInt16LE(10) });
  else if (name.startsWith('\x01vorbis') && packet.length >= 30)
    Object.assign(stream, { codec: 'vorbis', rate: packet.readUInt32LE(12) });
  else if (name.startsWith('\x7fFLAC') && packet.length >= 51)
    Object.assign(stream, { codec: 'flac', rate: packet.readUIntBE(27, 3) >> 4 });
  else if (name.startsWith('Speex') && packet.length >= 80)
    Object.assign(stream, { codec: 'speex', rate: packet.readUInt32LE(36) });
  else if (name.startsWith('\x80theora') && packet.length >= 42)
    Object.assign(stream, {
      codec: 'theora',
      width: packet.readUIntBE(14, 3),
      height: packet.readUIntBE(17, 3),
      rate: ratio(packet.readUInt32BE(22), packet.readUInt32BE(26)),
      count: theoraFrames((packet.readUInt16BE(40) >> 5) & 31),
    });
  else if (name.startsWith('OVP80\x01') && packet.length >= 26)
    Object.assign(stream, {
      codec: 'vp8',
      width: packet.readUInt16BE(8),
      height: packet.readUInt16BE(10),
      rate: ratio(packet.readUInt32BE(18), packet.readUInt32BE(22)),
      count: (granule: bigint) => Number(granule >> 32n),
    });
  return { ...stream, nextPage: number, isTorn: false, isEnded: false, counted: 0 };
}

function durationOf(streams: Map<number, OggStream>): number {
  const each = [...streams.values()].map(({ counted, skipped, rate }) =>
    rate > 0 ? (Math.max(0, counted - skipped) / rate) * 1000 : 0,
  );
  return Math.max(0, ...each);
}

const ratio = (upper: number, lower: number): number => (lower === 0 ? 0 : upper / lower);

/** A position has the number of the last key frame, and in its last bits (`shift`) the frames after that. */
function theoraFrames(shift: number): (granule: bigint) => number {
  return (granule) => Number((granule >> BigInt(shift)) + BigInt.asUintN(shift, granule));
}
