/** Removes the key from everything that is emitted, recorded or shown, whatever a service answers. */
import { isJsonObject } from '../../lib/text/json.ts';
import type { PictureOutput } from '../core/picture.ts';
import type { CancelReply, HealthReply, StatusReply, SubmitReply, WriteChunk } from '../pipeline/ports.ts';

/** Returns the reply with the key removed from its texts. The bytes of pictures stay unchanged. */
export function withoutKey<Reply extends SubmitReply | StatusReply | CancelReply | HealthReply>(
  reply: Reply,
  key: string,
): Reply {
  return {
    ...reply,
    ...('text' in reply && { text: textWithoutKey(reply.text, key) }),
    ...('status' in reply && { status: textWithoutKey(reply.status, key) }),
    ...('failure' in reply && {
      failure: { ...reply.failure, text: textWithoutKey(reply.failure.text, key) },
    }),
    ...('pictures' in reply && {
      pictures: reply.pictures.map((picture) => ({
        ...picture,
        ...('url' in picture && { url: textWithoutKey(picture.url, key) }),
        ...(picture.output && { output: valueWithoutKey(picture.output, key) as PictureOutput }),
      })),
    }),
  };
}

function valueWithoutKey(value: unknown, key: string): unknown {
  if (typeof value === 'string') return textWithoutKey(value, key);
  if (Array.isArray(value)) return value.map((item) => valueWithoutKey(item, key));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    textWithoutKey(name, key),
    valueWithoutKey(inner, key),
  ]);
  return Object.fromEntries(entries) as unknown;
}

/** True if the text contains the key. */
export function repeatsKey(text: string, key: string): boolean {
  return textWithoutKey(text, key) !== text;
}

/** Length of the shortest key that is removed. Shorter keys are not secret, and words begin with them. */
const minTelling = 4;

export function textWithoutKey(text: string, key: string): string {
  if (key.length < minTelling) return text;
  return [...new Set([key, encodeURIComponent(key), ...secretPart(key)])].reduce(withoutSpelling, text);
}

/** Returns the second part of an `id:secret` key, which has to be removed on its own too. */
function secretPart(key: string): string[] {
  const part = key.slice(key.indexOf(':') + 1);
  return part !== key && part.length >= 2 * minTelling ? [part] : [];
}

/**
 * Replaces one spelling of the key in any case, because some proxies change the case of headers. A cut text
 * may end within the key, so `…` after its beginning is replaced too.
 */
function withoutSpelling(text: string, key: string): string {
  let clean = text.replaceAll(inAnyCase(key), '[key]');
  for (let length = key.length - 1; length >= minTelling && clean.includes('…'); length--) {
    clean = clean.replaceAll(inAnyCase(`${key.slice(0, length)}…`), '[key]…');
  }
  return clean;
}

const patterns = new Map<string, RegExp>();
const maxPatterns = 1_000;

function escaped(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_…]/g, String.raw`\$&`);
}

function inAnyCase(text: string): RegExp {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  if (patterns.size >= maxPatterns) patterns.clear();
  const pattern = new RegExp(escaped(text), 'gi');
  patterns.set(text, pattern);
  return pattern;
}

/**
 * Removes the key from an answer in chunks, the last of which is empty. Base64 that contains the key by
 * chance stays unchanged.
 */
export function chunksWithoutKey(write: WriteChunk, key: string): WriteChunk {
  if (key.length < minTelling) return write;
  // Some services write / in JSON as \/.
  const plain = [key, encodeURIComponent(key), ...secretPart(key)];
  const spellings = [...new Set([...plain, ...plain.map((text) => text.replaceAll('/', '\\/'))])];
  const pattern = new RegExp(
    `(?<![A-Za-z0-9+/])(?:${spellings.map(escaped).join('|')})(?![A-Za-z0-9+/])`,
    'gi',
  );
  // One more character shows where the key ends.
  const kept = Math.max(...spellings.map(({ length }) => length)) + 1;
  let rest = '';
  return async (chunk) => {
    const text = (rest + Buffer.from(chunk).toString('latin1')).replaceAll(pattern, '[key]');
    const end = chunk.length === 0 ? text.length : Math.max(0, text.length - kept);
    rest = text.slice(end);
    await write(Buffer.from(text.slice(0, end), 'latin1'));
  };
}
