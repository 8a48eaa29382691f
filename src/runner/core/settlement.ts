/** Outcome of an attempt, as the checkpoint records it. */
import type { SettledState, Submitted } from './attempt.ts';
import type { Failure } from './failure.ts';
import type { SavedPicture } from './picture.ts';

/** Times in ms, as reported by the service. */
export interface JobTimes {
  delayTimeMs?: number;
  executionTimeMs?: number;
}

export interface Settlement extends JobTimes {
  state: SettledState;
  at: number;
  /** Time at which the service was first seen to report the end of the job. Absent if it never did. */
  completedAt?: number;
  /** Latest status in the service's spelling. */
  status?: string;
  failure?: Failure;
  pictures?: SavedPicture[];
  /** Number of status requests that this run made for the attempt. */
  polls?: number;
  scene: NextScene;
}

export type SavedSettlement = Settlement & { state: 'saved'; pictures: SavedPicture[] };

export type NextScene =
  { state: 'saved' } | { state: 'failed'; failure: Failure } | { state: 'waiting'; dueAt: number };

export interface UnfinishedWriting {
  attempt: Submitted;
  /** False if a user has given the attempt up meanwhile, so it can no longer be settled. */
  isInFlight: boolean;
  settlement: SavedSettlement;
}
