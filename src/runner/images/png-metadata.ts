/** Metadata in PNGs: EXIF, XMP, IPTC, colour profile and texts as chunks, and signatures that any change breaks. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import type { Metadata } from 'sharp';
import { headerEnd } from './check-png.ts';
import { recognise } from './decoding.ts';

type Embedded = Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'icc'>;

const xmpKeyword = 'XML:com.adobe.xmp';

/** Adds metadata to a PNG. Its pixels are upright already, so the metadata gets the upright orientation. */
export function withMetadata(png: Buffer, { exif, xmp, iptc, icc }: Embedded): Buffer {
  return withChunks(png, [
    ...(icc === undefined ? [] : profileChunk(icc)),
    ...(exif === undefined ? [] : [{ type: 'eXIf', data: upright(withoutPrefix(exif, 'Exif\0\0')) }]),
    ...(xmp === undefined ? [] : [textChunk({ keyword: xmpKeyword, text: uprightXmp(textOf(xmp)) })]),
    ...(iptc === undefined ? [] : [iptcChunk(withoutPrefix(iptc, 'Photoshop 3.0\0'))]),
  ]);
}

/** Returns EXIF and XMP of a PNG as chunks for its copies, upright because PNG pixels are never rotated. */
export function originChunks(png: Buffer): PngChunk[] {
  const exif = Array.from(chunksOf(png)).filter(({ type }) => type === 'eXIf');
  const texts = readTexts(png).filter(({ keyword }) => keyword === xmpKeyword);
  return [
    ...exif.map(({ type, data }) => ({ type, data: upright(data) })),
    ...texts.map(({ keyword, text }) => textChunk({ keyword, text: uprightXmp(text) })),
  ];
}

/** Decodes XMP. Some programs write it in UTF-16. */
function textOf(xmp: Buffer): string {
  if (xmp[0] === 0 || xmp[0] === 0xfe) return new TextDecoder('utf-16be').decode(xmp);
  return new TextDecoder(xmp[1] === 0 || xmp[0] === 0xff ? 'utf-16le' : 'utf-8').decode(xmp);
}

/** Returns the chunk of a colour profile; none if the profile is not for RGB. */
function profileChunk(profile: Buffer): PngChunk[] {
  if (profile.toString('latin1', 16, 20) !== 'RGB ') return [];
  // The name, its terminator and the compression method come before the profile.
  return [{ type: 'iCCP', data: Buffer.concat([Buffer.from('icc\0\0', 'latin1'), deflateSync(profile)]) }];
}

function withoutPrefix(bytes: Buffer, prefix: string): Buffer {
  return bytes.toString('latin1', 0, prefix.length) === prefix ? bytes.subarray(prefix.length) : bytes;
}

const orientationTag = 0x0112;

/** Returns the EXIF with orientation 1, an entry of the first directory (TIFF 6.0, section 2). */
function upright(exif: Buffer): Buffer {
  const tiff = Buffer.from(exif);
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number): number =>
    at + 2 > tiff.length ? 0 : isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  const directory = tiff.length < 8 ? 0 : isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  for (let entry = 0; entry < short(directory); entry += 1) {
    const at = directory + 2 + entry * 12;
    if (short(at) !== orientationTag || at + 12 > tiff.length) continue;
    if (isLittle) tiff.writeUInt16LE(1, at + 8);
    else tiff.writeUInt16BE(1, at + 8);
  }
  return tiff;
}

function uprightXmp(xmp: string): string {
  return xmp.replaceAll(/(\btiff:Orientation(?:\s*=\s*["']|>))[1-8]/g, '$11');
}

/** Returns IPTC as ImageMagick writes it: hexadecimal, 72 digits a line, below its name and length. */
function iptcChunk(iptc: Buffer): PngChunk {
  const lines = iptc.toString('hex').replaceAll(/.{72}/g, '$&\n');
  const text = `\niptc\n${String(iptc.length).padStart(8)}\n${lines}\n`;
  return { type: 'tEXt', data: Buffer.from(`Raw profile type iptc\0${text}`, 'latin1') };
}

/** A chunk of a PNG (PNG specification, 5). */
interface PngChunk {
  type: string;
  data: Buffer;
}

/** Yields the readable chunks in file order. A last chunk that is cut is left out. */
function* chunksOf(png: Buffer): Generator<PngChunk> {
  for (let at = 8; at + 12 <= png.length;) {
    const length = png.readUInt32BE(at);
    const data = png.subarray(at + 8, at + 8 + length);
    if (data.length === length) yield { type: png.toString('latin1', at + 4, at + 8), data };
    at += 12 + length;
  }
}

/** Inserts chunks between the header and the pixels. All other bytes stay unchanged. */
export function withChunks(png: Buffer, chunks: PngChunk[]): Buffer {
  if (chunks.length === 0) return png;
  return Buffer.concat([png.subarray(0, headerEnd), ...chunks.map(framed), png.subarray(headerEnd)]);
}

function framed({ type, data }: PngChunk): Buffer {
  const chunk = Buffer.alloc(data.length + 12);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, data.length + 8)), data.length + 8);
  return chunk;
}

export interface PngText {
  /** 1 to 79 characters of Latin-1. */
  keyword: string;
  text: string;
}

/** Maximum size of an unpacked text in bytes. Longer texts are left out. */
const maxBytes = 1_000_000;
const maxTexts = 100;

/** Inserts texts after the header of a PNG, and drops others. All other bytes stay unchanged. */
export function withTexts(
  png: Buffer,
  texts: PngText[],
  isDropped: (keyword: string) => boolean = () => false,
): Buffer {
  return withChunks(withoutTexts(png, isDropped), texts.map(textChunk));
}

function withoutTexts(png: Buffer, isDropped: (keyword: string) => boolean): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = 8; at + 12 <= png.length;) {
    const end = at + 12 + png.readUInt32BE(at);
    const [keyword] = cutAtNul(png.subarray(at + 8, end - 4));
    const isText = Object.hasOwn(readers, png.toString('latin1', at + 4, at + 8));
    if (isText && isDropped(keyword.toString('latin1'))) {
      kept.push(png.subarray(from, at));
      from = end;
    }
    at = end;
  }
  return from === 0 ? png : Buffer.concat([...kept, png.subarray(from)]);
}

