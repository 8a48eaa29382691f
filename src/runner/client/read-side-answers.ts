/** What the answers to the side operations mean: cancelling a job, asking whether the service is there, and remembered keys. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Failure } from '../core/failure.ts';
import type { ServiceDescription } from '../core/service-description.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { jobStates, workerStates, type ServiceHealth } from '../core/service-health.ts';
import type { CancelReply, HealthReply, ShownIdempotency } from '../pipeline/ports.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { defaultRetentionMs, idempotencyRetentionHeader } from '../../protocol/messages.ts';
import { firstValueAt, valuesAt } from '../../protocol/output-shapes.ts';
import type { HttpResponse } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readRefusal, unreadable } from './read-refusal.ts';

/** The job has ended meanwhile, as the next poll shows, or there is no such operation. */
const uncancelled = new Set([400, 404, 405, 409, 410, 422, 501]);

export function readCancelAnswer(answer: HttpResponse): CancelReply {
  const { status, body } = answer;
  if (uncancelled.has(status))
    return { kind: 'unsupported', text: `the service does not cancel the job (${inWords(answer)})` };
  const failure = refusalOf(answer, isSuccess(status) ? parseObject(body) : undefined);
  if (failure !== undefined) return { kind: 'failure', failure };
  if (isSuccess(status)) return { kind: 'cancelled' };
  return { kind: 'failure', failure: unreadable(answer, 'the cancellation of a job') };
}

const noHealth = new Set([404, 405, 410, 501]);

export function readHealthAnswer(
  answer: HttpResponse,
  places: NonNullable<ServiceDescription['health']>,
): HealthReply {
  const { status } = answer;
  if (noHealth.has(status)) {
    const text = `the service does not report the endpoint's health (${inWords(answer)})`;
    return { kind: 'unknown', text };
  }
  const body = isSuccess(status) ? parseObject(answer.body) : undefined;
  const failure = refusalOf(answer, body);
  if (failure !== undefined) return { kind: 'failure', failure };
  if (body !== undefined) return { kind: 'answers', ...readHealth(body, places) };
  if (isSuccess(status))
    return { kind: 'unknown', text: `the endpoint's health is not a JSON object (${inWords(answer)})` };
  return { kind: 'failure', failure: unreadable(answer, 'the health request') };
}

/** `has`: a path that holds something if the id is known. `unknown` begins the text of an answer that does not know it. */
export function readCheckAnswer(answer: HttpResponse, has: string | undefined, unknown: string): HealthReply {
  const { status } = answer;
  const body = isSuccess(status) ? parseObject(answer.body) : undefined;
  const failure = refusalOf(answer, body);
  if (failure !== undefined) return { kind: 'failure', failure };
  if (isSuccess(status) && (has === undefined || valuesAt(body, has).length > 0)) return { kind: 'answers' };
  if (isSuccess(status) || status === 404 || status === 410)
    return { kind: 'unknown', text: `${unknown} (${inWords(answer)})` };
  return { kind: 'failure', failure: unreadable(answer, 'the check') };
}

/**
 * How long the service knows a submission by its key: it repeats the header of the key, and may say for how long. Results are
 * kept for as long at least.
 */
export function readEcho(headers: IncomingHttpHeaders, name: string, sent: string): ShownIdempotency {
  if (headers[name.toLowerCase()] !== sent) return {};
  const { idempotencyMs = defaultRetentionMs } = readRetention(headers);
  return { idempotencyMs };
}

/** Reads the same from an answer to anything but a submission. */
export function readRetention(headers: IncomingHttpHeaders): ShownIdempotency {
  const text = headers[idempotencyRetentionHeader.toLowerCase()];
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? { idempotencyMs: Number(text) * 1_000 } : {};
}

/** What is not a count is left out; without any count it is no health report. */
function readHealth(
  body: Record<string, unknown>,
  places: NonNullable<ServiceDescription['health']>,
): { health?: ServiceHealth } {
  const at = (place: string | undefined): unknown =>
    place === undefined ? undefined : firstValueAt(body, place);
  const workers = countsIn(at(places.workers), workerStates);
  const jobs = countsIn(at(places.jobs), jobStates);
  const isTold = Object.keys(workers).length + Object.keys(jobs).length > 0;
  return isTold ? { health: { workers, jobs } } : {};
}

function countsIn<Key extends string>(value: unknown, keys: readonly Key[]): Partial<Record<Key, number>> {
  if (!isJsonObject(value)) return {};
  const counts: Partial<Record<Key, number>> = {};
  for (const key of keys) {
    const count = value[key];
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) counts[key] = count;
  }
  return counts;
}

/** Some paths answer 200 and put the real status into the body. */
function refusalOf(answer: HttpResponse, body: Record<string, unknown> | undefined): Failure | undefined {
  const inside = body?.['status'];
  return readRefusal(typeof inside === 'number' ? { ...answer, status: inside } : answer);
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function inWords({ status, body }: HttpResponse): string {
  return `${status}: ${bodyText(body) ?? 'no message'}`;
}
