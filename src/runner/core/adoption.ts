/** Pictures on disk without a record, and the scenes that adopt them. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { Endpoint } from './attempt.ts';
import type { SavedPicture } from './picture.ts';
import type { Origin } from './provenance.ts';

export interface FoundScene {
  sceneKey: number;
  id: string;
  input: JsonObject;
  columns: JsonObject;
  isWaiting: boolean;
}

/** A scene whose pictures were found; what is not known of their job is null. */
export interface AdoptedScene {
  sceneKey: number;
  endpoint: Endpoint;
  jobId: string | null;
  pictures: SavedPicture[];
}

/** A whole picture of which no record knows; `origin` where it says where it comes from, in itself or beside it. */
export interface UnknownPicture {
  picture: SavedPicture;
  origin: Origin | undefined;
}

export type ExaminedPicture = UnknownPicture | { problem: string };
