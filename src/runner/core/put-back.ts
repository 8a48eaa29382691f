/** The choice of scenes that a user puts back to be rendered again. */
import type { FailureKind } from './failure.ts';
import type { SceneState } from './scene.ts';

/** Union of all the scenes that the fields select. */
export interface PutBackChoice {
  /** Failed scenes of these kinds. */
  kinds: 'every' | FailureKind[];
  /** Failed scenes with these ids. */
  ids: string[];
  /** Base URL: selects scenes whose job is in flight anywhere else, except at the local service. */
  notAt: string | undefined;
  /** Ids of scenes whose job in flight is given up, at any address. */
  giveUp?: string[];
  /** True if `ids` may also be saved scenes, which are rendered again. */
  isAgain?: boolean;
  /** Generates new seeds for `ids`. Absent if seeds stay. */
  newSeed?: (() => number) | undefined;
}

/** An id that cannot be put back or, with `isGiveUp`, whose scene has no job in flight. */
export interface WrongId {
  id: string;
  state: SceneState | 'unknown';
  isGiveUp?: true;
  /** True if a new seed was requested and the input has none. */
  isSeedless?: true;
}

export interface PutBack {
  /** Number of scenes that now wait to be rendered again. */
  scenes: number;
  /** Number of jobs in flight that were given up, including those of withdrawn scenes. */
  givenUp: number;
}
