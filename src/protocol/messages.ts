/** The service's messages, in its spelling. */

/** The words of the interface, and those that real services add. */
export const jobStatuses = [
  'IN_QUEUE',
  'IN_PROGRESS',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TIMED_OUT',
] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** Answer to `POST …/run`. */
export interface RunResponse {
  id: string;
  status: JobStatus;
}

/** Answer to `GET …/status/{job_id}`; which fields are there depends on `status`. Times in whole ms. */
export interface StatusResponse {
  id: string;
  status: JobStatus;
  delayTime?: number;
  executionTime?: number;
  /** The echo of what was submitted, while `IN_PROGRESS`. */
  input?: Record<string, unknown>;
  /** Once `COMPLETED`. */
  output?: unknown;
  /** Once `FAILED`, `CANCELLED` or `TIMED_OUT`. */
  error?: string;
}

/** Answer to `POST …/cancel/{job_id}`: the job's status after it, which is another than `CANCELLED` where it was over. */
export interface CancelResponse {
  id: string;
  status: JobStatus;
}

/** Answer to `GET …/health`. */
export interface HealthResponse {
  jobs: Record<'completed' | 'failed' | 'inProgress' | 'inQueue' | 'retried', number>;
  workers: Record<'idle' | 'initializing' | 'ready' | 'running' | 'throttled' | 'unhealthy', number>;
}

/** Body of an answer that is not 2xx. */
export interface ErrorResponse {
  error: string;
}

/** A client names a submission by it, and has it echoed: one that is sent again under its name makes no second job. */
export const idempotencyKeyHeader = 'Idempotency-Key';

/** For how many seconds, from the first time on, a service surely knows a submission by its key. */
export const idempotencyRetentionHeader = 'Idempotency-Retention';

/** The largest body a submission may have; services answer 400 with `exceeded max body size` beyond it. */
export const maxRequestBytes = 10 * 1024 * 1024;

/** Results are deleted this long after completion; 30 minutes is the safe one of the two values that are stated. */
export const defaultRetentionMs = 30 * 60 * 1000;
