/** What the service answers, before it goes over the wire. */
import type { CancelResponse, ErrorResponse, HealthResponse, RunResponse } from '../wire/messages.ts';
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

export function cancelAnswer(id: string, status: JobState): Answer {
  return { status: 200, body: JSON.stringify({ id, status } satisfies CancelResponse) };
}

export function healthAnswer(
  tally: Partial<Record<JobState | 'retried', number>>,
  { idle, running }: { idle: number; running: number },
): Answer {
  const { COMPLETED = 0, FAILED = 0, IN_PROGRESS = 0, IN_QUEUE = 0, retried = 0 } = tally;
  const health: HealthResponse = {
    jobs: { completed: COMPLETED, failed: FAILED, inProgress: IN_PROGRESS, inQueue: IN_QUEUE, retried },
    workers: { idle, initializing: 0, ready: idle, running, throttled: 0, unhealthy: 0 },
  };
  return { status: 200, body: JSON.stringify(health) };
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
  CANCELLED: (job) =>
    wasStarted(job)
      ? `{${times(job)},"id":"${job.id}","status":"CANCELLED"}`
      : `{"id":"${job.id}","status":"CANCELLED"}`,
};

function spliced(head: string, job: JobRecord, tail: string): Buffer {
  return Buffer.concat([Buffer.from(head), job.payload ?? Buffer.from('null'), Buffer.from(tail)]);
}

function times(job: JobRecord): string {
  return `"delayTime":${delayMs(job)},"executionTime":${wholeMs(job.startedAt, job.endedAt)}`;
}

/** Since it was last put into the queue. */
function wasStarted({ queuedAt, startedAt }: JobRecord): boolean {
  return startedAt !== null && startedAt >= queuedAt;
}

function delayMs(job: JobRecord): number {
  return wholeMs(job.queuedAt, job.startedAt);
}

/** Never negative, also where the wall clock was set back in between. */
function wholeMs(from: number | null, to: number | null): number {
  return Math.max(0, (to ?? 0) - (from ?? 0));
}
