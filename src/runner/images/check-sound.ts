/** Checks the chunks of a WAV and the frames of an MP3 from end to end. */
import type { ClipFacts } from '../core/clip.ts';
import { ClipProblem, type ClipReader, fillBytes } from './byte-source.ts';

type SoundFacts = { width: number; height: number } & ClipFacts;

const noSize = { width: 0, height: 0 };

const at = (offset: number): string => `byte ${offset.toLocaleString('en')}`;

/** A program that writes into a pipe states this size or more, because it does not know the end. */
const unknownWavBytes = 0x7ffff000;

/** Codecs by the number in `fmt`, except for plain samples. */
const wavCodecs: Record<number, string> = {
  2: 'adpcm_ms',
  6: 'pcm_alaw',
  7: 'pcm_mulaw',
  0x11: 'adpcm_ima_wav',
  0x20: 'adpcm_yamaha',
  0x31: 'gsm_ms',
  0x42: 'g723_1',
  0x45: 'adpcm_g726',
  0x50: 'mp2',
  0x55: 'mp3',
  0xff: 'aac',
  0x160: 'wmav1',
  0x161: 'wmav2',
  0x28f: 'adpcm_g722',
  0x2000: 'ac3',
  0x2001: 'dts',
  0xf1ac: 'flac',
};

export async function checkWav(reader: ClipReader): Promise<SoundFacts> {
  const head = await reader.bytes(0, 12);
  const stated = head.readUInt32LE(4);
  const isLarge = head.toString('latin1', 0, 4) === 'RF64';
  const isUnknown = !isLarge && stated >= unknownWavBytes && stated + 8 > reader.length;
  let isOpen = stated === 0xffffffff && !isLarge;
  // Some programs state the length of the file, or count a last byte that fills a chunk and is not there.
  const lackingBytes = stated + 8 - reader.length;
  if (!isUnknown && !isLarge && lackingBytes > 0 && lackingBytes !== 1 && lackingBytes !== 8)
    throw lacking('the file', reader.length, stated + 8);
  let format: Buffer | undefined;
  let dataBytes: number | undefined;
  let [longData, samples] = [0, 0];
  let place = 12;
  while (place < reader.length && !(place > 12 && (await reader.isFill(place)))) {
    reader.countPart();
    const chunk = await reader.bytes(place, 8);
    const id = chunk.toString('latin1', 0, 4);
    if (!/^[\x20-\x7e]{4}$/.test(id)) throw new ClipProblem(`it is damaged: no chunk begins at ${at(place)}`);
    if (/^R(?:IFF|F64)$/.test(id))
      throw new ClipProblem(`it is mixed up: another WAV begins at ${at(place)}, which players pass over`);
    const left = reader.length - place - 8;
    let bytes = chunk.readUInt32LE(4);
    // A program that could not go back to the beginning states no size of the samples, and none or that of the head for the file.
    const isStreamed = id === 'data' && bytes === 0 && left > 0 && (isUnknown || isOpen || stated <= place);
    if (isStreamed) [bytes, isOpen] = [left, true];
    else if (id === 'data' && isLarge && bytes === 0xffffffff) bytes = longData;
    else if (
      id === 'data' &&
      bytes > left &&
      (bytes === 0xffffffff || (isUnknown && bytes >= unknownWavBytes))
    )
      [bytes, isOpen] = [left, true];
    if (bytes > left) throw lacking(`its chunk ${id.trim()}`, left, bytes);
    if (id === 'ds64' && bytes >= 16)
      longData = Number((await reader.bytes(place + 16, 8)).readBigUInt64LE());
    if (id === 'fact' && bytes >= 4) samples = (await reader.bytes(place + 8, 4)).readUInt32LE();
    if (id === 'fmt ' && bytes >= 16) format = await reader.bytes(place + 8, Math.min(bytes, 40));
    if (id === 'data' && dataBytes !== undefined)
      throw new ClipProblem('it is mixed up: it has two chunks of data');
    if (id === 'data') dataBytes = bytes;
    place += 8 + bytes + (bytes % 2);
  }
  if (!format) throw new ClipProblem('it is damaged: it has no format (fmt)');
  if (dataBytes === undefined) throw new ClipProblem('it is cut: it has no data');
  return {
    ...noSize,
    ...wavFacts(format, dataBytes, isOpen ? 0 : samples),
    ...(isOpen && { isEndOpen: true as const }),
  };
}

