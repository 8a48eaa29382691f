/** What comes where a worker has asked the service: its answer, a proxy's page, or nothing. */
import type { Dispatcher } from 'undici';
import { JoinedBytes } from '../../lib/limits/joined-bytes.ts';
import { oneLine } from '../../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface Answer {
  /** 0 where nothing came. */
  status: number;
  bytes: Buffer;
  /** Of a long one the beginning. Why, where nothing came. */
  text: string;
  /** Undefined for what is no object, or long. */
  json: JsonObject | undefined;
  /** What the service refuses with, in its words; undefined for all else. */
  refusal: string | undefined;
  /** Where a redirect leads. */
  location: string | undefined;
}

/** What is longer is not parsed at once. */
const maxParsedBytes = 1024 * 1024;

/** A body of more than `maxBytes` is not read to its end. */
export async function readAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<Answer> {
  const announced = Number(headers['content-length'] ?? 0);
  const read = new JoinedBytes(announced <= maxBytes ? announced : undefined);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    read.add(chunk);
    if (read.byteCount > maxBytes) break;
  }
  const bytes = read.take();
  const isLong = bytes.length > Math.min(maxBytes, maxParsedBytes);
  const text = isLong ? bytes.toString('utf8', 0, 1_000) : bytes.toString();
  const json = isLong ? undefined : objectIn(text);
  const refusal = statusCode >= 400 && typeof json?.['error'] === 'string' ? json['error'] : undefined;
  const location = statusCode >= 300 && statusCode < 400 ? String(headers['location'] ?? '') : undefined;
  return { status: statusCode, bytes, text, json, refusal, location };
}

export function noAnswer(error: unknown): Answer {
  const { message, code, name } = error as NodeJS.ErrnoException;
  // What fails at several addresses of a name has no message of its own.
  return {
    status: 0,
    bytes: Buffer.alloc(0),
    text: oneLine(message) ?? code ?? name,
    json: undefined,
    refusal: undefined,
    location: undefined,
  };
}

/** What is wrong with it, in words, for people. */
export function complaintOf({ status, text, refusal, location }: Answer): string {
  if (status === 0) return `the service does not answer (${text})`;
  if (refusal !== undefined) return `the service says ${status}: ${refusal.slice(0, 500)}`;
  if (status >= 500 || status === 408 || status === 429)
    return `the service does not answer (status ${status})`;
  const what =
    location === undefined ? beginning(text) : `a redirect to ${JSON.stringify(location.slice(0, 200))}`;
  return `something else answers in the place of the service (status ${status} and ${what})`;
}

function beginning(text: string): string {
  const shown = text.slice(0, 200).replaceAll(/\s+/g, ' ').trim();
  return shown === '' ? 'nothing more' : JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown);
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
