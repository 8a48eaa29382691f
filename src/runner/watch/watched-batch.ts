/** What the page's server needs of a batch. */
import type { LiveBatch, LivePicture, PictureStory } from '../core/live-batch.ts';

/** Nothing here changes the batch. */
export interface WatchedBatch {
  /** The folder of its pictures; absolute. */
  imagesDir: string;
  /** The folder of their thumbnails; absolute. */
  thumbnailsDir: string;
  /** As it is now, with trouble told in it; cheap where nothing has changed. One call at a time. */
  read(): Promise<LiveBatch>;
  /** The newest of those before this id. Throws where they cannot be read. */
  picturesBefore(id: number): LivePicture[];
  /** Undefined where there is no such picture. Throws as above. */
  story(id: number): PictureStory | undefined;
}
