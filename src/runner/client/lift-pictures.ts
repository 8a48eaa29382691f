/** Takes the long base64 texts out of a JSON body, so that megabytes of picture are neither parsed nor copied. */
import { randomBytes } from 'node:crypto';
import { decodeInPlace, type DecodedInPlace } from './decode-in-place.ts';

export interface Lifted {
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
const mostQuotes = 20_000;
const quote = 0x22;
const dataUri = /^data:image\/[a-z0-9.+-]{1,60};base64,/i;

/**
 * The bytes of the pictures take the place of their texts within `body`. Undefined, with the body as it was, where it is
 * none of that simple kind: a long string that is not all base64 (escapes and line breaks included), or is a key.
 */
export function liftPictures(body: Buffer): Lifted | undefined {
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
  const quotes = { left: mostQuotes };
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
