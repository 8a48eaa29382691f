/** Sends one HTTP request, and reads refusals that mean the same for every operation. */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { shownProxy } from '../../lib/net/addresses.ts';
import { oneLine } from '../../lib/text/format.ts';
import { bodyText } from '../../protocol/error-text.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import { formatBytes } from '../core/file-text.ts';
import {
  cutShort,
  maxRefusalBytes,
  type NoRoom,
  type NotReceived,
  type Received,
  type ReceiveLimits,
  Receiver,
  smallBytes,
} from './receiver.ts';

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
 * Sends a request. Never rejects. Short of memory, drops the answer to repeat later, so `limits.share` is
 * only for requests that may be sent twice. `proxy` is the one that `dispatcher` uses, for messages.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  limits: ReceiveLimits,
  signal: AbortSignal,
  proxy?: URL,
): Promise<Outcome> {
  for (;;) {
    const received = await new Promise<Received | NotReceived | NoRoom>((resolve) => {
      const receiver = new Receiver(limits, signal, resolve);
      if (signal.aborted) receiver.giveUp(cutShort);
      else dispatcher.dispatch(request, receiver);
    });
    const outcome = received.kind === 'received' ? await read(received, limits) : received;
    if (outcome.kind === 'broken' && proxy !== undefined)
      return { ...outcome, why: `${outcome.why}, through the proxy ${shownProxy(proxy)}` };
    if (outcome.kind !== 'no-room') return outcome;
    await limits.share?.retake(outcome.bytes, signal);
  }
}

const redirects = new Set([301, 302, 303, 307, 308]);

/** Returns the target of a redirect as an absolute URL, unchanged if invalid; undefined if none. */
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

/** Returns the answer with its body decoded as UTF-8. */
export function withTextBody({ status, headers, bytes }: BytesAnswer): HttpResponse {
  return { status, headers, body: textOf(bytes) };
}

/** Decodes UTF-8 without a byte-order mark. Some services send one, although JSON must not have it. */
export function textOf(bytes: Buffer): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

async function read({ status, headers, bytes }: Received, limits: ReceiveLimits): Promise<Outcome | NoRoom> {
  const isSuccess = status >= 200 && status <= 299;
  const { share, bodies = 1 } = limits;
  const answered = (body: Buffer): Outcome => {
    share?.shrink(body.length * bodies);
    return { kind: 'answered', answer: { status, headers, bytes: body } };
  };
  // A sink has taken the body, and unpacks it itself.
  if (isSuccess && limits.sink !== undefined) return answered(bytes);
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return answered(bytes);
  const maxBytes = isSuccess ? limits.maxBodyBytes : maxRefusalBytes;
  // The decompressed size is unknown. If it may be large, memory for the largest body has to be reserved.
  const hasRoom = !isSuccess || share === undefined || share.bytes >= maxBytes;
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

/** Decompresses the body. Returns `too-large`, or `unreadable` if it is damaged or its encoding unknown. */
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

/** Returns the failure if the status code means the same for every operation, such as 401 or 429. Otherwise undefined. */
export function readRefusal({ status, headers, body }: HttpResponse): Failure | undefined {
  const rule = rules[status];
  if (rule === undefined) return undefined;
  const said = bodyText(body);
  const text = `${rule.means} (${said === undefined ? status : `${status}: ${said}`})`;
  const retryAfterMs =
    rule.kind === 'overloaded' ? (readRetryAfter(headers) ?? retryAfterIn(body)) : undefined;
  return { kind: rule.kind, text, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

const rules: Record<number, { kind: FailureKind; means: string }> = {
  401: { kind: 'key-refused', means: 'the service does not accept the key of `endpoint.apiKey`' },
  402: { kind: 'account-unusable', means: 'the account cannot pay for jobs; add credit to it' },
  403: {
    kind: 'key-refused',
    means: 'the key may not use this endpoint; see `endpoint.apiKey` and `endpoint.id`',
  },
  425: { kind: 'overloaded', means: 'the service asks to wait' },
  429: { kind: 'overloaded', means: 'the service asks to wait' },
};

/** Reason for a refusal by a host that is not the service's own. */
export const noKeySent =
  'no key was sent there; it goes to `endpoint.baseUrl`, and to the `origins` of a description (`nightrender help own-service`)';

const maxRetryAfterMs = 10 * 60_000;
const httpDate = /^[A-Za-z]{3,9}, ?\d{2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;

/** Returns `Retry-After` in ms, at most ten minutes, or undefined. Dates are compared with the `Date` header. */
export function readRetryAfter(headers: HttpResponse['headers'], now = Date.now()): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(maxRetryAfterMs, Number(value) * 1000);
  if (!httpDate.test(value)) return undefined;
  const waitMs = Date.parse(value) - readDate(now, headers.date);
  return Number.isNaN(waitMs) ? undefined : Math.min(maxRetryAfterMs, Math.max(0, waitMs));
}

/** Reads the wait from the body, where only Replicate puts it (https://github.com/nodetool-ai/nodetool/issues/5196). */
function retryAfterIn(body: string): number | undefined {
  const seconds = /"retry_after"\s*:\s*(\d+(?:\.\d+)?)\s*[,}]/.exec(body)?.[1];
  return seconds === undefined ? undefined : Math.min(maxRetryAfterMs, Number(seconds) * 1_000);
}

function readDate(now: number, date = ''): number {
  const at = httpDate.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(at) ? now : at;
}

/** Returns the failure for an unexpected answer. `what` names the request, such as `a status request`. */
export function unreadable({ status, headers, body }: HttpResponse, what: string): Failure {
  const target = status >= 300 && status <= 399 ? oneLine(headers.location ?? '') : undefined;
  const said = target === undefined ? (bodyText(body) ?? 'an empty body') : `a redirect to ${target}`;
  const retryAfterMs = readRetryAfter(headers);
  return {
    kind: 'poll-failed',
    text: `${what} was answered ${status}: ${said}`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Returns why a body was not read to its end: its size, if it was stated, and the limit. */
export function tooLargeText(
  what: string,
  { bytes }: NotReceived & { kind: 'too-large' },
  maxBytes: number,
  limit: 'download' | 'body',
): string {
  const allowed = formatBytes(maxBytes);
  return bytes === undefined
    ? `${what} has more than the ${allowed} that \`limits.${limit}\` allows`
    : `${what} has ${formatBytes(bytes)}, and \`limits.${limit}\` allows ${allowed}`;
}

export interface Failed {
  kind: 'failure';
  failure: Failure;
}

export function failure(kind: FailureKind, text: string): Failed {
  return { kind: 'failure', failure: { kind, text } };
}
