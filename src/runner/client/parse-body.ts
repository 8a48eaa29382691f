/** Parses JSON: keeps long integers exact, and decodes pictures of large bodies without a copy as text. */
import { randomBytes } from 'node:crypto';
import { isJsonObject } from '../../lib/text/json.ts';
import { isSuccess } from '../../protocol/error-text.ts';
import type { FoundPicture } from '../core/picture.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { withTextBody, textOf, type BytesAnswer, type HttpResponse } from './exchange.ts';
import { smallBytes } from './receiver.ts';

/** Limits that no worker reaches. Parsing a larger body could take all memory, or minutes. */
const maxDepth = 100;
const maxValues = 1_000_000;

/** Parses a JSON object, or undefined. Integers that a number would round become strings. */
export function parseObject(body: string): Record<string, unknown> | undefined {
  const value = parseJson(body);
  return isJsonObject(value) ? value : undefined;
}

/** Parses JSON; undefined if invalid or beyond a limit. Integers that a number would round become strings. */
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
 * Returns the body with its long integers in quotes. Undefined if it exceeds a limit. Jumps from string to
 * string, so that megabytes of picture are skipped.
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

/** Adds the JSON between two strings to `shape`. Returns false if a limit is exceeded. */
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

/** Digits of the shortest integer that a number may round, and of the longest that is kept exact. */
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

/** Returns the result of `read`. If the answer is large, its plain base64 pictures are replaced by bytes. */
export function readLifted<Reply>(
  answer: BytesAnswer,
  read: (answer: HttpResponse) => Reply | StatusReply,
): Reply | StatusReply {
  return readLarge(answer, read) ?? read(withTextBody(answer));
}

/** Reads a large answer without making text of its pictures; undefined if it has to be read as text. */
export function readLarge(
  { status, headers, bytes }: BytesAnswer,
  read: (answer: HttpResponse) => unknown,
): StatusReply | undefined {
  if (!isSuccess(status) || bytes.length <= smallBytes) return undefined;
  const lifted = extractBase64Images(bytes);
  if (lifted === undefined) return undefined;
  const { json, pictures, nonce } = lifted;
  const reply = read({ status, headers, body: textOf(json) });
  // A failure may quote or measure long strings, and a JSON file may contain one: both need the real text.
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
  /** Body with long strings replaced by short ones that begin alike, the keys of `pictures`. */
  json: Buffer;
  /** Decoded bytes of the long strings, by their replacement. */
  pictures: ReadonlyMap<string, Uint8Array>;
  /** Random text that each replacement contains, and no other string. */
  nonce: string;
}

const shortestPicture = 16 * 1024;
/** Length of the beginning that a replacement keeps. Detecting the kind of a text never reads further. */
const shownBytes = 1_200;
/** Bodies with more quotes are read as text, because searching for each quote would be slower. */
const maxQuotes = 20_000;
const quote = 0x22;
const dataUri = /^data:(?:image|video|audio)\/[a-z0-9.+-]{1,60};base64,/i;

/** Replaces long base64 strings; undefined if one has escapes or line breaks, or is a key. */
function extractBase64Images(body: Buffer): Lifted | undefined {
  const pictures = new Map<string, Buffer>();
  const nonce = randomBytes(18).toString('hex');
  const json = withoutLong(body, pictures, nonce);
  return json && { json, pictures, nonce };
}

/** Returns the body with long strings replaced and decoded into `pictures`; undefined if it cannot. */
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

/** Returns the index of the next quote. -1 if there is none, or if `quotes.left` is used up. */
function nextQuote(body: Buffer, from: number, quotes: { left: number }): number {
  if (quotes.left === 0) return -1;
  quotes.left -= 1;
  return body.indexOf(quote, from);
}

/** Returns the index of the quote that ends the string, or -1. */
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

/** True if the string is a key. Equal keys have to stay equal, because JSON uses the last of them. */
function isKey(body: Buffer, close: number): boolean {
  let at = close + 1;
  while (' \t\r\n'.includes(String.fromCharCode(body[at] ?? 0))) at += 1;
  return body[at] === 0x3a;
}

/** Decodes base64. Undefined if a character or the padding is wrong. */
function decodeStrictly(text: string): Buffer | undefined {
  // Node accepts - and _ as + and /. It drops any other wrong character, which shortens the result.
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined;
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}
