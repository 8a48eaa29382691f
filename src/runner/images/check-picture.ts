/** From what a job's output holds to a whole picture, or to the reason why it is none. */
import { createHash } from 'node:crypto';
import { isSound } from '../core/clip.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import type { Picture, UncheckedPicture } from '../core/picture.ts';
import { sourceOfBytes } from './byte-source.ts';
import { recogniseClip } from './clip-containers.ts';
import { blankness, checkPng, headerEnd, isPng, type WholePng } from './check-png.ts';
import {
  damage,
  decodeContent,
  type Demands,
  needsThumbnail,
  pixelsOf,
  recognise,
  strict,
  tooLarge,
  type Unusable,
  type WholePicture,
  loadSharp,
} from './decoding.ts';
import { otherFormat, triedThumbnail } from './other-formats.ts';
import { inflate, inflateSync } from 'node:zlib';
import { promisify } from 'node:util';

/**
 * Checks a picture. PNG bytes are kept unchanged, and so are other formats if `isOriginalKept`; otherwise they are
 * converted to PNG (`otherFormat`). An animated WebP is refused, because keeping one frame would silently lose the
 * others. `finish` returns the content to save.
 */
export async function checkPicture(
  picture: UncheckedPicture,
  demands: Demands,
  finish: (picture: WholePicture) => Buffer = ({ content }) => content,
): Promise<(Picture & Pick<WholePicture, 'format' | 'isSignatureLost'>) | Failure> {
  const decoded = await decodeContent(picture);
  if ('problem' in decoded) return unusable(decoded, 'base64' in picture ? picture.base64 : '');
  const { bytes } = decoded;
  const what = recognise(bytes);
  if ('problem' in what) return (await clipFailure(bytes)) ?? unusable(what, bytes);
  const { format } = what;
  const whole = await (format === 'PNG' ? wholePng(bytes, demands) : otherFormat(bytes, demands, format));
  if ('problem' in whole) return unusable(whole, bytes);
  const { width, height, blank, thumbnail, isSignatureLost = false } = whole;
  if (Math.min(width, height) < demands.minSide)
    return failure('picture-too-small', tooSmall(whole, demands.minSide), bytes);
  if (blank !== undefined) return failure('blank-picture', blank, bytes);
  const content = finish(whole);
  return {
    content,
    format: whole.format,
    width,
    height,
    sha256: sha256Of(content),
    ...(thumbnail !== undefined && { thumbnail }),
    ...(isSignatureLost && { isSignatureLost }),
  };
}

function unusable(
  { problem, isUnsupported = false, kind, isText }: Unusable,
  came: Buffer | string,
): Failure {
  const failed = failure(kind ?? (isUnsupported ? 'output-unsupported' : 'bad-picture'), problem, came);
  return { ...failed, ...(isText && { isText }) };
}

/** Returns the failure of a clip that came where a picture was expected. Undefined if it is none. */
async function clipFailure(bytes: Buffer): Promise<Failure | undefined> {
  const format = await recogniseClip(sourceOfBytes(bytes));
  if (format === undefined) return undefined;
  const media = isSound(format) ? 'audio' : 'video';
  const problem = `it is a clip (${format}); set \`output.media: ${media}\` to save it`;
  return { ...failure('picture-not-found', problem, bytes), isOtherMedia: true };
}

/** Returns the failure of a picture. `came`: received data, whose digest identifies repeated output. */
function failure(kind: FailureKind, problem: string, came: Buffer | string): Failure {
  return { kind, text: `the picture cannot be used: ${problem}`, digest: sha256Of(came) };
}

function sha256Of(came: Buffer | string): string {
  return createHash('sha256').update(came).digest('hex');
}

function tooSmall({ width, height }: { width: number; height: number }, minSide: number): string {
  return `it is ${width}×${height} pixels, and \`check.minSide\` asks for ${minSide} at least`;
}

/** Checks every chunk and pixel of a PNG. Removes fill bytes behind the end unless the original is kept. */
export async function wholePng(file: Buffer, demands: Demands): Promise<WholePicture | Unusable> {
  const checked = checkPng(file);
  if ('problem' in checked) return checked;
  const { width, height, bytes } = checked;
  const content = demands.isOriginalKept ? file : file.subarray(0, bytes);
  const whole: WholePicture = { content, format: 'PNG', width, height, blank: undefined };
  const large = tooLarge(whole, demands.maxPixels);
  if (large !== undefined) return large;
  const isThumbnailWanted = demands.isThumbnailWanted && needsThumbnail(whole);
  const wanted = { ...demands, isThumbnailWanted };
  // Blank pictures can be recognised only by their decoded pixels.
  if (demands.isBlankRefused) return decodedPng(whole, checked, wanted);
  const madeThumbnail = () => triedThumbnail((sharp) => sharp(coloured(checked), strict(demands.maxPixels)));
  if (isThumbnailWanted && !isUnpackedSoon(checked)) {
    const thumbnail = await madeThumbnail();
    // Making the thumbnail has decoded every pixel.
    if (thumbnail !== undefined) return { ...whole, thumbnail };
  }
  const rows = await inflatePixels(checked);
  if (rows === undefined) return decodedPng(whole, checked, wanted);
  if ('problem' in rows) return rows;
  return { ...whole, thumbnail: isThumbnailWanted ? await madeThumbnail() : undefined };
}

