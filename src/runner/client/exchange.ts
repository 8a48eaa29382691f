/** One HTTP request and its whole answer or, where none came, whether the request can have left this machine. */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { smallBytes } from './memory-budget.ts';
import {
  cutShort,
  maxRefusalBytes,
  Receiver,
  type NoRoom,
  type NotReceived,
  type ReceiveLimits,
  type Received,
} from './receiver.ts';

/** An answer with its body read. */
export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The same before anything is made of its body. */
export interface BytesAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

export type Outcome = OutcomeWith<HttpResponse>;
export type BytesOutcome = OutcomeWith<BytesAnswer>;

type OutcomeWith<Body> = { kind: 'answered'; answer: Body } | NotReceived;

/** Never rejects. Where there is no room for an answer, it is dropped, and asked for again once there is. */
export async function exchangeBytes(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ReceiveLimits,
  signal: AbortSignal,
): Promise<BytesOutcome> {
  const isRepeatable = request.method === 'GET';
  for (let reserved = 0; ;) {
    const received = await new Promise<Received | NotReceived | NoRoom>((resolve) => {
      const receiver = new Receiver(limits, { isRepeatable, reserved }, signal, resolve);
      if (signal.aborted) receiver.giveUp(cutShort);
      else dispatcher.dispatch(request, receiver);
    });
    if (received.kind === 'received') return read(received, limits, signal);
    if (received.kind !== 'no-room') return received;
    limits.hold?.giveBack(received.taken);
    reserved = received.bytes;
    await makeRoom(reserved, limits, signal);
  }
}

/** A text, what is parsed of it and what is made of that take as much as this many bodies. */
const timesInText = 3;

/** The answer with its body as text; what that takes is waited for. */
export async function inText(
  { bytes, ...rest }: BytesAnswer,
  limits: ReceiveLimits,
  signal: AbortSignal,
): Promise<HttpResponse> {
  if (bytes.length > smallBytes) await makeRoom(timesInText * bytes.length, limits, signal);
  return { ...rest, body: textOf(bytes) };
}

/** Without the byte-order mark that JSON must not have and some have. */
export function textOf(bytes: Buffer): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

async function read(received: Received, limits: ReceiveLimits, signal: AbortSignal): Promise<BytesOutcome> {
  const { status, headers } = received;
  const isSuccess = status >= 200 && status <= 299;
  const answered = (bytes: Buffer): BytesOutcome => ({
    kind: 'answered',
    answer: { status, headers, bytes },
  });
  const packed = await inOnePiece(received, limits, signal);
  const encoding = headers['content-encoding'];
  const maxBytes = isSuccess ? limits.maxBodyBytes : maxRefusalBytes;
  // Nobody knows how much comes out: only where that is more than little, room is made for the most.
  let unpacked = await unpack(packed, encoding, Math.min(maxBytes, smallBytes));
  if (unpacked.kind === 'too-large' && maxBytes > smallBytes) {
    await makeRoom(maxBytes, limits, signal);
    unpacked = await unpack(packed, encoding, maxBytes);
    if (unpacked.kind === 'unpacked') limits.hold?.giveBack(maxBytes - unpacked.bytes.length);
  }
  if (unpacked.kind === 'unpacked') return answered(unpacked.bytes);
  if (!isSuccess) return answered(Buffer.alloc(0));
  if (unpacked.kind === 'too-large') return unpacked;
  return { kind: 'broken', wasSent: true, why: unpacked.why, beginning: '' };
}

async function inOnePiece(
  { parts, bytes, taken }: Received,
  limits: ReceiveLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  const [only = Buffer.alloc(0)] = parts;
  if (parts.length <= 1) return only;
  if (bytes > smallBytes) await makeRoom(bytes, limits, signal);
  const whole = Buffer.concat(parts, bytes);
  limits.hold?.giveBack(taken);
  return whole;
}

/** What has come whole is read in any case: where `signal` aborts, at once. */
async function makeRoom(bytes: number, { hold }: ReceiveLimits, signal: AbortSignal): Promise<void> {
  await hold?.take(bytes, signal);
}

type Unpacked =
  { kind: 'unpacked'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'unreadable'; why: string };

const unpackers = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** `encoding` is the header `content-encoding`; at most `maxBytes` come out, however small the body is. */
async function unpack(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Unpacked> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return { kind: 'unpacked', bytes };
  const unpackNamed = unpackers.get(name);
  if (unpackNamed === undefined) {
    const why = `the answer is encoded as ${JSON.stringify(name.slice(0, 40))}, which was not asked for`;
    return { kind: 'unreadable', why };
  }
  try {
    return { kind: 'unpacked', bytes: await unpackNamed(bytes, { maxOutputLength: maxBytes }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too-large' };
    return { kind: 'unreadable', why: `the answer says that it is ${name} and cannot be unpacked` };
  }
}
