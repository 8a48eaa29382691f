/** Everything recorded about a scene, for the report, `list`, exports, the gallery and the library. */
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
  /** All pictures, in the order of the job's output. */
  pictures: SavedPicture[];
  /** Other files, in the order of `output.files`. */
  files: SavedPicture[];
  /** Endpoint that made the pictures, else the endpoint of the latest submission: `https://host/v2/id`. */
  endpoint: string | null;
  failureKind: FailureKind | 'invalid-row' | null;
  failureText: string | null;
  /** Position of the row: `jobs/scenes.csv:17`. */
  source: string;
  columns: JsonObject;
  /** Input that is sent. Null if there is none, or if it is too large to be shown. */
  input: JsonObject | null;
}

/** Every `state` of a record. `rowKinds` has every `failureKind`. */
export const rowStates: string[] = [...Object.keys(sceneMoves), 'invalid'];
export const rowKinds: string[] = [...Object.keys(failureRules), 'invalid-row'];
