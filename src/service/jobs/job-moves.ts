/** The states of a job at the service, and the moves between them; they live in this table and nowhere else. */
import type { JobStatus } from '../../protocol/messages.ts';

/**
 * A job goes back to the queue when its worker or the service dies, and when somebody has it retried. `COMPLETED` and
 * `CANCELLED` have no moves; all but the first two have ended.
 */
export const jobMoves = {
  IN_QUEUE: ['IN_PROGRESS', 'CANCELLED', 'TIMED_OUT'],
  IN_PROGRESS: ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'IN_QUEUE'],
  COMPLETED: [],
  FAILED: ['IN_QUEUE'],
  CANCELLED: [],
  TIMED_OUT: ['IN_QUEUE'],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

export type JobState = keyof typeof jobMoves;

/** Throws where `to` cannot follow `from`: a bug of ours, never the client's or the workload's doing. */
export function assertJobMove(from: JobState, to: JobState): void {
  const allowed: readonly JobState[] = jobMoves[from];
  if (!allowed.includes(to)) throw new Error(`a job cannot move from ${from} to ${to}`);
}
