/** The answers that say nothing of what was asked for. */
import type { Failure } from '../core/failure.ts';
import { bodyText, oneLine } from '../../protocol/error-text.ts';
import type { HttpResponse } from './exchange.ts';
import { readRetryAfter } from './read-refusal.ts';

/** `what` was asked for, such as `a status request`. */
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
