/** What is on record of a scene, as the report, `list`, exports, the gallery and the library have it. */
import type { JsonObject } from '../../lib/text/json.ts';
import { failureRules, type FailureKind } from './failure.ts';
import type { SavedPicture } from './picture.ts';
import type { RecordValues } from './record-columns.ts';
import { sceneMoves, type SceneState } from './scene.ts';

/** One scene, or one row of the manifest that was skipped as `invalid`. Instants are epoch ms. */
export interface SceneRecord extends RecordValues {
  /** Null for an invalid row whose id could not be read. */
  id: string | null;
  state: SceneState | 'invalid';
  /** Every picture of the scene, in the order of the job's output. */
  pictures: SavedPicture[];
  /** Its files besides, in the order of `output.files`. */
  files: SavedPicture[];
  /** Where its pictures come from, else where it was sent last: `https://host/v2/id`. */
  endpoint: string | null;
  failureKind: FailureKind | 'invalid-row' | null;
  failureText: string | null;
  /** Where the row stands: `jobs/scenes.csv:17`. */
  source: string;
  columns: JsonObject;
  /** What is sent; null where there is none or it is too large to be shown. */
  input: JsonObject | null;
}

/** Every `state` of a record, and every `failureKind`. */
export const rowStates: string[] = [...Object.keys(sceneMoves), 'invalid'];
export const rowKinds: string[] = [...Object.keys(failureRules), 'invalid-row'];
