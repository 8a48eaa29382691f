/** What the service answers, before it goes over the wire. */
import type { ErrorResponse, RunResponse } from '../wire/messages.ts';
import type { JobState } from './job-moves.ts';
import type { JobRecord } from './job-statements.ts';

export interface Answer {
  status: number;
  /** JSON text. */
  body: string | Buffer;
  headers?: Record<string, string>;
  /** Set where the request's body was not read to its end and the client may still be sending it. */
  isBodyUnread?: true;
}

export function refusal(status: number, error: string, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: JSON.stringify({ error } satisfies ErrorResponse) };
}

export function acceptedAnswer(id: string): Answer {
  return { status: 200, body: JSON.stringify({ id, status: 'IN_QUEUE' } satisfies RunResponse) };
}

/**
 * The status of a job with exactly the fields of its state. Input and output are put in as they are stored; ids and
 * states need no escaping.
 */
export function statusAnswer(job: JobRecord): Answer {
  return { status: 200, body: statusBodies[job.state](job) };
}

const statusBodies: Readonly<Record<JobState, (job: JobRecord) => string | Buffer>> = {
  IN_QUEUE: ({ id }) => `{"id":"${id}","status":"IN_QUEUE"}`,
  IN_PROGRESS: (job) =>
    spliced(`{"delayTime":${delayMs(job)},"id":"${job.id}","input":`, job, `,"status":"IN_PROGRESS"}`),
  COMPLETED: (job) => spliced(`{${times(job)},"id":"${job.id}","output":`, job, `,"status":"COMPLETED"}`),
  FAILED: (job) => `{${times(job)},"error":${JSON.stringify(job.error)},"id":"${job.id}","status":"FAILED"}`,
};

function spliced(head: string, job: JobRecord, tail: string): Buffer {
  return Buffer.concat([Buffer.from(head), job.payload ?? Buffer.from('null'), Buffer.from(tail)]);
}

function times(job: JobRecord): string {
  return `"delayTime":${delayMs(job)},"executionTime":${wholeMs(job.startedAt, job.endedAt)}`;
}

function delayMs(job: JobRecord): number {
  return wholeMs(job.queuedAt, job.startedAt);
}

/** Never negative, also where the wall clock was set back in between. */
function wholeMs(from: number | null, to: number | null): number {
  return Math.max(0, (to ?? 0) - (from ?? 0));
}
