/** What the answers to the side operations mean: cancelling a job, and asking for the endpoint's health. */
import type { Failure } from '../core/failure.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { jobStates, workerStates, type ServiceHealth } from '../core/service-health.ts';
import type { CancelReply, HealthReply } from '../pipeline/ports.ts';
import { bodyText } from '../../protocol/error-text.ts';
import type { HttpResponse } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readRetention } from './read-idempotency.ts';
import { readRefusal, unreadable } from './read-refusal.ts';

export function readCancelAnswer(answer: HttpResponse): CancelReply {
  const { status, body } = answer;
  if (hasNothingThere(status)) {
    return { kind: 'unsupported', text: `the service does not cancel the job (${inWords(status, body)})` };
  }
  const failure = refusalOf(answer, isSuccess(status) ? parseObject(body) : undefined);
  if (failure !== undefined) return { kind: 'failure', failure };
  if (isSuccess(status)) return { kind: 'cancelled' };
  return { kind: 'failure', failure: unreadable(answer, 'the cancellation of a job') };
}

export function readHealthAnswer(answer: HttpResponse): HealthReply {
  const { status, body } = answer;
  if (hasNothingThere(status)) {
    return {
      kind: 'unknown',
      text: `the service does not report the endpoint's health (${inWords(status, body)})`,
    };
  }
  const health = isSuccess(status) ? parseObject(body) : undefined;
  const failure = refusalOf(answer, health);
  if (failure !== undefined) return { kind: 'failure', failure };
  if (health !== undefined)
    return { kind: 'answers', ...readHealth(health), ...readRetention(answer.headers) };
  if (isSuccess(status)) {
    return {
      kind: 'unknown',
      text: `the endpoint's health is not a JSON object (${inWords(status, body)})`,
    };
  }
  return { kind: 'failure', failure: unreadable(answer, 'the health request') };
}

/** What is not a count is left out; without any count it is no health report. */
function readHealth(body: Record<string, unknown>): { health?: ServiceHealth } {
  const workers = countsIn(body['workers'], workerStates);
  const jobs = countsIn(body['jobs'], jobStates);
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

function hasNothingThere(status: number): boolean {
  return status === 404 || status === 405 || status === 410 || status === 501;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function inWords(status: number, body: string): string {
  return `${status}: ${bodyText(body) ?? 'no message'}`;
}