function lacking(what: string, there: number, stated: number): ClipProblem {
  return new ClipProblem(
    `it is cut: ${what} has ${there.toLocaleString('en')} of its ${stated.toLocaleString('en')} bytes`,
  );
}

/** `samples`: number of samples by the chunk `fact`, which programs state for all codecs but plain samples. 0 if unknown. */
function wavFacts(format: Buffer, dataBytes: number, samples: number): ClipFacts {
  const tag = format.readUInt16LE(0);
  // The kind of an extensible format follows in its last part.
  const kind = tag === 0xfffe && format.length >= 26 ? format.readUInt16LE(24) : tag;
  const [channels, rate] = [format.readUInt16LE(2), format.readUInt32LE(4)];
  const [bytesPerSecond, block, bits] = [
    format.readUInt32LE(8),
    format.readUInt16LE(12),
    format.readUInt16LE(14),
  ];
  const isPlain = kind === 1 || kind === 3;
  if (
    channels === 0 ||
    rate === 0 ||
    (isPlain && (block !== channels * Math.ceil(bits / 8) || bytesPerSecond !== rate * block))
  )
    throw new ClipProblem('it is damaged: the numbers of its format (fmt) do not agree');
  const whole = bits <= 8 ? 'pcm_u8' : `pcm_s${bits}le`;
  const name = kind === 1 ? whole : kind === 3 ? `pcm_f${bits}le` : wavCodecs[kind];
  const isCounted = !isPlain && samples > 0 && samples < 0xffffffff;
  // Compressed sound has no exact number of bytes a second.
  const seconds = isCounted ? samples / rate : dataBytes / bytesPerSecond;
  return {
    ...(Number.isFinite(seconds) && { durationMs: Math.round(seconds * 1000) }),
    codecs: [name ?? `wav_0x${kind.toString(16)}`],
  };
}

/** Returns the end of the frames: tags (ID3v1, APE, Lyrics3) may follow them. */
export async function endOfFrames(reader: ClipReader): Promise<number> {
  let end = reader.length;
  for (let tags = 0; tags < 4; tags += 1) {
    const [tail, footer, last] = [128, 32, 15].map((bytes) => end - bytes);
    if (tail !== undefined && tail >= 0 && (await text(reader, tail, 3)) === 'TAG') {
      end = tail;
      continue;
    }
    if (footer !== undefined && footer >= 0 && (await text(reader, footer, 8)) === 'APETAGEX') {
      const bytes = await reader.bytes(footer + 12, 12);
      const hasHeader = bytes.readUInt32LE(8) >= 0x80000000;
      end = Math.max(0, end - bytes.readUInt32LE(0) - (hasHeader ? 32 : 0));
      continue;
    }
    const lyrics = last !== undefined && last >= 0 ? await text(reader, last, 15) : '';
    if (!/^\d{6}LYRICS200$/.test(lyrics)) break;
    end = Math.max(0, end - 15 - Number(lyrics.slice(0, 6)));
  }
  return end;
}

async function text(reader: ClipReader, place: number, length: number): Promise<string> {
  return (await reader.bytes(place, length)).toString('latin1');
}

const bitRates = {
  1: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};

interface Mp3Frame {
  bytes: number;
  rate: number;
  samples: number;
  /** Offset at which a frame of information (Xing, Info) has its name. */
  infoAt: number;
}

/** True if these bytes begin with frames of an MP3. Line ends, spaces and NULs may be before the first. */
export function beginsWithMp3(beginning: Buffer): boolean {
  const start = beginning.findIndex((byte) => !fillBytes.includes(byte));
  if (start === -1) return false;
  const bytes = beginning.subarray(start);
  const freeBytes = freeFrameBytes(bytes);
  const frame = mp3Frame(bytes, freeBytes);
  if (frame === undefined) return false;
  const next = bytes.subarray(frame.bytes);
  return next.length < 4 ? start === 0 : mp3Frame(next, freeBytes) !== undefined;
}

