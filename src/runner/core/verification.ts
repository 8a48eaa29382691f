/** What has become of saved pictures since they were recorded. */
import type { SavedPicture } from './picture.ts';
import type { SceneState } from './scene.ts';

/** A saved picture with its place in the checkpoint, as the columns of a row. */
export type RecordedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** The checkpoint's key of the attempt that brought it; all pictures of a job have the same. */
  attempt: number;
  /** 1 for the first picture of the job. */
  number: number;
  /** Of one of `output.files`; null of a picture. */
  label: string | null;
  sceneId: string;
  sceneState: SceneState;
  /** The name that it is about to get, where a rename was decided and may not have been done yet. */
  moveTo: string | null;
};

export type Verdict =
  | { kind: 'good' }
  | { kind: 'missing' }
  /** `problem`: what is wrong with it, beginning with a small letter. */
  | { kind: 'damaged'; problem: string };

/** A picture that is not as it was recorded. `keptAs`: the name under which a repair has kept the damaged file. */
export type BadPicture = RecordedPicture & { verdict: Exclude<Verdict, { kind: 'good' }>; keptAs?: string };

/** How many pictures were found to be what; `withdrawn` are those of the bad ones whose scene is in the manifest no more. */
export interface Verified {
  checked: number;
  good: number;
  missing: number;
  damaged: number;
  withdrawn: number;
  /** Scenes that wait to be rendered again. */
  putBack: number;
}
