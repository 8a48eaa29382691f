/** What a picture says of itself (EXIF, XMP, IPTC) and its colour profile, as chunks of the PNG that is made of it. */
import { deflateSync } from 'node:zlib';
import type { Metadata } from 'sharp';
import { chunksOf, withChunks, type PngChunk } from './png-chunks.ts';
import { readTexts, textChunk } from './png-texts.ts';

export type Embedded = Pick<Metadata, 'exif' | 'xmp' | 'iptc' | 'icc'>;

const xmpKeyword = 'XML:com.adobe.xmp';

/** The pixels are upright by now, and what is put in says so. */
export function withMetadata(png: Buffer, { exif, xmp, iptc, icc }: Embedded): Buffer {
  return withChunks(png, [
    ...(icc === undefined ? [] : profileChunk(icc)),
    ...(exif === undefined ? [] : [{ type: 'eXIf', data: upright(withoutPrefix(exif, 'Exif\0\0')) }]),
    ...(xmp === undefined ? [] : [textChunk({ keyword: xmpKeyword, text: uprightXmp(textOf(xmp)) })]),
    ...(iptc === undefined ? [] : [iptcChunk(withoutPrefix(iptc, 'Photoshop 3.0\0'))]),
  ]);
}

/** What copies of a PNG take over: as chunks that the decoder reads, unpacked. Its pixels are taken as they lie. */
export function originChunks(png: Buffer): PngChunk[] {
  const exif = Array.from(chunksOf(png)).filter(({ type }) => type === 'eXIf');
  const texts = readTexts(png).filter(({ keyword }) => keyword === xmpKeyword);
  return [
    ...exif.map(({ type, data }) => ({ type, data: upright(data) })),
    ...texts.map(({ keyword, text }) => textChunk({ keyword, text: uprightXmp(text) })),
  ];
}

/** Some write it in UTF-16. */
function textOf(xmp: Buffer): string {
  if (xmp[0] === 0 || xmp[0] === 0xfe) return new TextDecoder('utf-16be').decode(xmp);
  return new TextDecoder(xmp[1] === 0 || xmp[0] === 0xff ? 'utf-16le' : 'utf-8').decode(xmp);
}

/** None where the profile is not for RGB. */
function profileChunk(profile: Buffer): PngChunk[] {
  if (profile.toString('latin1', 16, 20) !== 'RGB ') return [];
  // The name, its end and the method of compression come before the profile.
  return [{ type: 'iCCP', data: Buffer.concat([Buffer.from('icc\0\0', 'latin1'), deflateSync(profile)]) }];
}

function withoutPrefix(bytes: Buffer, prefix: string): Buffer {
  return bytes.toString('latin1', 0, prefix.length) === prefix ? bytes.subarray(prefix.length) : bytes;
}

const orientationTag = 0x0112;

/** With 1 as its orientation, which is an entry of the first directory (TIFF 6.0, section 2). */
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

/** As ImageMagick writes it and ExifTool reads it: hexadecimal, 72 digits a line, below its name and length. */
function iptcChunk(iptc: Buffer): PngChunk {
  const lines = iptc.toString('hex').replaceAll(/.{72}/g, '$&\n');
  const text = `\niptc\n${String(iptc.length).padStart(8)}\n${lines}\n`;
  return { type: 'tEXt', data: Buffer.from(`Raw profile type iptc\0${text}`, 'latin1') };
}
