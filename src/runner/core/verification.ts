/** Results of checking saved pictures against their records. */
import type { SavedPicture } from './picture.ts';
import type { SceneState } from './scene.ts';

/** A saved picture as recorded in the checkpoint. */
export type RecordedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** Key of the attempt that made it. All pictures of a job have the same attempt. */
  attempt: number;
  /** 1 for the first picture of the job. */
  number: number;
  /** Label in `output.files`. Null for a picture. */
  label: string | null;
  sceneId: string;
  sceneState: SceneState;
  /** New name, if a rename was decided and may not have been done yet. */
  moveTo: string | null;
};

export type Verdict =
  | { kind: 'good' }
  | { kind: 'missing' }
  /** `problem` says what is wrong with it, beginning with a lower-case letter. */
  | { kind: 'damaged'; problem: string };

/** A picture that differs from its record. `keptAs` is the name under which a repair kept the damaged file. */
export type BadPicture = RecordedPicture & { verdict: Exclude<Verdict, { kind: 'good' }>; keptAs?: string };

/**
 * Number of pictures by verdict. `withdrawn` counts the bad pictures of scenes that are no longer in the
 * manifest.
 */
export interface Verified {
  checked: number;
  good: number;
  missing: number;
  damaged: number;
  withdrawn: number;
  putBack: number;
}
