/** How an attempt ended, as the checkpoint records it. */
import type { SettledState, Submitted } from './attempt.ts';
import type { Failure } from './failure.ts';
import type { SavedPicture } from './picture.ts';

/** Milliseconds, as the service counts them. */
export interface JobTimes {
  delayTimeMs?: number;
  executionTimeMs?: number;
}

/** How an attempt ended and where that leaves its scene. */
export interface Settlement extends JobTimes {
  state: SettledState;
  at: number;
  /** When the service was first seen to say that the job is over; absent where it never did. */
  completedAt?: number;
  /** The service's last word. */
  status?: string;
  failure?: Failure;
  pictures?: SavedPicture[];
  /** Status requests made by this run for the attempt. */
  polls?: number;
  scene: NextScene;
}

export type SavedSettlement = Settlement & { state: 'saved'; pictures: SavedPicture[] };

export type NextScene =
  { state: 'saved' } | { state: 'failed'; failure: Failure } | { state: 'waiting'; dueAt: number };

export interface UnfinishedWriting {
  attempt: Submitted;
  /** Whether it still can be settled; a person may have given it up meanwhile. */
  isInFlight: boolean;
  settlement: SavedSettlement;
}
