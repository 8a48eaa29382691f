/** Which scenes a person puts back to be rendered again. */
import type { FailureKind } from './failure.ts';
import type { SceneState } from './scene.ts';

/** What is asked for adds up. */
export interface PutBackChoice {
  /** Failed scenes of these kinds. */
  kinds: 'every' | FailureKind[];
  /** Failed scenes with these ids. */
  ids: string[];
  /** Scenes whose job is in flight at any other address than this one; the local service has none. */
  notAt: string | undefined;
  /** Ids of scenes whose job in flight is given up, wherever it is. */
  giveUp?: string[];
  /** Whether `ids` may be saved, too: they are rendered again. */
  isAgain?: boolean;
  /** Makes the seeds that `ids` send from now on, where they are to be others. */
  newSeed?: (() => number) | undefined;
}

/** An id that cannot be put back, or (`isGiveUp`) whose scene has nothing in flight. */
export interface WrongId {
  id: string;
  state: SceneState | 'unknown';
  isGiveUp?: true;
  /** Its input has no seed that could be another. */
  isSeedless?: true;
}

export interface PutBack {
  /** Scenes that wait to be rendered again. */
  scenes: number;
  /** Of these, or of scenes that are withdrawn: jobs that were in flight. */
  givenUp: number;
}
