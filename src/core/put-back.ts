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
}

/** Why an id cannot be put back: there is none such, or it is not set aside. */
export interface WrongId {
  id: string;
  state: Exclude<SceneState, 'failed'> | 'unknown';
}

export interface PutBack {
  /** Scenes that wait to be rendered again. */
  scenes: number;
  /** Of these, or of scenes that are withdrawn: jobs that were in flight elsewhere. */
  givenUp: number;
}
