/** A server's response, before it is sent. */
import type { FiledText, Text } from '../files/filed-text.ts';

export interface HttpResponse {
  status: number;
  /** JSON text, unless `headers` has another `Content-Type`. Whoever takes the response closes its files. */
  body: Text | FiledText;
  headers?: Record<string, string | string[]>;
  /** Set if the request's body is longer than allowed. */
  isTooLarge?: true;
}

export function refusal(status: number, error: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers, body: errorBody(error) };
}

export function errorBody(error: string): string {
  return JSON.stringify({ error });
}

export function tooMany(error: string, waitMs: number): HttpResponse {
  return refusal(429, error, { 'Retry-After': String(Math.ceil(waitMs / 1_000)) });
}

export function jsonResponse(body: object, status = 200): HttpResponse {
  return { status, body: JSON.stringify(body) };
}

export const emptyResponse: HttpResponse = { status: 204, body: '' };
