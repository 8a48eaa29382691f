/** Recognizes clips, which are video and sound, and checks their containers from end to end without decoding. `checkClip` (check-clip.ts) checks a result with it. */
import type { ClipFacts, ClipFormat } from '../core/clip.ts';
import { type ByteSource, ClipProblem, ClipReader } from './byte-source.ts';
import { checkMp4 } from './check-mp4.ts';
import { checkFlac, checkOgg } from './check-flac-ogg.ts';
import { beginsWithMp3, checkMp3, checkWav, id3Bytes } from './check-sound.ts';
import { checkWebm } from './check-webm.ts';
import type { Unusable } from './decoding.ts';

type WholeClip = { width: number; height: number } & ClipFacts;

/** Returns the format of a clip by its first bytes. Undefined if it is none. */
export async function recogniseClip(source: ByteSource): Promise<ClipFormat | undefined> {
  const beginning = await source.read(0, 4096);
  const start = beginning.toString('hex', 0, 256);
  const known = beginnings.find(([, pattern]) => pattern.test(start));
  if (known !== undefined) return known[0];
  const tagBytes = id3Bytes(beginning);
  if (tagBytes === 0) return beginsWithMp3(beginning) ? 'MP3' : undefined;
  return (await source.read(tagBytes, 4)).toString('latin1') === 'fLaC' ? 'FLAC' : 'MP3';
}

/** Formats by their first bytes in hex. */
const beginnings: readonly [ClipFormat, RegExp][] = [
  // `ftyp` of QuickTime, or one of the boxes with which older files begin.
  ['MOV', /^.{8}(?:6674797071742020|6d6f6f76|6d646174|77696465|66726565|736b6970|706e6f74)/],
  // Pictures in the same container are AVIF, HEIF, JPEG 2000 and CR3.
  ['MP4', /^.{8}66747970(?!61766966|61766973|6865|6d696631|6d736631|637278|6a70)/],
  // GStreamer counts a NUL after the name.
  ['WebM', /^1a45dfa3(?:..)*?4282(?:(?:84|0100000000000004|4004|200004|10000004)7765626d|857765626d00)/],
  ['GIF', /^47494638(?:37|39)61/],
  ['WAV', /^(?:52494646|52463634).{8}57415645/],
  ['FLAC', /^664c6143/],
  ['Ogg', /^4f676753/],
  // A tag (APE), which hardly any other format begins with.
  ['MP3', /^4150455441474558/],
];

/** Returns the facts of a sound clip, or what is wrong with it. Reads it once, forward, in pieces of 128 KiB. */
export async function wholeClip(source: ByteSource, format: ClipFormat): Promise<WholeClip | Unusable> {
  try {
    const found = await recogniseClip(source);
    if (found !== format)
      return {
        problem: `it is not ${articled(format)}: ${found ? `it is ${articled(found)}` : 'its first bytes differ'}`,
      };
    return await checks[format](new ClipReader(source));
  } catch (error) {
    if (error instanceof ClipProblem) return { problem: error.message };
    throw error;
  }
}

function articled(format: ClipFormat): string {
  return /^(?:MP|Ogg)/.test(format) ? `an ${format}` : `a ${format}`;
}

const checks: Record<ClipFormat, (reader: ClipReader) => Promise<WholeClip>> = {
  MP4: checkMp4,
  MOV: checkMp4,
  WebM: checkWebm,
  GIF: checkGif,
  WAV: checkWav,
  MP3: checkMp3,
  FLAC: checkFlac,
  Ogg: checkOgg,
};

/** Checks the blocks of a GIF up to its trailer. */
async function checkGif(reader: ClipReader): Promise<WholeClip> {
  const head = await reader.bytes(6, 7);
  const [width, height] = [head.readUInt16LE(0), head.readUInt16LE(2)];
  if (width * height === 0) throw new ClipProblem(`it is damaged: its size is ${width}×${height}`);
  let [place, frames, durationMs, delay] = [13 + paletteBytes(head.readUInt8(4)), 0, 0, 0];
  // Some programs write NULs before the trailer. Players end at the first, so no frame may follow.
  let isOver = false;
  for (;;) {
    const kind = (await reader.bytes(place, 1)).readUInt8();
    if (kind === 0x3b) break;
    if (kind === 0) {
      isOver = true;
      reader.countPart();
      place += 1;
      continue;
    }
    if (isOver || (kind !== 0x21 && kind !== 0x2c))
      throw new ClipProblem(`it is damaged: no block begins at byte ${place.toLocaleString('en')}`);
    if (kind === 0x2c) {
      const image = await reader.bytes(place, 10);
      place += 10 + paletteBytes(image.readUInt8(9));
      const codeBits = (await reader.bytes(place, 1)).readUInt8();
      if (image.readUInt16LE(5) * image.readUInt16LE(7) === 0 || codeBits < 2 || codeBits > 8)
        throw new ClipProblem('it is damaged: the header of a frame is wrong');
      place += 1;
      if ((await reader.bytes(place, 1)).readUInt8() === 0)
        throw new ClipProblem('it is damaged: a frame has no data');
      frames += 1;
      // Players take 100 ms instead of a delay below 20 ms.
      durationMs += delay < 2 ? 100 : delay * 10;
    } else {
      if ((await reader.bytes(place, 3)).readUInt16BE(1) === 0xf904)
        delay = (await reader.bytes(place + 3, 4)).readUInt16LE(1);
      place += 2;
    }
    reader.countPart();
    place = await afterBlocks(reader, place);
  }
  if (frames === 0) throw new ClipProblem('it is damaged: it has no frame');
  if (place + 1 < reader.length && !(await reader.isFill(place + 1)))
    throw new ClipProblem('it is damaged: something follows its end');
  const frameRate = Math.round((frames * 1_000_000) / durationMs) / 1000;
  return { width, height, codecs: ['gif'], ...(frames > 1 && { durationMs, frameRate }) };
}

/** Returns the offset after a chain of blocks, each with its size before it, which ends with an empty one. */
async function afterBlocks(reader: ClipReader, start: number): Promise<number> {
  for (let at = start; ;) {
    const piece = await reader.piece(at);
    let i = 0;
    for (; i < piece.length; i += 1 + (piece[i] ?? 0)) if (piece[i] === 0) return at + i + 1;
    at += i;
  }
}

function paletteBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}
