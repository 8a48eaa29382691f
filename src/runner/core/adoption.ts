/** Pictures on disk that the checkpoint does not know, and the scenes that adopt them. */
import type { Endpoint } from './attempt.ts';
import type { SavedPicture } from './picture.ts';
import type { Origin } from './provenance.ts';
import type { Scene } from './scene.ts';

/** Fields of a scene that the file name of its picture is made from. */
export type SceneToName = Pick<Scene, 'id' | 'columns' | 'input'>;

/** Scene of the batch that may adopt pictures. */
export type FoundScene = SceneToName & { sceneKey: number; isWaiting: boolean };

/** Scene whose pictures were found. `jobId` is null if the job is unknown. */
export type AdoptedScene = Pick<FoundScene, 'sceneKey'> & {
  endpoint: Endpoint;
  jobId: string | null;
  pictures: SavedPicture[];
};

/**
 * Undamaged picture that the checkpoint does not know. `origin` is undefined if neither the file nor its
 * sidecar records it.
 */
export interface ExaminedPicture {
  picture: SavedPicture;
  /** Name that the picture was given, if the name of its file differs from it. */
  name?: string;
  origin: Origin | undefined;
}
