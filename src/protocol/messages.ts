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

/** A client names a submission by it, and has it echoed: one that is sent again under its name makes no second job. */
export const idempotencyKeyHeader = 'Idempotency-Key';

/** For how many seconds, from the first time on, a service surely knows a submission by its key. */
export const idempotencyRetentionHeader = 'Idempotency-Retention';

/** The largest body a submission may have; services answer 400 with `exceeded max body size` beyond it. */
export const maxRequestBytes = 10 * 1024 * 1024;

/** Results are deleted this long after completion; 30 minutes is the safe one of the two values that are stated. */
export const defaultRetentionMs = 30 * 60 * 1000;
