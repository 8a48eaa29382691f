/** Recognizes and decodes pictures of all formats, and words the problems of bytes that are none. */
import { readFile } from 'node:fs/promises';
import type sharp from 'sharp';
import type { Sharp, SharpOptions } from 'sharp';
import {
  type FileKind,
  type UncheckedPicture,
  type Picture,
  type PictureFormat,
  thumbnailOf,
} from '../core/picture.ts';

export interface Demands {
  maxPixels: number;
  /** Minimum length of the shorter side in pixels. */
  minSide: number;
  isBlankRefused: boolean;
  /** True if the check also makes a thumbnail of pictures that need one. */
  isThumbnailWanted: boolean;
  /** True if JPEG, WebP and AVIF keep their bytes instead of being converted to PNG. */
  isOriginalKept: boolean;
}

/** Decoded, upright picture. `blank`: why it counts as blank; set only if blank pictures are refused. */
export type WholePicture = Pick<Picture, 'width' | 'height'> & {
  content: Buffer;
  format: PictureFormat;
  blank: string | undefined;
  thumbnail?: Buffer | undefined;
  /** True if the received picture was signed (C2PA), and the converted one no longer is. */
  isSignatureLost?: boolean;
};

/**
 * Returns sharp, which is loaded at first use: that takes a tenth of a second, and most commands draw nothing. A run
 * loads it before it sends anything. sharp's cache is disabled: it would take memory, and no picture is decoded twice.
 */
export async function loadSharp(): Promise<typeof sharp> {
  const loaded = (await import('sharp')).default;
  loaded.cache(false);
  return loaded;
}

/** Returns a `Buffer` that shares the memory of the array. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Returns options for strict decoding. Only `warning` detects much of the damage within a JPEG. */
export function strict(maxPixels: number): SharpOptions {
  return { failOn: 'warning', limitInputPixels: maxPixels };
}

/** Decodes every pixel, in one channel for a third of the memory unless blank pictures are refused. */
export function pixelsOf(image: Sharp, isBlankRefused: boolean) {
  return (isBlankRefused ? image : image.extractChannel(0)).raw().toBuffer({ resolveWithObject: true });
}

export function needsThumbnail({
  content,
  width,
  height,
}: Pick<WholePicture, 'content' | 'width' | 'height'>): boolean {
  return thumbnailOf({ width, height, bytes: content.length, sha256: '' }) !== undefined;
}

export function tooLarge(size: { width: number; height: number }, maxPixels: number): Unusable | undefined {
  if (size.width * size.height <= maxPixels) return undefined;
  const problem = `it declares ${size.width}×${size.height} pixels, more than the limit of ${maxPixels / 1e6} megapixels: raise \`limits.pixels\`, or render smaller pictures`;
  return { problem, kind: 'too-many-pixels' };
}

export function damage(format: PictureFormat, error: unknown): Unusable {
  const message = error instanceof Error ? error.message : String(error);
  return { problem: `its ${format} data is cut or damaged (${message.split('\n', 1)[0] ?? ''})` };
}

type Decoded = { bytes: Buffer } | Unusable;

/** Returns the bytes of a result, which are read into memory if it was received into a file. */
export async function decodeContent(unchecked: UncheckedPicture): Promise<Decoded> {
  if ('received' in unchecked) return { bytes: await readFile(unchecked.received.path) };
  return 'bytes' in unchecked ? { bytes: bufferOf(unchecked.bytes) } : decodeBase64(unchecked.base64);
}

const dataUri = /^\s*data:([^;,]{0,200})([^,]{0,200}),/i;

/**
 * Decodes base64 strictly, because Node's own decoder skips unknown characters and never complains. Accepts
 * the standard and the URL-safe alphabet, with or without padding. Ignores white space and a prefix such as
 * `data:image/png;base64,`. The type in the prefix is not used, because the first bytes show the format.
 */
export function decodeBase64(text: string): Decoded {
  const uri = dataUri.exec(text.slice(0, 1000));
  if (uri === null) return decodeBare(text);
  const [prefix, type = '', parameters = ''] = uri;
  if (/;\s*base64\s*$/i.test(parameters)) return decodeBare(text.slice(prefix.length));
  return /svg/i.test(type) ? unsupported('an SVG') : { problem: 'its data URI is not base64' };
}

