/** A job at the service: its states, the transitions between them, and its terms. */
import type { JobStatus } from '../../protocol/messages.ts';

/**
 * A job goes back to the queue when its worker or the service dies, and when it is retried. `COMPLETED` and `CANCELLED`
 * are final; all but the first two have ended.
 */
export const allowedTransitions = {
  IN_QUEUE: ['IN_PROGRESS', 'CANCELLED', 'TIMED_OUT'],
  IN_PROGRESS: ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'IN_QUEUE'],
  COMPLETED: [],
  FAILED: ['IN_QUEUE'],
  CANCELLED: [],
  TIMED_OUT: ['IN_QUEUE'],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

export type JobState = keyof typeof allowedTransitions;

/** Throws where `to` cannot follow `from`, which is a bug of the service. */
export function assertTransition(from: JobState, to: JobState): void {
  const targets: readonly JobState[] = allowedTransitions[from];
  if (!targets.includes(to)) throw new Error(`a job cannot go from ${from} to ${to}`);
}

/** By which a submission is known when it comes again; both are digests. */
export interface Idempotency {
  /** Of the endpoint, the client and its `Idempotency-Key`. */
  key: Buffer;
  body: Buffer;
}

/** On which terms a job runs: its client's, within its endpoint's. */
export interface JobTerms {
  /** The key that submitted it, or `console`. */
  keyId: string;
  /** How long one worker may take. */
  executionTimeoutMs: number;
  /** From submission to end. */
  ttlMs: number;
  /** Behind all others. */
  isLowPriority: boolean;
  /** How often it is requeued because its worker died, before it fails. */
  maxRetries: number;
  /** The URL that is notified of its end. */
  webhook: string | null;
  /** JSON text: where the worker is to put its results, with credentials. */
  s3Config: string | null;
  /** Whether its id marks it as submitted by a waiting client. */
  isSync: boolean;
  /** Null where it is another job each time. */
  idempotency: Idempotency | null;
}

/** What real services do where a job says nothing. */
export const defaultTerms: Readonly<JobTerms> = {
  keyId: 'none',
  executionTimeoutMs: 10 * 60_000,
  ttlMs: 24 * 60 * 60_000,
  isLowPriority: false,
  maxRetries: 2,
  webhook: null,
  s3Config: null,
  isSync: false,
  idempotency: null,
};
