/** What a large answer to a status request means, read without making text of its pictures. */
import { randomBytes } from 'node:crypto';
import type { FoundPicture } from '../core/picture.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { textOf, type BytesAnswer } from './exchange.ts';
import { smallBytes } from './memory-budget.ts';
import { readStatusAnswer } from './read-job-answers.ts';

/**
 * As `readStatusAnswer` reads it, save that pictures come as bytes, which stand in the memory of the answer. Undefined
 * where it is small or anything but pictures in plain base64; it is then as it came.
 */
export function readLargeStatusAnswer(
  { status, headers, bytes }: BytesAnswer,
  jobId: string,
  imagePath: string | undefined,
): StatusReply | undefined {
  if (status < 200 || status > 299 || bytes.length <= smallBytes) return undefined;
  const lifted = liftPictures(bytes);
  if (lifted === undefined) return undefined;
  const { json, pictures, restore } = lifted;
  const reply = readStatusAnswer({ status, headers, body: textOf(json) }, jobId, imagePath);
  if (reply.kind === 'completed') return { ...reply, pictures: reply.pictures.map(inBytes(pictures)) };
  // What it says instead may quote or measure the long texts.
  restore();
  return undefined;
}

function inBytes(pictures: ReadonlyMap<string, Uint8Array>): (found: FoundPicture) => FoundPicture {
  return (found) => {
    const bytes = 'base64' in found ? pictures.get(found.base64) : undefined;
    if (bytes === undefined) return found;
    return { bytes, ...(found.seed !== undefined && { seed: found.seed }) };
  };
}

interface Lifted {
  /** The body with a short text in the place of each long one: it begins alike, and is found in `pictures`. */
  json: Buffer;
  /** What the long texts held, by what stands in their place. */
  pictures: ReadonlyMap<string, Uint8Array>;
  /** Makes the body what it was; nothing of `pictures` is of use then. */
  restore: () => void;
}

const shortestLong = 16 * 1024;
/** Nobody who looks at a text to tell what it is looks further. */
const shownBytes = 1_200;
/** Stepping from quote to quote has to be worth it. */
const maxQuotes = 20_000;
const quote = 0x22;
const dataUri = /^data:image\/[a-z0-9.+-]{1,60};base64,/i;

/**
 * The bytes of the pictures take the place of their texts within `body`. Undefined, with the body as it was, where it is
 * none of that simple kind: a long string that is not all base64 (escapes and line breaks included), or is a key.
 */
function liftPictures(body: Buffer): Lifted | undefined {
  const decoded = new Map<string, DecodedInPlace>();
  const restore = (): void => decoded.forEach((picture) => picture.restore());
  const json = withoutLong(body, decoded);
  if (json === undefined) {
    restore();
    return undefined;
  }
  const pictures = new Map(Array.from(decoded, ([name, { bytes }]) => [name, bytes]));
  return { json, pictures, restore };
}

/** Puts into `decoded` what the long strings held. */
function withoutLong(body: Buffer, decoded: Map<string, DecodedInPlace>): Buffer | undefined {
  const nonce = randomBytes(18).toString('hex');
  const parts: Buffer[] = [];
  const quotes = { left: maxQuotes };
  let kept = 0;
  for (let open = nextQuote(body, 0, quotes); open !== -1;) {
    const close = endOfString(body, open, quotes);
    if (close === -1) return undefined;
    if (close - open > shortestLong) {
      const picture = liftOne(body, open + 1, close);
      if (picture === undefined) return undefined;
      const name = `${picture.shown}${nonce}${decoded.size}`;
      decoded.set(name, picture.decoded);
      parts.push(body.subarray(kept, open + 1), Buffer.from(name, 'latin1'));
      kept = close;
    }
    open = nextQuote(body, close + 1, quotes);
  }
  return quotes.left === 0 ? undefined : Buffer.concat([...parts, body.subarray(kept)]);
}

function liftOne(
  body: Buffer,
  start: number,
  end: number,
): { shown: string; decoded: DecodedInPlace } | undefined {
  if (isKey(body, end)) return undefined;
  const shown = body.toString('latin1', start, start + shownBytes);
  const prefix = dataUri.exec(shown)?.[0] ?? '';
  const decoded = decodeInPlace(body.subarray(start + prefix.length, end));
  return decoded && { shown, decoded };
}

/** -1 where there is none, or too many were looked at. */
function nextQuote(body: Buffer, from: number, quotes: { left: number }): number {
  if (quotes.left === 0) return -1;
  quotes.left -= 1;
  return body.indexOf(quote, from);
}

/** Where the quote that ends it stands, or -1. */
function endOfString(body: Buffer, open: number, quotes: { left: number }): number {
  let close = nextQuote(body, open + 1, quotes);
  while (close !== -1 && isEscaped(body, close)) close = nextQuote(body, close + 1, quotes);
  return close;
}

function isEscaped(body: Buffer, at: number): boolean {
  let backslashes = 0;
  while (body[at - 1 - backslashes] === 0x5c) backslashes += 1;
  return backslashes % 2 === 1;
}

/** Of equal keys the last one counts, and what stands in their place is not equal. */
function isKey(body: Buffer, close: number): boolean {
  let at = close + 1;
  while (' \t\r\n'.includes(String.fromCharCode(body[at] ?? 0))) at += 1;
  return body[at] === 0x3a;
}

/** Of the text, decoded at a time; a multiple of four characters. */
const piece = 64 * 1024;
const decodedPiece = (piece / 4) * 3;

interface DecodedInPlace {
  bytes: Buffer;
  /** Puts the text back where it was. */
  restore: () => void;
}

/**
 * `text` is all ASCII base64 with its padding, and nothing else, or it is left as it was (undefined). What passes is
 * what a strict decoder of the whole text passes, with the same bytes.
 */
function decodeInPlace(text: Buffer): DecodedInPlace | undefined {
  // Node takes these two for + and /, and drops every other wrong character, so that it shows in the length.
  if (text.length % 4 !== 0 || text.includes(0x2d) || text.includes(0x5f)) return undefined;
  const last = text.toString('latin1', text.length - 4);
  const padding = last.endsWith('==') ? 2 : Number(last.endsWith('='));
  let length = 0;
  for (let at = 0; at < text.length; at += piece) {
    const characters = text.toString('latin1', at, at + piece);
    const isLast = at + piece >= text.length;
    const expected = (characters.length / 4) * 3 - (isLast ? padding : 0);
    if (text.write(characters, length, 'base64') !== expected) {
      text.write(characters, at, 'latin1');
      restorePieces(text, at);
      return undefined;
    }
    length += expected;
  }
  return { bytes: text.subarray(0, length), restore: () => restoreAll(text, length, last) };
}

/** The last characters may carry bits that mean nothing and are lost in the bytes. */
function restoreAll(text: Buffer, length: number, last: string): void {
  const pieces = Math.floor(length / decodedPiece) * decodedPiece;
  text.write(text.toString('base64', pieces, length), (pieces / 3) * 4, 'latin1');
  text.write(last, text.length - 4, 'latin1');
  restorePieces(text, (pieces / 3) * 4);
}

/** From behind, since the text of a piece stands where bytes of later ones were. */
function restorePieces(text: Buffer, end: number): void {
  for (let at = end - piece; at >= 0; at -= piece) {
    const from = (at / 4) * 3;
    text.write(text.toString('base64', from, from + decodedPiece), at, 'latin1');
  }
}