/** Maximum size of a frame without a bit rate. LAME writes 2,880 bytes at most, and 4,096 are enough to recognize a clip. */
const maxFreeBytes = 4000;

/**
 * Returns the size, without padding, of a frame that states no bit rate (free format). All frames of the file have it,
 * and only the headers that follow show it. 0 if the frame states its bit rate, or no frames follow.
 */
function freeFrameBytes(bytes: Buffer): number {
  if (bytes[0] !== 0xff || ((bytes[2] ?? 0xff) & 0xf0) !== 0) return 0;
  const paddingOf = (frame: number): number => ((bytes[frame + 2] ?? 0) >> 1) & 1;
  // Only padding, the private bit and the kind of stereo may differ.
  const isAlike = (frame: number): boolean =>
    bytes[frame] === 0xff &&
    bytes[frame + 1] === bytes[1] &&
    ((bytes[frame + 2] ?? 0) & 0xfc) === ((bytes[2] ?? 0) & 0xfc);
  for (let next = 24; next < maxFreeBytes; next += 1) {
    const size = next - paddingOf(0);
    const third = next + size + paddingOf(next);
    if (isAlike(next) && (isAlike(third) || third + 8 > bytes.length)) return size;
  }
  return 0;
}

/**
 * Reads the header of a frame of MPEG audio, layer III. Undefined if the bytes are none. `freeBytes`: size of a frame
 * that states no bit rate; 0 if it is unknown.
 */
function mp3Frame(head: Buffer, freeBytes: number): Mp3Frame | undefined {
  if (head.length < 4 || head[0] !== 0xff) return undefined;
  const [, second = 0, third = 0, fourth = 0] = head;
  const version = (second >> 3) & 3;
  const isFirst = version === 3;
  const kbits = bitRates[isFirst ? 1 : 2][third >> 4];
  const base = [44_100, 48_000, 32_000][(third >> 2) & 3] ?? 0;
  // Version 1 is reserved. Layer III is 1.
  if (second < 0xe0 || version === 1 || ((second >> 1) & 3) !== 1 || kbits === undefined || base === 0)
    return undefined;
  const rate = base / ([4, 1, 2, 1][version] ?? 1);
  const stated = Math.floor(((isFirst ? 144_000 : 72_000) * kbits) / rate);
  const isFree = kbits === 0;
  if (isFree && freeBytes === 0) return undefined;
  const isMono = fourth >> 6 === 3;
  const side = isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  const bytes = (isFree ? freeBytes : stated) + ((third >> 1) & 1);
  return { bytes, rate, samples: isFirst ? 1152 : 576, infoAt: 4 + side };
}

/** Frames of an MP3 up to its end, or up to where another MP3 was joined to it. */
interface Mp3Part {
  frames: number;
  bytes: number;
  /** Numbers that the first frame states, if it is one of information. */
  stated?: { frames?: number; bytes?: number };
}

