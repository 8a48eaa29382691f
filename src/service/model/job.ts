/** A job of the service: its states, the transitions between them, its terms, and the ids of workers that take it. */
import type { JobAction, WorkerView } from '../../protocol/console-data.ts';
import type { JobStatus } from '../../protocol/message-schemas.ts';

/** States after each state. A job is requeued after a crash of worker or service, or by a retry. */
export const allowedTransitions = {
  IN_QUEUE: ['IN_PROGRESS', 'CANCELLED', 'TIMED_OUT'],
  IN_PROGRESS: ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'IN_QUEUE'],
  COMPLETED: [],
  FAILED: ['IN_QUEUE'],
  CANCELLED: [],
  TIMED_OUT: ['IN_QUEUE'],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

export type JobState = keyof typeof allowedTransitions;

/** States in which a person can cancel or retry a job. */
export const reachedBy = {
  cancel: ['IN_QUEUE', 'IN_PROGRESS'],
  retry: ['FAILED', 'TIMED_OUT'],
} as const satisfies Record<JobAction, readonly JobState[]>;

/** True if the job is in a state in which it can be cancelled or retried. */
export function isReached(action: JobAction, state: string): boolean {
  return reachedBy[action].some((each) => each === state);
}

/** Digests that recognise a repeated submission. */
export interface Idempotency {
  /** Digest of the endpoint, the client and its `Idempotency-Key`. */
  key: Buffer;
  body: Buffer;
}

/** Terms of a job: those that the client asked for, within the limits of the endpoint. */
export interface JobTerms {
  /** Id of the key that submitted the job, or `console`. */
  keyId: string;
  executionTimeoutMs: number;
  /** Maximum time from submission to end. */
  ttlMs: number;
  /** True if the job waits behind all jobs without low priority. */
  isLowPriority: boolean;
  /** Number of times that the job is requeued because its worker died, before it fails. */
  maxRetries: number;
  webhook: string | null;
  /** JSON text: the bucket for the worker's results, with credentials. */
  s3Config: string | null;
  /** True if the client waits for the result (`runsync`). The id then begins with `sync-`. */
  isSync: boolean;
  /** Null if a repeated submission is a new job. */
  idempotency: Idempotency | null;
}

/** Terms of a job that asks for none. They are those of other services with this interface. */
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

/** Fields of the view of an own worker that has not worked on a job yet. */
export const ownView = {
  kind: 'own',
  jobIds: [],
  gpu: null,
  machine: null,
  workload: null,
  isDraining: false,
  jobsDone: 0,
  busyMs: 0,
} as const satisfies Partial<WorkerView>;

/** Returns the id of a pulling worker, with the id of its key, so that a copied id gets no jobs. Neither has `@`. */
export function pullingWorker(id: string, keyId: string): string {
  return `${id}@${keyId}`;
}

/** Returns the name of a worker for people: the id without the key. */
export function shownWorker(worker: string): string {
  return worker.split('@', 1)[0] ?? '';
}
