/** The `Idempotency-Key` of a submission: one that comes again under its key makes no second job. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { idempotencyKeyHeader } from '../protocol/messages.ts';
import { type HttpResponse, refusal } from './http/http-response.ts';
import type { Idempotency } from './jobs/job.ts';
import type { RequestContext } from './request-context.ts';

type Request = Pick<IncomingMessage, 'headers'>;
type Submission = Pick<RequestContext, 'request' | 'endpoint' | 'keyId'>;

/** Undefined for none. */
export function sentKey({ headers }: Request): string | undefined {
  // Where it came twice, Node joins both, and the space between them makes it a wrong one.
  return headers[idempotencyKeyHeader.toLowerCase()]?.toString();
}

/** Why it is not accepted; undefined where it is, or there is none. */
export function wrongIdempotencyKey(request: Request): HttpResponse | undefined {
  const key = sentKey(request);
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return undefined;
  const text = `the header ${idempotencyKeyHeader} is not accepted; expected 1 to 255 ASCII characters without spaces`;
  return refusal(400, text);
}

/** What the submission is known by; null where it has no key. */
export function idempotencyOf(submission: Submission, body: Buffer): Idempotency | null {
  const key = idempotencyKeyOf(submission);
  return key && { key, body: digestOf(body) };
}

/** With the client's own key in it, so that nobody comes upon the job of another. */
export function idempotencyKeyOf({ request, endpoint, keyId }: Submission): Buffer | null {
  const sent = sentKey(request);
  return sent === undefined ? null : digestOf(JSON.stringify([endpoint.id, keyId, sent]));
}

function digestOf(data: string | Buffer): Buffer {
  return hash('sha256', data, 'buffer');
}
