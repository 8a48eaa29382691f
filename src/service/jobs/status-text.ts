/** Status of a job as JSON text, for clients and webhooks. Stored texts are inserted without copying long ones. */
import { shownWorker } from '../model/worker-view.ts';
import { byteCountOf, type FiledText, isFile, type OpenText, type Text } from '../../lib/files/filed-text.ts';
import type { OpenedJob } from './job-reads.ts';
import { longText } from './long-texts.ts';

/** A job with the text that its status contains: its input while `IN_PROGRESS`, its output once it has ended. */
type ShownJob = Omit<OpenedJob, 'payloadFile' | 'endpointId'>;

type Value = Text | OpenText;

/**
 * Returns the status of a job with exactly the fields of its state, and `retries` once it was requeued. Input and
 * output are inserted as stored; ids and states need no escaping. For a webhook, also adds `input`, JSON text, and
 * the URL: its receiver may not have submitted the job.
 */
export function statusText(job: ShownJob, input?: Value, webhook?: string): Text | FiledText {
  const { id, state } = job;
  const ended = job.endedAt !== null && job.startedAt !== null;
  const isBegun = state === 'IN_PROGRESS' || ended;
  const fields: [name: string, value: Value | null | undefined][] = [
    ['delayTime', isBegun ? String(delayMs(job)) : undefined],
    [
      'error',
      state === 'FAILED' || state === 'TIMED_OUT' ? (job.errorValue ?? JSON.stringify(job.error)) : undefined,
    ],
    ['executionTime', ended ? String(wholeMs(job.startedAt, job.endedAt)) : undefined],
    ['id', `"${id}"`],
    ['input', state === 'IN_PROGRESS' ? (job.payload ?? 'null') : input],
    [
      'output',
      state === 'COMPLETED' ? (job.payload ?? 'null') : state === 'FAILED' ? job.payload : job.progress,
    ],
    ['retries', job.retries > 0 ? String(job.retries) : undefined],
    ['status', `"${state}"`],
    ['webhook', webhook && JSON.stringify(webhook)],
    ['workerId', isBegun && job.workerId ? JSON.stringify(shownWorker(job.workerId)) : undefined],
  ];
  return joinFields(
    fields.flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, value] as const],
    ),
  );
}

function joinFields(fields: (readonly [name: string, value: Value])[]): Text | FiledText {
  const parts = fields.flatMap(([name, value], index) => [`${index === 0 ? '{' : ','}"${name}":`, value]);
  return joinTexts([...parts, '}']);
}

/** Joins short parts in memory into one text. Others stay, because a copy would take as much again. */
export function joinTexts(parts: readonly Value[]): Text | FiledText {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  const inMemory = parts.filter((part): part is Text => !isFile(part));
  if (inMemory.length < parts.length || byteCountOf(parts) >= longText) return parts;
  return Buffer.concat(inMemory.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function delayMs(job: ShownJob): number {
  return wholeMs(job.queuedAt, job.startedAt);
}

/** Never negative, even if the wall clock was set back in between. */
function wholeMs(from: number | null, to: number | null): number {
  return Math.max(0, (to ?? 0) - (from ?? 0));
}
