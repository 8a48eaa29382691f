/** Texts within a PNG: putting some in, as they are in the standard, and reading what others have put in. */
import { inflateSync } from 'node:zlib';
import { chunksOf, withChunks, type PngChunk } from './png-chunks.ts';

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
  return withChunks(png, texts.map(textChunk));
}

/** Uncompressed, in UTF-8, of no language (`iTXt`; PNG specification, 11.3.3.4). */
export function textChunk({ keyword, text }: PngText): PngChunk {
  const head = Buffer.from(`${keyword}\0\0\0\0\0`, 'latin1');
  return { type: 'iTXt', data: Buffer.concat([head, Buffer.from(text.replaceAll('\0', '\uFFFD'))]) };
}

/** In the order of the file, as far as it can be read. */
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