/** Returns the chunk of an uncompressed UTF-8 text without a language (`iTXt`; PNG specification, 11.3.3.4). */
function textChunk({ keyword, text }: PngText): PngChunk {
  const head = Buffer.from(`${keyword}\0\0\0\0\0`, 'latin1');
  return { type: 'iTXt', data: Buffer.concat([head, Buffer.from(text.replaceAll('\0', '\uFFFD'))]) };
}

/** Returns the readable texts in file order. */
export function readTexts(png: Buffer): PngText[] {
  const texts: PngText[] = [];
  for (const { type, data } of chunksOf(png)) {
    const text = readers[type]?.(data);
    if (text !== undefined && texts.push(text) === maxTexts) break;
  }
  return texts;
}

const readers: Readonly<Record<string, (data: Buffer) => PngText | undefined>> = {
  tEXt: (data) => {
    const [keyword, rest] = cutAtNul(data);
    return named(keyword, rest.length > maxBytes ? undefined : rest.toString('latin1'));
  },
  zTXt: (data) => {
    const [keyword, rest] = cutAtNul(data);
    return named(keyword, unpacked(rest.subarray(1))?.toString('latin1'));
  },
  iTXt: (data) => {
    const [keyword, rest] = cutAtNul(data);
    const [, behindLanguage] = cutAtNul(rest.subarray(2));
    const [, text] = cutAtNul(behindLanguage);
    const bytes = rest[0] === 1 ? unpacked(text) : text;
    return named(
      keyword,
      bytes === undefined || bytes.length > maxBytes ? undefined : bytes.toString('utf8'),
    );
  },
};

function named(keyword: Buffer, text: string | undefined): PngText | undefined {
  return text === undefined ? undefined : { keyword: keyword.toString('latin1'), text };
}

function cutAtNul(data: Buffer): [Buffer, Buffer] {
  const at = data.indexOf(0);
  return at === -1 ? [data, data.subarray(data.length)] : [data.subarray(0, at), data.subarray(at + 1)];
}

function unpacked(data: Buffer): Buffer | undefined {
  try {
    return inflateSync(data, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}

/** True if a picture is signed (C2PA specification 2.1, appendix A), which any change breaks. */
export function isSigned(picture: Buffer): boolean {
  const what = recognise(picture);
  if ('problem' in what) return false;
  switch (what.format) {
    case 'PNG':
      return Array.from(chunksOf(picture)).some(({ type }) => type === 'caBX');
    case 'JPEG':
      return isJpegSigned(picture);
    case 'WebP':
      return riffChunks(picture).includes('C2PA');
    case 'AVIF':
      return hasBox(picture, credentials);
  }
}

/** Type and id of the AVIF box that holds a C2PA signature. The type is `uuid`. */
const credentials = Buffer.from('75756964d8fec3d61b0e483c92975828877ec481', 'hex');

/** True if an APP11 segment holds a JUMBF box labelled `c2pa`. */
function isJpegSigned(jpeg: Buffer): boolean {
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff;) {
    const marker = jpeg[at + 1] ?? 0;
    // Pixel data follows.
    if (marker === 0xda) return false;
    const length = jpeg.readUInt16BE(at + 2);
    const data = jpeg.subarray(at + 4, at + 2 + length);
    if (marker === 0xeb && data.toString('latin1', 0, 2) === 'JP' && data.includes('c2pa')) return true;
    at += 2 + Math.max(2, length);
  }
  return false;
}

function riffChunks(webp: Buffer): string[] {
  const types: string[] = [];
  for (let at = 12; at + 8 <= webp.length;) {
    types.push(webp.toString('latin1', at, at + 4));
    const length = webp.readUInt32LE(at + 4);
    at += 8 + length + (length % 2);
  }
  return types;
}

function hasBox(file: Buffer, type: Buffer): boolean {
  for (let at = 0; at + 8 <= file.length;) {
    if (file.subarray(at + 4, at + 4 + type.length).equals(type)) return true;
    const size = file.readUInt32BE(at);
    // Sizes below 8 are special: 1 for a box with a 64-bit size, 0 for the last box.
    if (size < 8) return false;
    at += size;
  }
  return false;
}
