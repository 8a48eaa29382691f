/** From what a job's output holds to a whole PNG, or to the reason why it is none. */
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp, type SharpOptions } from 'sharp';
import type { Failure, FailureKind } from '../core/failure.ts';
import { type CheckedPicture, type HeldPicture, thumbnailOf } from '../core/picture.ts';
import { checkPng, headerEnd, type WholePng } from './check-png.ts';
import { decodeBase64, recognise, type PictureFormat, type Unusable } from './decode-base64.ts';
import { inflatePixels, isUnpackedSoon } from './inflate-pixels.ts';
import { triedThumbnail } from './thumbnail.ts';

export interface Demands {
  maxPixels: number;
  /** Pixels that the shorter side has at least. */
  minSide: number;
  /** Whether a picture that shows nothing fails. */
  isBlankRefused: boolean;
  /** Whether a thumbnail is made on the way, of pictures that need one. */
  isThumbnailWanted: boolean;
}

/**
 * PNG bytes are kept as they came; JPEG and WebP become PNG, upright and with their colour profile. An animated WebP
 * is refused: to keep one frame of many would lose the rest without a word. `finish` makes the file of a good one.
 */
export async function checkPicture(
  picture: HeldPicture,
  demands: Demands,
  finish: (png: Buffer, size: { width: number; height: number }) => Buffer = (png) => png,
): Promise<CheckedPicture | Failure> {
  const decoded = 'bytes' in picture ? { bytes: bufferOf(picture.bytes) } : decodeBase64(picture.base64);
  if ('problem' in decoded) return unusable(decoded, 'base64' in picture ? picture.base64 : '');
  const { bytes } = decoded;
  const what = recognise(bytes);
  if ('problem' in what) return unusable(what, bytes);
  const whole = await (what.format === 'PNG' ? wholePng : convertedToPng)(bytes, demands, what.format);
  if ('problem' in whole) return unusable(whole, bytes);
  const { png, width, height, blank, thumbnail } = whole;
  if (Math.min(width, height) < demands.minSide)
    return failure('picture-too-small', tooSmall(whole, demands.minSide), bytes);
  if (blank !== undefined) return failure('blank-picture', blank, bytes);
  const file = finish(png, whole);
  return { png: file, width, height, sha256: sha256Of(file), ...(thumbnail !== undefined && { thumbnail }) };
}

function unusable({ problem, isUnsupported = false }: Unusable, came: Buffer | string): Failure {
  return failure(isUnsupported ? 'output-unsupported' : 'bad-picture', problem, came);
}

/** `came` identifies repeated output. */
function failure(kind: FailureKind, problem: string, came: Buffer | string): Failure {
  return { kind, text: `the picture cannot be used: ${problem}`, digest: sha256Of(came) };
}

function sha256Of(came: Buffer | string): string {
  return createHash('sha256').update(came).digest('hex');
}

/** The same memory. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** `blank`: why it counts as blank; determined only where blank pictures are refused. */
type Whole = Seen | Unusable;

interface Seen {
  png: Buffer;
  width: number;
  height: number;
  blank: string | undefined;
  thumbnail?: Buffer | undefined;
}

/** What is wrong with a PNG, or its size: every chunk and every pixel is checked. */
export async function wholePng(png: Buffer, demands: Demands, format: PictureFormat): Promise<Whole> {
  const checked = checkPng(png);
  if ('problem' in checked) return checked;
  const { width, height } = checked;
  const size = { width, height };
  const large = tooLarge(size, demands.maxPixels);
  if (large !== undefined) return large;
  const isThumbnailWanted = demands.isThumbnailWanted && needsThumbnail(png, size);
  const wanted = { ...demands, isThumbnailWanted };
  // What is blank shows in decoded pixels alone.
  if (demands.isBlankRefused) return decodedPng(png, checked, wanted, format);
  const whole = { png, ...size, blank: undefined };
  const madeThumbnail = () => triedThumbnail(() => sharp(coloured(checked), strict(demands.maxPixels)));
  if (isThumbnailWanted && !isUnpackedSoon(checked)) {
    const thumbnail = await madeThumbnail();
    // Making one has decoded every pixel.
    if (thumbnail !== undefined) return { ...whole, thumbnail };
  }
  const rows = await inflatePixels(checked);
  if (rows === undefined) return decodedPng(png, checked, wanted, format);
  if ('problem' in rows) return rows;
  return { ...whole, thumbnail: isThumbnailWanted ? await madeThumbnail() : undefined };
}

