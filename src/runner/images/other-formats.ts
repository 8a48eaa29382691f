/** Checks JPEG, WebP and AVIF, which are kept or converted to PNG, and makes thumbnails. */
import { statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type sharp from 'sharp';
import type { Metadata, Sharp } from 'sharp';
import { temporaryName } from '../../lib/files/temporary-files.ts';
import { FatalFailure } from '../core/failure.ts';
import { earlierThumbnail, type PictureFormat, thumbnailOf, thumbnailSide } from '../core/picture.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { makeFolder } from '../files/folders.ts';
import { blankness, bytesWithoutFill } from './check-png.ts';
import {
  damage,
  type Demands,
  needsThumbnail,
  pixelsOf,
  strict,
  tooLarge,
  type Unusable,
  type WholePicture,
  loadSharp,
} from './decoding.ts';
import { isSigned, withMetadata } from './png-metadata.ts';

/**
 * Checks a JPEG, WebP or AVIF, and converts it to an upright PNG with profile and metadata, unless originals
 * are kept. A signature (C2PA) is lost.
 */
export async function otherFormat(
  content: Buffer,
  demands: Demands,
  format: PictureFormat,
): Promise<WholePicture | Unusable> {
  const { maxPixels, isOriginalKept, isThumbnailWanted } = demands;
  const sharp = await loadSharp();
  try {
    const metadata = await sharp(content, { limitInputPixels: false }).metadata();
    const { width, height, pages = 1 } = metadata;
    const hopeless = tooLarge({ width, height }, maxPixels) ?? (pages > 1 ? animation(pages) : undefined);
    if (hopeless !== undefined) return isCut(content, format) ? cut(format) : hopeless;
    const whole = isOriginalKept
      ? await original(content, demands, format)
      : await converted(content, demands, metadata);
    if ('problem' in whole || !isThumbnailWanted || !needsThumbnail(whole)) return whole;
    // sharp decodes these formats directly at the smaller size, which takes a fraction of the time.
    return { ...whole, thumbnail: await triedThumbnail(() => sharp(content, strict(maxPixels))) };
  } catch (error) {
    return damage(format, error);
  }
}

/** Checks a picture whose bytes are kept, so every byte must be sound. */
async function original(
  content: Buffer,
  { maxPixels, isBlankRefused }: Demands,
  format: PictureFormat,
): Promise<WholePicture | Unusable> {
  const sharp = await loadSharp();
  const { data, info } = await pixelsOf(sharp(content, strict(maxPixels)).autoOrient(), isBlankRefused);
  // Decoding succeeded, so the data is complete.
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
  const sharp = await loadSharp();
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

/** Decodes a picture once for both the check and the encoding. Raw pixels carry no colour profile. */
async function checkedAndEncoded(image: Sharp): Promise<Encoded> {
  const { data, info } = await pixelsOf(image, true);
  const { width, height, channels } = info;
  const blank = blankness(data, channels);
  const sharp = await loadSharp();
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

/** True if the end of the data is missing. The beginning of a file may declare more than was sent. */
function isCut(bytes: Buffer, format: PictureFormat): boolean {
  // Neither marker occurs within pixel data. Some programs add data after the end.
  if (format === 'JPEG')
    return bytes.lastIndexOf(Buffer.of(0xff, 0xd9)) <= bytes.lastIndexOf(Buffer.of(0xff, 0xda));
  return declaredBytes(bytes, format) > bytes.length;
}

/** Returns the size of the picture data in bytes: WebP by its header, AVIF by its boxes (ISO/IEC 14496-12, 4.2). */
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
    // The last box may extend to the end of the file.
    if (size === 0) return bytes.length;
    // The following bytes are not a box.
    if (size < 8) return at;
    at += size;
  }
  return at;
}

/** Returns the offset of the end of a JPEG, including further pictures that cameras append and viewers ignore. */
function jpegBytes(bytes: Buffer): number {
  let end = bytes.length;
  for (let at = 2; at + 2 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] === 0xff && marker === 0xd9) {
      end = at + 2;
      if (end + 2 > bytes.length || bytes.readUInt16BE(end) !== 0xffd8) return end;
      at = end + 2;
    }
    // This byte is pixel data.
    else if (bytes[at] !== 0xff) at = nextOrEnd(bytes, at);
    // This is pixel data as well: an escaped 0xff, a fill byte, or a restart marker.
    else if (marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) at += 1;
    else at += at + 4 <= bytes.length ? 2 + bytes.readUInt16BE(at + 2) : 2;
  }
  return end;
}

function nextOrEnd(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(0xff, from);
  return at === -1 ? bytes.length : at;
}

/** Background of transparent pixels in a JPEG, which has no transparency. */
export const paper = '#ffffff';

/** JPEG options of thumbnails. Optimised tables save a fifth, but would be the slowest step after decoding. */
const jpeg = { quality: 80, optimiseCoding: false };

/**
 * Makes a thumbnail, small enough that a page of hundreds shows at once, and large enough to choose from. It
 * is a JPEG, upright, in sRGB, without metadata. Decodes every pixel of the picture, and throws if something
 * is wrong with it.
 */
function toThumbnail(image: Sharp): Promise<Buffer> {
  return image
    .autoOrient()
    .resize(thumbnailSide, thumbnailSide, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: paper })
    .jpeg(jpeg)
    .toBuffer();
}

/** Returns a thumbnail, or undefined if it cannot be made. */
export async function triedThumbnail(image: (load: typeof sharp) => Sharp): Promise<Buffer | undefined> {
  const load = await loadSharp();
  try {
    return await toThumbnail(image(load));
  } catch {
    return undefined;
  }
}

type Thumbnailed = Parameters<typeof thumbnailOf>[0];

interface ThumbnailFiles {
  /** Returns the absolute path of the picture's thumbnail; undefined if the picture needs none. */
  pathOf: (picture: Thumbnailed) => string | undefined;
  /** Returns the existing file for `pathOf`, which an earlier version may have named; undefined if none. */
  find: (path: string) => string | undefined;
  /** Writes a thumbnail atomically. False if the disk refuses it. */
  write: (path: string, thumbnail: Uint8Array) => Promise<boolean>;
}

export function thumbnailFiles(reportDir: string): ThumbnailFiles {
  return {
    pathOf: (picture) => {
      const path = thumbnailOf(picture);
      return path === undefined ? undefined : resolve(reportDir, path);
    },
    // A power cut may have left an empty file.
    find: (path) =>
      [path, earlierThumbnail(path)].find(
        (file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0,
      ),
    write: async (path, thumbnail) => {
      try {
        await write(path, thumbnail);
        return true;
      } catch (error) {
        if (!isSystemError(error) && !(error instanceof FatalFailure)) throw error;
        return false;
      }
    },
  };
}

async function write(path: string, thumbnail: Uint8Array): Promise<void> {
  const temporary = join(dirname(path), temporaryName());
  try {
    await writeIntoFolder(temporary, thumbnail);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeIntoFolder(path: string, bytes: Uint8Array): Promise<void> {
  // Like the whole report, thumbnails are readable only by their owner.
  const options = { flag: 'wx', mode: 0o600 };
  try {
    await writeFile(path, bytes, options);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
    makeFolder(dirname(path), 0o700);
    await writeFile(path, bytes, options);
  }
}
