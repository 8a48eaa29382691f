/** Reads failures that mean the same for every operation: refused keys and accounts, overload, odd answers. */
import { oneLine } from '../../lib/text/format.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import { bodyText } from '../../protocol/error-text.ts';
import type { HttpResponse } from './exchange.ts';

/** Returns the failure if the status code means the same for every operation, such as 401 or 429. */
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

/**
 * Returns `Retry-After` in milliseconds, at most ten minutes. An HTTP date is compared with the `Date`
 * header, if there is one. Undefined if it is missing or malformed.
 */
export function readRetryAfter(headers: HttpResponse['headers'], now = Date.now()): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(maxRetryAfterMs, Number(value) * 1000);
  if (!httpDate.test(value)) return undefined;
  const waitMs = Date.parse(value) - readDate(now, headers.date);
  return Number.isNaN(waitMs) ? undefined : Math.min(maxRetryAfterMs, Math.max(0, waitMs));
}

/**
 * Reads the wait from the body. Replicate sends it only there
 * (https://github.com/nodetool-ai/nodetool/issues/5196).
 */
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

export interface Failed {
  kind: 'failure';
  failure: Failure;
}

export function failure(kind: FailureKind, text: string): Failed {
  return { kind: 'failure', failure: { kind, text } };
}
