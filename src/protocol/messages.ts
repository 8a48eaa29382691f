/** Names and limits of the job interface, in the service's spelling. */

/** Status words of the interface, and those that real services add. */
export const jobStatuses = [
  'IN_QUEUE',
  'IN_PROGRESS',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TIMED_OUT',
] as const;
export type JobStatus = (typeof jobStatuses)[number];

/**
 * Header in which a client names a submission. The service repeats it, and makes no second job if the
 * submission is sent again.
 */
export const idempotencyKeyHeader = 'Idempotency-Key';

/** Header with the number of seconds for which a service surely recognizes the key of a submission. */
export const idempotencyRetentionHeader = 'Idempotency-Retention';

/** Maximum bytes of a submission's body. Services answer a larger one with 400 and `exceeded max body size`. */
export const maxRequestBytes = 10 * 1024 * 1024;

/** Time in ms after which results are deleted. Of the two documented values, 30 minutes is the safe one. */
export const defaultRetentionMs = 30 * 60 * 1000;