function decodeBare(text: string): Decoded {
  // Nearly all texts are one unbroken line. White space is removed only if the text does not decode as it is.
  const bytes = decodeExactly(text) ?? decodeExactly(text.replaceAll(/\s+/g, ''));
  if (bytes === undefined)
    return nameOfText(text)?.startsWith('an SVG') ? unsupported('an SVG') : { problem: whyNot(text) };
  return bytes.length === 0 ? { problem: 'it is empty' } : { bytes };
}

/**
 * Returns the bytes; undefined if a character is invalid. Node drops unknown characters, so the length reveals most of
 * them. Two cases need their own check: Node reads `-` and `_` as `+` and `/`, and takes one byte of a character beyond
 * ASCII.
 */
function decodeExactly(text: string): Buffer | undefined {
  if (isOfBothAlphabets(text) || Buffer.byteLength(text) !== text.length) return undefined;
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const over = text.length % 4;
  if (over === 1 || (over > 0 && padding > 0)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== Math.floor((text.length / 4) * 3) - padding) return undefined;
  return over === 0 || isUncut(text.slice(-over)) ? bytes : undefined;
}

function isOfBothAlphabets(text: string): boolean {
  return (text.includes('-') || text.includes('_')) && (text.includes('+') || text.includes('/'));
}

/** True if the end of a text without padding has no bits beyond whole bytes, which most cut texts have. */
function isUncut(end: string): boolean {
  return Buffer.from(end, 'base64').toString('base64url') === end.replaceAll('+', '-').replaceAll('/', '_');
}

function whyNot(text: string): string {
  const all = text.replaceAll(/\s+/g, '');
  const bare = isOfBothAlphabets(all) ? all : all.replaceAll('-', '+').replaceAll('_', '/');
  const at = bare.search(/[^A-Za-z0-9+/=]/);
  const name = nameOfText(text);
  if (name !== undefined) return `it is ${name}, not base64`;
  if (at >= 0) return `it is not base64: character ${at + 1} is ${JSON.stringify(bare[at])}`;
  if (/=[^=]/.test(bare)) return 'it is not base64: there is padding in the middle';
  return `it is cut or not base64: ${bare.length.toLocaleString('en')} characters cannot be whole`;
}

/** Reason why received data cannot be used. */
export interface Unusable {
  problem: string;
  /** True if the worker sent what it intended, so another job would return the same. */
  isUnsupported?: boolean;
  /** True if the data is text. */
  isText?: true;
  /** Set if a setting forbids the data. */
  kind?: 'too-many-pixels' | 'other-file-kind';
}

/** Returns the format of a picture that can be saved, or what the data is instead. */
export function recognise(bytes: Buffer): { format: PictureFormat } | Unusable {
  const start = bytes.toString('hex', 0, 48);
  const known = formats.find(([, pattern]) => pattern.test(start));
  if (known !== undefined) return { format: known[0] };
  const other = others.find(([, pattern]) => pattern.test(start))?.[0];
  if (other !== undefined) return unsupported(other);
  const name = nameOfBytes(bytes, start);
  if (name.startsWith('an SVG')) return unsupported('an SVG');
  return { problem: `it is ${name}`, ...(isText(bytes) && { isText: true }) };
}

/** True if the data is text, such as the page of a proxy. */
export function isText(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes.subarray(0, 4096).every((byte) => byte >= 9);
}

function unsupported(what: string): Unusable {
  const problem = `it is ${what}, and only PNG, JPEG, WebP and AVIF can be saved: let the worker send one of them`;
  return { problem, isUnsupported: true };
}

/** Returns the format that the data begins with; undefined if that is `kind` or unknown. */
export function nameOfOtherFormat(bytes: Buffer, kind: FileKind): string | undefined {
  const start = bytes.toString('hex', 0, 48);
  const [format] = formats.find(([, pattern]) => pattern.test(start)) ?? [];
  if (format !== undefined) return format.toLowerCase() === kind ? undefined : `a ${format}`;
  const [other, , itself] = others.find(([, pattern]) => pattern.test(start)) ?? [];
  return itself === kind ? undefined : other;
}

/** Returns the kind of a text that was sent instead of a picture (a URL, a page, a file name); undefined if unknown. */
function nameOfText(text: string): string | undefined {
  const start = text.slice(0, 2000);
  const kind = texts.find(([, pattern]) => pattern.test(start))?.[0];
  return kind === undefined ? undefined : `${kind} (${quote(start)})`;
}

const formats: readonly [PictureFormat, RegExp][] = [
  ['PNG', /^89504e47/],
  ['JPEG', /^ffd8ff/],
  ['WebP', /^52494646.{8}57454250/],
  ['AVIF', /^.{8}66747970(?:6d696631.{8}(?:.{8})*?)?61766966/],
];