function needsThumbnail(png: Buffer, size: { width: number; height: number }): boolean {
  return thumbnailOf({ ...size, bytes: png.length, sha256: '' }) !== undefined;
}

/** With its colour profile, and nothing else that pixels do not depend on. */
export function coloured({ bare, profile }: WholePng): Buffer {
  if (profile === undefined) return bare;
  return Buffer.concat([bare.subarray(0, headerEnd), profile, bare.subarray(headerEnd)]);
}

async function decodedPng(
  png: Buffer,
  { bare, width, height }: WholePng,
  demands: Demands,
  format: PictureFormat,
): Promise<Whole> {
  const { isBlankRefused, isThumbnailWanted } = demands;
  try {
    const image = sharp(bare, { ...strict(demands.maxPixels), ignoreIcc: true });
    // One channel is enough to have every pixel decoded, at a third of the memory; what is blank shows in all of them.
    const { data, info } = await pixelsOf(isBlankRefused ? image : image.extractChannel(0));
    if (info.width !== width || info.height !== height)
      return { problem: 'its size differs from its header' };
    const blank = isBlankRefused ? blankness(data, info.channels) : undefined;
    const thumbnail = isThumbnailWanted
      ? await triedThumbnail(() => sharp(data, { raw: { width, height, channels: info.channels } }))
      : undefined;
    return { png, width, height, blank, thumbnail };
  } catch (error) {
    return { problem: damage(format, error) };
  }
}

async function convertedToPng(bytes: Buffer, demands: Demands, format: PictureFormat): Promise<Whole> {
  const { maxPixels, isBlankRefused } = demands;
  try {
    const {
      width,
      height,
      pages = 1,
      space,
      icc,
    } = await sharp(bytes, { limitInputPixels: false }).metadata();
    const hopeless = tooLarge({ width, height }, maxPixels) ?? (pages > 1 ? animation(pages) : undefined);
    if (hopeless !== undefined) return isCut(bytes, format) ? cut(format) : hopeless;
    const upright = sharp(bytes, strict(maxPixels)).autoOrient();
    // A CMYK profile does not apply to the RGB of a PNG.
    const profile = space === 'cmyk' ? undefined : icc;
    const image = space === 'cmyk' ? upright : upright.keepIccProfile();
    const whole = await (isBlankRefused ? checkedAndEncoded(image, profile) : encoded(image));
    if (!demands.isThumbnailWanted || !needsThumbnail(whole.png, whole)) return whole;
    // These formats are decoded at the smaller size at once, which takes a fraction of the time.
    return { ...whole, thumbnail: await triedThumbnail(() => sharp(bytes, strict(maxPixels))) };
  } catch (error) {
    return { problem: damage(format, error) };
  }
}

async function encoded(image: Sharp): Promise<Seen> {
  const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
  return { png: data, width: info.width, height: info.height, blank: undefined };
}

/** Decoded once, to be checked and encoded; raw pixels carry no profile. */
async function checkedAndEncoded(image: Sharp, profile: Buffer | undefined): Promise<Seen> {
  const { data, info } = await pixelsOf(image);
  const { width, height, channels } = info;
  const blank = blankness(data, channels);
  const png = await sharp(data, { raw: { width, height, channels } }).png().toBuffer();
  return { png: withProfile(png, profile), width, height, blank };
}

function pixelsOf(image: Sharp) {
  return image.raw().toBuffer({ resolveWithObject: true });
}

