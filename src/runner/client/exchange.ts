/** Sends one HTTP request and returns its whole answer or, if none came, whether it may have been sent. */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import {
  cutShort,
  maxRefusalBytes,
  Receiver,
  type NoRoom,
  type NotReceived,
  type ReceiveLimits,
  type Received,
} from './receiver.ts';
import type { Hold, KeptAnswer } from '../pipeline/ports.ts';
import { smallBytes } from './reservation.ts';

/** HTTP answer with its body decompressed. */
export interface BytesAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/** HTTP answer with its body as text. */
export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Outcome = { kind: 'answered'; answer: BytesAnswer } | NotReceived;

/**
 * Sends a request and returns its answer. Never rejects. If memory is short, the answer is dropped and the
 * request is repeated later, so only a request that may be sent twice has `limits.hold`.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ReceiveLimits,
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    const received = await new Promise<Received | NotReceived | NoRoom>((resolve) => {
      const receiver = new Receiver(limits, signal, resolve);
      if (signal.aborted) receiver.giveUp(cutShort);
      else dispatcher.dispatch(request, receiver);
    });
    const outcome = received.kind === 'received' ? await read(received, limits) : received;
    if (outcome.kind !== 'no-room') return outcome;
    await limits.hold?.retake(outcome.bytes, signal);
  }
}

/** Returns the outcome for an answer that an earlier run kept, once memory is reserved for it. */
export async function keptOutcome(kept: KeptAnswer, hold: Hold, signal: AbortSignal): Promise<Outcome> {
  if (kept === 'too-large') return { kind: 'too-large' };
  if (!hold.tryGrow(kept.length)) await hold.retake(kept.length, signal);
  const bytes = Buffer.from(kept.buffer, kept.byteOffset, kept.length);
  return { kind: 'answered', answer: { status: 200, headers: {}, bytes } };
}

const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Returns the target of a redirect as an absolute URL, or unchanged if it is not a valid URL. Undefined if
 * the answer is not a redirect.
 */
export function redirectOf(outcome: Outcome, from: string): string | undefined {
  if (outcome.kind !== 'answered') return undefined;
  return redirectTarget(outcome.answer.status, outcome.answer.headers, from);
}

export function redirectTarget(
  status: number,
  { location }: BytesAnswer['headers'],
  from: string,
): string | undefined {
  if (typeof location !== 'string' || !redirects.has(status)) return undefined;
  return URL.canParse(location, from) ? new URL(location, from).href : location;
}

export function inText({ status, headers, bytes }: BytesAnswer): HttpResponse {
  return { status, headers, body: textOf(bytes) };
}

/** Decodes UTF-8 without a byte-order mark. Some services send one, although JSON must not have it. */
export function textOf(bytes: Buffer): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

async function read({ status, headers, bytes }: Received, limits: ReceiveLimits): Promise<Outcome | NoRoom> {
  const isSuccess = status >= 200 && status <= 299;
  const { hold, bodies = 1 } = limits;
  const answered = (body: Buffer): Outcome => {
    hold?.shrink(body.length * bodies);
    return { kind: 'answered', answer: { status, headers, bytes: body } };
  };
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return answered(bytes);
  const maxBytes = isSuccess ? limits.maxBodyBytes : maxRefusalBytes;
  // The decompressed size is unknown. If it may be large, memory for the largest body has to be reserved.
  const hasRoom = !isSuccess || hold === undefined || hold.bytes >= maxBytes;
  const unpacked = await unpack(bytes, encoding, hasRoom ? maxBytes : Math.min(maxBytes, smallBytes));
  if (unpacked.kind === 'unpacked') return answered(unpacked.bytes);
  if (!isSuccess) return answered(Buffer.alloc(0));
  if (unpacked.kind === 'too-large') return hasRoom ? unpacked : { kind: 'no-room', bytes: maxBytes };
  return { kind: 'broken', wasSent: true, why: unpacked.why, beginning: '' };
}

type Unpacked =
  { kind: 'unpacked'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'unreadable'; why: string };

const unpackers = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** Decompresses the body. Returns `too-large` if the result exceeds `maxBytes`. */
async function unpack(bytes: Buffer, encoding: string, maxBytes: number): Promise<Unpacked> {
  const unpackNamed = unpackers.get(encoding);
  if (unpackNamed === undefined) {
    const why = `the answer is encoded as ${JSON.stringify(encoding.slice(0, 40))}, which was not asked for`;
    return { kind: 'unreadable', why };
  }
  try {
    return { kind: 'unpacked', bytes: await unpackNamed(bytes, { maxOutputLength: maxBytes }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too-large' };
    return { kind: 'unreadable', why: `the answer says that it is ${encoding} and cannot be unpacked` };
  }
}