export async function checkMp3(reader: ClipReader): Promise<SoundFacts> {
  const end = await endOfFrames(reader);
  let part: Mp3Part = { frames: 0, bytes: 0 };
  let [place, frames, rate, samples, freeBytes] = [0, 0, 0, 0, 0];
  while (place < end) {
    reader.countPart();
    const tag = await tagBytes(reader, place);
    if (tag > end - place) throw new ClipProblem('it is cut: its tag (ID3) is not whole');
    place += tag;
    if (tag > 0) continue;
    const head = await reader.bytes(place, Math.min(4, end - place));
    if (freeBytes === 0 && (head[2] ?? 0xff) < 0x10)
      freeBytes = freeFrameBytes(await reader.bytes(place, Math.min(3 * maxFreeBytes, end - place)));
    const frame = mp3Frame(head, freeBytes);
    if (!frame) {
      const next = await afterFill(reader, place, end, frames === 0);
      if (next === undefined) throw new ClipProblem(`it is cut or damaged: no frame begins at ${at(place)}`);
      place = next;
      continue;
    }
    if (frame.bytes > end - place) throw new ClipProblem('it is cut: its last frame is not whole');
    if (rate !== 0 && frame.rate !== rate)
      throw new ClipProblem(`it is mixed up: the frame at ${at(place)} has another sample rate`);
    ({ rate, samples } = frame);
    const stated = await readInfo(reader, place, frame);
    if (stated) {
      refuseCut(part);
      part = { frames: 0, bytes: 0, stated };
    } else {
      part.frames += 1;
      frames += 1;
    }
    part.bytes += frame.bytes;
    place += frame.bytes;
  }
  if (frames === 0) throw new ClipProblem('it is cut: it has no frame');
  refuseCut(part);
  const known = part.stated?.frames;
  // Frames beyond those stated are of another MP3, which was joined and states none.
  const isOpen = known === undefined || part.frames > known + 1;
  return {
    ...noSize,
    durationMs: Math.round((frames * samples * 1000) / rate),
    codecs: ['mp3'],
    ...(isOpen && { isEndOpen: true as const }),
  };
}

/** Throws `ClipProblem` if frames are missing. Some encoders count the frame of information too, and some count bytes in another way. */
function refuseCut({ frames, bytes, stated }: Mp3Part): void {
  const wanted = stated?.frames;
  if (wanted === undefined || frames >= wanted) return;
  const isCut = stated?.bytes === undefined ? frames < wanted - 1 : bytes < stated.bytes;
  if (isCut)
    throw new ClipProblem(
      `it is cut: it has ${frames.toLocaleString('en')} of its ${wanted.toLocaleString('en')} frames`,
    );
}

/** Returns the size of the tag (ID3, APE) at this offset; 0 if there is none. Joined files have tags between frames. */
async function tagBytes(reader: ClipReader, place: number): Promise<number> {
  const head = await reader.bytes(place, Math.min(32, reader.length - place));
  const name = head.toString('latin1', 0, 8);
  if (name.startsWith('TAG')) return 128;
  if (name === 'APETAGEX' && head.length === 32) return 32 + head.readUInt32LE(12);
  return id3Bytes(head);
}

/** Returns the size of a tag (ID3v2) at the beginning of these bytes; 0 if there is none. */
export function id3Bytes(head: Buffer): number {
  if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') return 0;
  const size = head.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
  return 10 + size + ((head[5] ?? 0) & 0x10 ? 10 : 0);
}

/** Returns the end of the fill at this offset: before the first frame, or anything that `isFill` after the last. */
async function afterFill(
  reader: ClipReader,
  place: number,
  end: number,
  isStart: boolean,
): Promise<number | undefined> {
  if (await reader.isFill(place, end)) return end;
  if (!isStart) return undefined;
  const bytes = await reader.bytes(place, Math.min(65_536, end - place));
  const next = bytes.findIndex((byte) => !fillBytes.includes(byte));
  return next > 0 ? place + next : undefined;
}

/** Returns the numbers of a frame of information (Xing, Info, VBRI); undefined if it is another frame. */
async function readInfo(reader: ClipReader, place: number, { bytes, infoAt }: Mp3Frame) {
  const frame = await reader.bytes(place, bytes);
  const name = frame.toString('latin1', infoAt, infoAt + 4);
  if (frame.toString('latin1', 36, 40) === 'VBRI' && bytes >= 54)
    return { bytes: frame.readUInt32BE(46), frames: frame.readUInt32BE(50) };
  if ((name !== 'Xing' && name !== 'Info') || bytes < infoAt + 16) return undefined;
  const flags = frame.readUInt32BE(infoAt + 4);
  const [hasFrames, hasBytes] = [(flags & 1) !== 0, (flags & 2) !== 0];
  return {
    ...(hasFrames && { frames: frame.readUInt32BE(infoAt + 8) }),
    ...(hasBytes && { bytes: frame.readUInt32BE(infoAt + (hasFrames ? 12 : 8)) }),
  };
}