/** Returns a saved picture's bytes for a decoder, without PNG chunks that may unpack to a thousand times their size. */
export function pictureToDraw(content: Buffer): { bytes: Buffer } | Unusable {
  if (!isPng(content)) return { bytes: content };
  const checked = checkPng(content);
  return 'problem' in checked ? checked : { bytes: coloured(checked) };
}

/** Returns the bare PNG with its colour profile. */
function coloured({ bare, profile }: WholePng): Buffer {
  if (profile === undefined) return bare;
  return Buffer.concat([bare.subarray(0, headerEnd), profile, bare.subarray(headerEnd)]);
}

async function decodedPng(
  whole: WholePicture,
  { bare, width, height }: WholePng,
  { maxPixels, isBlankRefused, isThumbnailWanted }: Demands,
): Promise<WholePicture | Unusable> {
  const sharp = await loadSharp();
  try {
    const image = sharp(bare, { ...strict(maxPixels), ignoreIcc: true });
    const { data, info } = await pixelsOf(image, isBlankRefused);
    if (info.width !== width || info.height !== height)
      return { problem: 'its size differs from its header' };
    const blank = isBlankRefused ? blankness(data, info.channels) : undefined;
    const thumbnail = isThumbnailWanted
      ? await triedThumbnail(() => sharp(data, { raw: { width, height, channels: info.channels } }))
      : undefined;
    return { ...whole, blank, thumbnail };
  } catch (error) {
    return damage('PNG', error);
  }
}

/** Samples per pixel by colour type: grey, RGB, grey with alpha, RGB with alpha. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };
/** Bits per sample that each colour type may have (PNG specification, 11.2.1). */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  4: [8, 16],
  6: [8, 16],
};
/** Highest filter number. Each row begins with its filter: None, Sub, Up, Average or Paeth. */
const highestFilter = 4;
/** Maximum size of pixel data that is unpacked at once. Larger pictures go to sharp, which holds only a few rows. */
const maxBytes = 8 * 1024 * 1024;
/** Pixel data up to this size is unpacked on this thread, because a round trip to another thread takes longer. */
const fewBytes = 256 * 1024;

const inflateElsewhere = promisify(inflate);

/**
 * Returns all rows of the picture, each with a filter and its samples, or the reason why rows are missing or cannot be
 * drawn. Only unpacking can fail: undoing a row's filter is arithmetic that accepts any bytes. Undefined if only a full
 * decoder can tell (palettes, transparent colours, interlaced or large pictures).
 */
export async function inflatePixels({
  header,
  pixelData,
  isPlain,
}: WholePng): Promise<Buffer | { problem: string } | undefined> {
  const [depth = 0, colour = 0, compression, filter, interlace] = header.subarray(8);
  const perPixel = samples[colour];
  if (!isPlain || perPixel === undefined || interlace !== 0) return undefined;
  if (compression !== 0 || filter !== 0 || !depths[colour]?.includes(depth))
    return { problem: 'it is damaged: its header (IHDR) is invalid' };
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const rowBytes = 1 + Math.ceil((width * perPixel * depth) / 8);
  const size = rowBytes * height;
  if (width === 0 || height === 0 || size > maxBytes) return undefined;
  try {
    // The output is a single chunk. Data beyond the rows throws ERR_BUFFER_TOO_LARGE.
    const options = { chunkSize: Math.max(64, size + 1), maxOutputLength: size };
    const packed = Buffer.concat(pixelData);
    const rows = size <= fewBytes ? inflateSync(packed, options) : await inflateElsewhere(packed, options);
    const problem = problemIn(rows, rowBytes, height);
    return problem === undefined ? rows : { problem };
  } catch (error) {
    // Excess data is harmless, so the picture library decides.
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    return { problem: `its pixel data is cut or damaged (${(error as Error).message})` };
  }
}

/** True if the pixel data is cheap to unpack, which finds data behind the last row that decoders ignore. */
function isUnpackedSoon({ header, width, height }: WholePng): boolean {
  const [depth = 0, colour = 0] = header.subarray(8);
  return (width * height * (samples[colour] ?? 1) * depth) / 8 <= fewBytes;
}

function problemIn(rows: Buffer, rowBytes: number, height: number): string | undefined {
  const size = rowBytes * height;
  if (rows.length < size)
    return `it is damaged: its pixel data has ${rows.length.toLocaleString('en')} bytes instead of ${size.toLocaleString('en')}`;
  for (let row = 0; row < height; row += 1) {
    const filter = rows[row * rowBytes] ?? 0;
    if (filter > highestFilter)
      return `it is damaged in row ${row} of its pixel data: there is no filter ${filter}`;
  }
  return undefined;
}
