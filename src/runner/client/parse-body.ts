/** JSON bodies: integers of any size are kept exactly, and pictures of a large body are read without making text of them. */
import { randomBytes } from 'node:crypto';
import { isJsonObject } from '../../lib/text/json.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { inText, textOf, type BytesAnswer, type HttpResponse } from './exchange.ts';
import { smallBytes } from './reservation.ts';

/** No worker nests deeper or sends more values; parsing and reading what does could take all memory, or minutes. */
const maxDepth = 100;
const maxValues = 1_000_000;

/** The body as an object, or undefined where it is no JSON object. Integers that a number would round come as text. */
export function parseObject(body: string): Record<string, unknown> | undefined {
  const value = parseJson(body);
  return isJsonObject(value) ? value : undefined;
}

/** As above, of any JSON. */
export function parseJson(body: string): unknown {
  const json = prepare(body);
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * The body with its long integers in quotes, or undefined where it is beyond the bounds. Goes from string to string,
 * so that megabytes of picture are stepped over and not looked at.
 */
function prepare(body: string): string | undefined {
  const parts: string[] = [];
  let kept = 0;
  const shape = { depth: 0, commas: 0 };
  for (let at = 0; at < body.length;) {
    const open = body.indexOf('"', at);
    const end = open === -1 ? body.length : open;
    if (!staysWithinBounds(shape, body, at, end)) return undefined;
    const between = end - at < shortestLong ? '' : body.slice(at, end);
    const quoted = between.replaceAll(/-?\d[\d.eE+-]*/g, quoteLongInteger);
    if (quoted !== between) {
      parts.push(body.slice(kept, at), quoted);
      kept = end;
    }
    at = open === -1 ? end : endOfString(body, open);
  }
  return parts.length === 0 ? body : [...parts, body.slice(kept)].join('');
}

/** Counts on in `shape` what stands between two strings. */
function staysWithinBounds(
  shape: { depth: number; commas: number },
  body: string,
  start: number,
  end: number,
): boolean {
  for (let at = start; at < end; at++) {
    const code = body.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) shape.depth += 1;
    else if (code === 0x5d || code === 0x7d) shape.depth -= 1;
    else if (code === 0x2c) shape.commas += 1;
    if (shape.depth > maxDepth) return false;
  }
  return shape.commas < maxValues;
}

/** Digits of the smallest integer that a number cannot hold exactly, and of the longest that is kept. */
const shortestLong = 16;
const longestLong = 40;

function quoteLongInteger(number: string): string {
  const isInteger = number.length <= longestLong && /^-?\d+$/.test(number);
  return isInteger && !Number.isSafeInteger(Number(number)) ? `"${number}"` : number;
}

function endOfString(body: string, open: number): number {
  for (let close = body.indexOf('"', open + 1); close !== -1; close = body.indexOf('"', close + 1)) {
    if (!isEscaped(body, close)) return close + 1;
  }
  return body.length;
}

function isEscaped(body: string, at: number): boolean {
  let backslashes = 0;
  while (body.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes += 1;
  return backslashes % 2 === 1;
}

/** Returns what `read` makes of the answer, with pictures as bytes if it is large and they are plain base64. */
export function readLifted<Reply>(
  answer: BytesAnswer,
  read: (answer: HttpResponse) => Reply | StatusReply,
): Reply | StatusReply {
  return readLarge(answer, read) ?? read(inText(answer));
}

/** Undefined if the answer is small, or is read as text. */
export function readLarge(
  { status, headers, bytes }: BytesAnswer,
  read: (answer: HttpResponse) => unknown,
): StatusReply | undefined {
  if (status < 200 || status > 299 || bytes.length <= smallBytes) return undefined;
  const lifted = liftPictures(bytes);
  if (lifted === undefined) return undefined;
  const { json, pictures, nonce } = lifted;
  const reply = read({ status, headers, body: textOf(json) });
  // What it says instead may quote or measure the long texts, and a file of JSON may have one in it.
  if (!isCompleted(reply) || reply.pictures.some((found) => hasWithin(found, nonce))) return undefined;
  return { ...reply, pictures: reply.pictures.map(inBytes(pictures)) };
}

function isCompleted(reply: unknown): reply is StatusReply & { kind: 'completed' } {
  return (reply as StatusReply).kind === 'completed';
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

const shortestPicture = 16 * 1024;
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
    const close = closingQuote(body, open, quotes);
    if (close === -1) return undefined;
    if (close - open > shortestPicture) {
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
function closingQuote(body: Buffer, open: number, quotes: { left: number }): number {
  let close = nextQuote(body, open + 1, quotes);
  while (close !== -1 && isEscapedByte(body, close)) close = nextQuote(body, close + 1, quotes);
  return close;
}

function isEscapedByte(body: Buffer, at: number): boolean {
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
