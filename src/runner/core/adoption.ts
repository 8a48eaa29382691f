/** Pictures on disk without a record, and the scenes that adopt them. */
import type { Endpoint } from './attempt.ts';
import type { SavedPicture } from './picture.ts';
import type { Origin } from './provenance.ts';
import type { Scene } from './scene.ts';

/** What the name of a picture is made of. */
export type SceneToName = Pick<Scene, 'id' | 'columns' | 'input'>;

/** A scene of the batch that may adopt pictures. */
export type FoundScene = SceneToName & { sceneKey: number; isWaiting: boolean };

/** A scene whose pictures were found; null where their job is unknown. */
export type AdoptedScene = Pick<FoundScene, 'sceneKey'> & {
  endpoint: Endpoint;
  jobId: string | null;
  pictures: SavedPicture[];
};

/** An undamaged picture without a record; `origin` where the file or its sidecar names it. */
export interface ExaminedPicture {
  picture: SavedPicture;
  /** The name that it was given, where its file has another. */
  name?: string;
  origin: Origin | undefined;
}
