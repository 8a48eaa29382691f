/** A batch that is open: its checkpoint, and the pictures that the checkpoint knows. */
import type { Database } from '../lib/sqlite/database.ts';
import { isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { createImageStore, type PreparedImageStore } from '../runner/images/image-store.ts';
import type { CheckOptions } from '../runner/images/picture-checker.ts';
import { bucketOf, shownImages, withPlaces, type BatchPlaces, type BucketEdges } from './pictures-place.ts';
import type { OpenRecord } from './record.ts';

export class Book {
  /** The output folder. */
  readonly dir: string;
  readonly record: OpenRecord;
  readonly db: Database;
  readonly edges: BucketEdges;
  /** True if the batch was named by its output folder, which may be a copy: nothing is put into its bucket. */
  readonly isNamedByFolder: boolean;

  constructor(dir: string, record: OpenRecord, db: Database, edges: BucketEdges, isNamedByFolder = false) {
    this.dir = dir;
    this.record = record;
    this.db = db;
    this.edges = edges;
    this.isNamedByFolder = isNamedByFolder;
  }

  /** The folder of pictures as people read it: in the output folder or in a bucket. */
  get shownImages(): string {
    return shownImages(this.dir, bucketOf(this.db));
  }

  /** Passes where the pictures are. */
  withPlaces<T>(work: (places: BatchPlaces) => Promise<T>): Promise<T> {
    return withPlaces(this, work);
  }

  /** Passes a store for pictures that are there, and where they are; none is put. */
  withImages<T>(
    options: CheckOptions,
    work: (images: PreparedImageStore, places: BatchPlaces) => Promise<T>,
  ): Promise<T> {
    const isPicture = async (file: string): Promise<boolean> => isRecorded(this.db, file);
    return this.withPlaces((places) =>
      work(createImageStore(places.images, { ...options, isPicture }), places),
    );
  }
}
