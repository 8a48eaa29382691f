/** Texts within a PNG: putting some in, as they are in the standard, and reading what others have put in. */
import { crc32, inflateSync } from 'node:zlib';
import { headerEnd } from './check-png.ts';

export interface PngText {
  /** 1 to 79 characters of Latin-1. */
  keyword: string;
  text: string;
}

/** What a text may unpack to; longer ones are left out. */
const maxBytes = 1_000_000;
const maxTexts = 100;

/** The picture with these texts behind its header; all else stays as it is, bit by bit. */
export function withTexts(png: Buffer, texts: PngText[]): Buffer {
  return Buffer.concat([png.subarray(0, headerEnd), ...texts.map(textChunk), png.subarray(headerEnd)]);
}

/** Uncompressed, in UTF-8, of no language (`iTXt`; PNG specification, 11.3.3.4). */
function textChunk({ keyword, text }: PngText): Buffer {
  const head = Buffer.from(`iTXt${keyword}\0\0\0\0\0`, 'latin1');
  const body = Buffer.concat([head, Buffer.from(text.replaceAll('\0', '\uFFFD'))]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(body.length - 4, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** In the order of the file, as far as it can be read. */
export function readTexts(png: Buffer): PngText[] {
  const texts: PngText[] = [];
  for (let at = 8; at + 12 <= png.length && texts.length < maxTexts;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    const text = data.length === length ? readers[type]?.(data) : undefined;
    if (text !== undefined) texts.push(text);
    at += 12 + length;
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
