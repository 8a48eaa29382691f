/** Whether a service says that it knows submissions by their keys, and for how long. */
import type { IncomingHttpHeaders } from 'node:http';
import {
  defaultRetentionMs,
  idempotencyKeyHeader,
  idempotencyRetentionHeader,
} from '../../protocol/messages.ts';
import type { ShownIdempotency } from '../pipeline/ports.ts';

/** It echoes the key; where it does not say for how long, that is as long as it keeps results at least. */
export function readEcho(headers: IncomingHttpHeaders, key: string | undefined): ShownIdempotency {
  if (key === undefined || headers[idempotencyKeyHeader.toLowerCase()] !== key) return {};
  const { idempotencyMs = defaultRetentionMs } = readRetention(headers);
  return { idempotencyMs };
}

/** Of an answer to something else than a submission. */
export function readRetention(headers: IncomingHttpHeaders): ShownIdempotency {
  const text = headers[idempotencyRetentionHeader.toLowerCase()];
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? { idempotencyMs: Number(text) * 1_000 } : {};
}