/** Formats that cannot be saved as pictures, by their first bytes in hex, and their kind in `output.files`. */
const others: readonly [string, RegExp, FileKind?][] = [
  ['a GIF', /^47494638/, 'gif'],
  ['a BMP', /^424d.{8}00000000/],
  ['a TIFF', /^(?:49492a00|4d4d002a)/],
  ['an animated AVIF', /^.{8}6674797061766973/],
  ['a HEIF', /^.{8}66747970(?:6865|6d696631|6d736631)/],
  ['a video (MOV)', /^.{8}(?:6674797071742020|6d6f6f76|6d646174|77696465)/, 'mov'],
  ['a video (MP4)', /^.{8}66747970.{8}/, 'mp4'],
  ['a video (Matroska)', /^1a45dfa3.*4282886d6174726f736b61/],
  ['a video (WebM)', /^1a45dfa3/, 'webm'],
  ['a JPEG XL', /^(?:ff0a|0000000c4a584c20)/],
  ['an OpenEXR file', /^762f3101/, 'exr'],
  ['a GLB', /^676c5446/, 'glb'],
  ['a PDF', /^255044462d/],
  ['a ZIP archive', /^504b0304/, 'npz'],
  ['gzipped data', /^1f8b/],
  ['a Photoshop file', /^38425053/],
  ['an icon (ICO)', /^00000100[0-2][0-9a-f]00/],
  ['a JPEG 2000', /^(?:0000000c6a502020|ff4fff51)/],
  ['a JPEG XR', /^4949bc01/],
  ['a QOI', /^716f6966/],
  ['a Netpbm picture', /^503[1-7](?:0a|0d|20)/],
  ['a DDS', /^44445320/],
  ['a Radiance HDR', /^233f52414449/],
  ['PostScript', /^25215053/],
  ['a sound (WAV)', /^(?:52494646|52463634).{8}57415645/, 'wav'],
  ['a sound (Wave64)', /^726966662e91cf11/],
  ['a sound (AIFF)', /^464f524d.{8}4149464[36]/],
  ['a sound (AAC)', /^fff[0189]/],
  ['a video (AVI)', /^52494646.{8}41564920/],
  ['a video (Flash)', /^464c5601/],
  ['a video (Windows Media)', /^3026b2758e66cf11/],
  ['a sound or video (Ogg)', /^4f676753/, 'ogg'],
  ['a sound (MP3)', /^(?:494433|ff(?:f[23ab]|e[23]))/, 'mp3'],
  ['a sound (FLAC)', /^664c6143/, 'flac'],
  ['a NumPy file', /^934e554d5059/],
];

const texts: readonly [string, RegExp][] = [
  ['an address', /^\s*(?:https?|s3|gs|ftp|file):\/\//i],
  ['an SVG', /^\s*(?:(?:<\?xml[^>]*>|<!--[^]*?-->|<!DOCTYPE svg[^>]*>)\s*)*<(?:svg:)?svg[\s/>]/i],
  ['an HTML page', /^\s*(?:<!doctype html|<html|<head|<body)/i],
  ['XML', /^\s*<\?xml/i],
  ['JSON', /^\s*(?:\{\s*"|\[\s*[[{"])/],
  ['the name of a file on the worker', /^[^\s<>"]{1,500}\.(?:png|jpe?g|webp|gif|bmp|exr|glb|npz|json)\s*$/i],
  ['text', /^[^\p{C}\uFFFD]*\s[^\p{C}\uFFFD]*$/u],
];

function nameOfBytes(bytes: Buffer, start: string): string {
  const text = bytes.subarray(0, 1_000).toString('utf8');
  const name = nameOfText(text);
  if (name !== undefined) return name;
  // A character that is cut at the end becomes U+FFFD.
  if (/^[^\p{C}\uFFFD]+\uFFFD?$/u.test(text.replaceAll(/\s/g, ''))) return `text (${quote(text)})`;
  return `not a picture: its first bytes are ${start.slice(0, 16).replaceAll(/..(?=.)/g, '$& ')}`;
}

function quote(text: string): string {
  const line = text.replaceAll(/[\s\p{C}]+/gu, ' ').trim();
  const characters = Array.from(line);
  return JSON.stringify(characters.length > 60 ? `${characters.slice(0, 60).join('')}…` : line);
}
