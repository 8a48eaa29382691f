/** JPEG, WebP and AVIF: whole, as they came or as PNG. */
import sharp, { type Metadata, type Sharp } from 'sharp';
import type { PictureFormat } from '../core/picture-format.ts';
import { blankness } from './blankness.ts';
import { bytesWithoutFill } from './check-png.ts';
import { isSigned } from './content-credentials.ts';
import type { Unusable } from './decode-base64.ts';
import {
  damage,
  needsThumbnail,
  pixelsOf,
  strict,
  tooLarge,
  type Demands,
  type WholePicture,
} from './decoding.ts';
import { withMetadata } from './png-metadata.ts';
import { triedThumbnail } from './thumbnail.ts';

/**
 * A PNG made of it is upright, and has its colour profile and what it says of its origin (EXIF, XMP, IPTC). What was signed
 * is signed no more then.
 */
export async function otherFormat(
  content: Buffer,
  demands: Demands,
  format: PictureFormat,
): Promise<WholePicture | Unusable> {
  const { maxPixels, isOriginalKept, isThumbnailWanted } = demands;
  try {
    const metadata = await sharp(content, { limitInputPixels: false }).metadata();
    const { width, height, pages = 1 } = metadata;
    const hopeless = tooLarge({ width, height }, maxPixels) ?? (pages > 1 ? animation(pages) : undefined);
    if (hopeless !== undefined) return isCut(content, format) ? cut(format) : hopeless;
    const whole = isOriginalKept
      ? await original(content, demands, format)
      : await converted(content, demands, metadata);
    if ('problem' in whole || !isThumbnailWanted || !needsThumbnail(whole)) return whole;
    // These formats are decoded at the smaller size at once, which takes a fraction of the time.
    return { ...whole, thumbnail: await triedThumbnail(() => sharp(content, strict(maxPixels))) };
  } catch (error) {
    return damage(format, error);
  }
}

/** Its bytes stay, so nothing may be wrong with any of them. */
async function original(
  content: Buffer,
  { maxPixels, isBlankRefused }: Demands,
  format: PictureFormat,
): Promise<WholePicture | Unusable> {
  const { data, info } = await pixelsOf(sharp(content, strict(maxPixels)).autoOrient(), isBlankRefused);
  // It is whole, since it was decoded.
  const bytes = declaredBytes(content, format);
  const isFilled = format === 'JPEG' && bytes >= bytesWithoutFill(content);
  if (bytes !== content.length && !isFilled)
    return { problem: `something follows the end of its ${format} data` };
  const { width, height, channels } = info;
  return { content, format, width, height, blank: isBlankRefused ? blankness(data, channels) : undefined };
}

async function converted(
  bytes: Buffer,
  { maxPixels, isBlankRefused }: Demands,
  metadata: Metadata,
): Promise<WholePicture> {
  const upright = sharp(bytes, strict(maxPixels)).autoOrient();
  const isCmyk = metadata.space === 'cmyk';
  // A CMYK profile does not apply to the RGB of a PNG.
  const image = isCmyk ? upright : upright.keepIccProfile();
  const { data, width, height, blank } = await (isBlankRefused ? checkedAndEncoded(image) : encoded(image));
  const profile = isBlankRefused && !isCmyk ? metadata.icc : undefined;
  const content = withMetadata(data, { ...metadata, icc: profile });
  const isSignatureLost = isSigned(bytes);
  return { content, format: 'PNG', width, height, blank, ...(isSignatureLost && { isSignatureLost }) };
}

interface Encoded {
  data: Buffer;
  width: number;
  height: number;
  blank: string | undefined;
}

async function encoded(image: Sharp): Promise<Encoded> {
  const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, blank: undefined };
}

/** Decoded once, to be checked and encoded; raw pixels carry no profile. */
async function checkedAndEncoded(image: Sharp): Promise<Encoded> {
  const { data, info } = await pixelsOf(image, true);
  const { width, height, channels } = info;
  const blank = blankness(data, channels);
  return {
    data: await sharp(data, { raw: { width, height, channels } }).png().toBuffer(),
    width,
    height,
    blank,
  };
}

function animation(frames: number): Unusable {
  const problem = `it is an animation of ${frames} frames: let the worker send them as pictures`;
  return { problem, isUnsupported: true };
}

function cut(format: PictureFormat): Unusable {
  return { problem: `its ${format} data is cut: its end is missing` };
}

/** What is declared at the beginning of such a file need not be what was sent. */
function isCut(bytes: Buffer, format: PictureFormat): boolean {
  // Both bytes of either marker never follow each other within pixels; some programs put more after the end.
  if (format === 'JPEG')
    return bytes.lastIndexOf(Buffer.of(0xff, 0xd9)) <= bytes.lastIndexOf(Buffer.of(0xff, 0xda));
  return declaredBytes(bytes, format) > bytes.length;
}

/** Of a WebP by its header; of an AVIF by the boxes that it is made of (ISO/IEC 14496-12, 4.2). */
function declaredBytes(bytes: Buffer, format: PictureFormat): number {
  if (format === 'JPEG') return jpegBytes(bytes);
  if (format === 'WebP') {
    const size = bytes.readUInt32LE(4);
    return 8 + size + (size % 2);
  }
  let at = 0;
  while (at < bytes.length) {
    const left = bytes.length - at;
    const short = left < 8 ? Infinity : bytes.readUInt32BE(at);
    const size = short === 1 ? (left < 16 ? Infinity : Number(bytes.readBigUInt64BE(at + 8))) : short;
    // The last one may go on to the end of the file.
    if (size === 0) return bytes.length;
    // Bytes that are no box.
    if (size < 8) return at;
    at += size;
  }
  return at;
}

/** Up to its end, or to that of the further pictures that cameras put behind it, which viewers pass over. */
function jpegBytes(bytes: Buffer): number {
  let end = bytes.length;
  for (let at = 2; at + 2 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] === 0xff && marker === 0xd9) {
      end = at + 2;
      if (end + 2 > bytes.length || bytes.readUInt16BE(end) !== 0xffd8) return end;
      at = end + 2;
    }
    // Within pixels.
    else if (bytes[at] !== 0xff) at = nextOrEnd(bytes, at);
    // There, too: a byte of them, one that fills up, or a mark to begin anew at.
    else if (marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) at += 1;
    else at += at + 4 <= bytes.length ? 2 + bytes.readUInt16BE(at + 2) : 2;
  }
  return end;
}

function nextOrEnd(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(0xff, from);
  return at === -1 ? bytes.length : at;
}