/** `warning` is the strictest: it alone notices much of the damage within a JPEG. */
function strict(maxPixels: number): SharpOptions {
  return { failOn: 'warning', limitInputPixels: maxPixels };
}

function tooLarge(size: { width: number; height: number }, maxPixels: number): Unusable | undefined {
  if (size.width * size.height <= maxPixels) return undefined;
  const problem = `it declares ${size.width}×${size.height} pixels, more than the limit of ${maxPixels / 1e6} megapixels: raise \`limits.pixels\`, or have smaller pictures made`;
  return { problem, isUnsupported: true };
}

function animation(frames: number): Unusable {
  const problem = `it is an animation of ${frames} frames: have the worker send them as pictures`;
  return { problem, isUnsupported: true };
}

function cut(format: PictureFormat): Unusable {
  return { problem: `its ${format} data is cut: its end is missing` };
}

/** What is declared at the beginning of such a file need not be what was sent. */
function isCut(bytes: Buffer, format: PictureFormat): boolean {
  if (format === 'WebP') return bytes.readUInt32LE(4) + 8 > bytes.length;
  // Both bytes of either marker never follow each other within pixels; some programs put more after the end.
  return bytes.lastIndexOf(Buffer.of(0xff, 0xd9)) <= bytes.lastIndexOf(Buffer.of(0xff, 0xda));
}

function tooSmall({ width, height }: { width: number; height: number }, minSide: number): string {
  return `it is ${width}×${height} pixels, and \`check.minSide\` asks for ${minSide} at least`;
}

function damage(format: PictureFormat, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `its ${format} data is cut or damaged (${message.split('\n', 1)[0] ?? ''})`;
}

/** Unchanged where the profile is not for RGB. */
function withProfile(png: Buffer, profile: Buffer | undefined): Buffer {
  if (profile?.toString('latin1', 16, 20) !== 'RGB ') return png;
  // The name, its end and the method of compression come before the profile.
  const body = Buffer.concat([Buffer.from('iCCPicc\0\0', 'latin1'), deflateSync(profile)]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length - 4);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  // It has to stand before the pixels.
  return Buffer.concat([png.subarray(0, headerEnd), length, body, checksum, png.subarray(headerEnd)]);
}

/**
 * Values of a channel this close are one colour. Lossless formats and JPEG keep one colour exactly; lossy WebP spreads
 * greys by up to 4 of 255 from quality 50 on, and any colour by up to 7 from quality 80 on. To the eye it is one colour.
 */
const tolerance = 8;

/** Why a picture counts as blank, or undefined where it does not. 8 bits a channel, alpha last. */
function blankness(pixels: Uint8Array, channels: number): string | undefined {
  const isWithAlpha = channels % 2 === 0;
  if (isWithAlpha && isWithin(pixels, channels - 1, channels, 0)) return 'it is transparent throughout';
  for (let channel = 0; channel < channels; channel += 1) {
    if (!isEven(pixels, channel, channels)) return undefined;
  }
  return `it is of one colour throughout (${colourOf(pixels, channels)})`;
}

/** Ends at the first pixel that stands out, which in a picture of something comes soon. */
function isEven(pixels: Uint8Array, channel: number, channels: number): boolean {
  let least = 255;
  let most = 0;
  for (let at = channel; at < pixels.length; at += channels) {
    const value = pixels[at] ?? 0;
    if (value < least) least = value;
    if (value > most) most = value;
    if (most - least > tolerance) return false;
  }
  return true;
}

function isWithin(pixels: Uint8Array, channel: number, channels: number, least: number): boolean {
  for (let at = channel; at < pixels.length; at += channels) {
    if ((pixels[at] ?? 0) > least + tolerance) return false;
  }
  return true;
}

function colourOf(pixels: Uint8Array, channels: number): string {
  const [first = 0, second = 0, third = 0] = pixels;
  const rgb = channels < 3 ? [first, first, first] : [first, second, third];
  return `#${rgb.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
