/** What has become of saved pictures since they were recorded. */
import type { SceneState } from './scene.ts';

/** A picture as the checkpoint has it. */
export interface RecordedPicture {
  /** The checkpoint's key of the attempt that brought it; all pictures of a job have the same. */
  attempt: number;
  /** 1 for the first picture of the job. */
  number: number;
  /** Of one of `output.files`; null of a picture. */
  label: string | null;
  sceneId: string;
  sceneState: SceneState;
  /** Relative to the images folder. */
  file: string;
  /** The name that it is about to get, where a rename was decided and may not have been done yet. */
  moveTo: string | null;
  width: number;
  height: number;
  bytes: number;
  sha256: string;
}

export type Verdict =
  | { kind: 'good' }
  | { kind: 'missing' }
  /** `problem`: what is wrong with it, beginning with a small letter. */
  | { kind: 'damaged'; problem: string };

/** A picture that is not as it was recorded. */
export interface BadPicture {
  picture: RecordedPicture;
  verdict: Exclude<Verdict, { kind: 'good' }>;
  /** The name under which a repair has kept the damaged file. */
  keptAs?: string;
}

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
