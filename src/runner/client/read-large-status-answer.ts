/** What a large answer to a status request means, read without making text of its pictures. */
import { randomBytes } from 'node:crypto';
import type { FoundPicture } from '../core/picture.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { textOf, type BytesAnswer } from './exchange.ts';
import { readStatusAnswer, type JobPlaces } from './read-job-answers.ts';
import { smallBytes } from './reservation.ts';

/**
 * As `readStatusAnswer` reads it, save that pictures come as bytes. Undefined where it is small or anything but pictures in
 * plain base64.
 */
export function readLargeStatusAnswer(
  { status, headers, bytes }: BytesAnswer,
  jobId: string,
  places: JobPlaces,
): StatusReply | undefined {
  if (status < 200 || status > 299 || bytes.length <= smallBytes) return undefined;
  const lifted = liftPictures(bytes);
  if (lifted === undefined) return undefined;
  const { json, pictures, nonce } = lifted;
  const reply = readStatusAnswer({ status, headers, body: textOf(json) }, jobId, places);
  // What it says instead may quote or measure the long texts, and a file of JSON may have one in it.
  if (reply.kind !== 'completed' || reply.pictures.some((found) => hasWithin(found, nonce))) return undefined;
  return { ...reply, pictures: reply.pictures.map(inBytes(pictures)) };
}

function hasWithin(found: FoundPicture, nonce: string): boolean {
  return 'bytes' in found && Buffer.from(found.bytes).includes(nonce);
}

function inBytes(pictures: ReadonlyMap<string, Uint8Array>): (found: FoundPicture) => FoundPicture {
  return (found) => {
    const bytes = 'base64' in found ? pictures.get(found.base64) : undefined;
    if (bytes === undefined || !('base64' in found)) return found;
    const { base64: _, ...told } = found;
    return { ...told, bytes };
  };
}

interface Lifted {
  /** The body with a short text in the place of each long one: it begins alike, and is found in `pictures`. */
  json: Buffer;
  /** What the long texts held, by what stands in their place. */
  pictures: ReadonlyMap<string, Uint8Array>;
  /** What is in each short text, and in no other. */
  nonce: string;
}

const shortestLong = 16 * 1024;
/** Nobody who looks at a text to tell what it is looks further. */
const shownBytes = 1_200;
/** Stepping from quote to quote has to be worth it. */
const maxQuotes = 20_000;
const quote = 0x22;
const dataUri = /^data:image\/[a-z0-9.+-]{1,60};base64,/i;

/** Undefined where a long string is not all base64 (escapes and line breaks included), or is a key. */
function liftPictures(body: Buffer): Lifted | undefined {
  const pictures = new Map<string, Buffer>();
  const nonce = randomBytes(18).toString('hex');
  const json = withoutLong(body, pictures, nonce);
  return json && { json, pictures, nonce };
}

/** Puts into `pictures` what the long strings held. */
function withoutLong(body: Buffer, pictures: Map<string, Buffer>, nonce: string): Buffer | undefined {
  const parts: Buffer[] = [];
  const quotes = { left: maxQuotes };
  let kept = 0;
  for (let open = nextQuote(body, 0, quotes); open !== -1;) {
    const close = endOfString(body, open, quotes);
    if (close === -1) return undefined;
    if (close - open > shortestLong) {
      const picture = liftOne(body, open + 1, close);
      if (picture === undefined) return undefined;
      const name = `${picture.shown}${nonce}${pictures.size}`;
      pictures.set(name, picture.bytes);
      parts.push(body.subarray(kept, open + 1), Buffer.from(name, 'latin1'));
      kept = close;
    }
    open = nextQuote(body, close + 1, quotes);
  }
  return quotes.left === 0 ? undefined : Buffer.concat([...parts, body.subarray(kept)]);
}

function liftOne(body: Buffer, start: number, end: number): { shown: string; bytes: Buffer } | undefined {
  if (isKey(body, end)) return undefined;
  const shown = body.toString('latin1', start, start + shownBytes);
  const prefix = dataUri.exec(shown)?.[0] ?? '';
  const bytes = decodeStrictly(body.toString('latin1', start + prefix.length, end));
  return bytes && { shown, bytes };
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

/** Undefined where it is not all base64 with its padding. */
function decodeStrictly(text: string): Buffer | undefined {
  // Node takes these two for + and /, and drops every other wrong character, so that it shows in the length.
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined;
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}
