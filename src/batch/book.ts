/** An open batch: its checkpoint, and the pictures that the checkpoint knows. */
import type { Database } from '../lib/sqlite/database.ts';
import { isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { createImageStore, type PreparedImageStore } from '../runner/images/image-store.ts';
import type { CheckOptions } from '../runner/images/picture-checker.ts';
import { bucketOf, shownImages, withPlaces, type BatchPlaces, type BucketEdges } from './pictures-place.ts';
import type { OpenRecord } from './record.ts';

export class Book {
  readonly dir: string;
  readonly record: OpenRecord;
  readonly db: Database;
  readonly edges: BucketEdges;
  /**
   * True if the batch was named by its output folder. The folder may be a copy, so nothing is uploaded to its
   * bucket.
   */
  readonly isNamedByFolder: boolean;

  constructor(dir: string, record: OpenRecord, db: Database, edges: BucketEdges, isNamedByFolder = false) {
    this.dir = dir;
    this.record = record;
    this.db = db;
    this.edges = edges;
    this.isNamedByFolder = isNamedByFolder;
  }

  /** Location of the pictures as shown to people: in the output folder or in a bucket. */
  get shownImages(): string {
    return shownImages(this.dir, bucketOf(this.db));
  }

  /** Passes the places of the batch's files. */
  withPlaces<T>(work: (places: BatchPlaces) => Promise<T>): Promise<T> {
    return withPlaces(this, work);
  }

  /** Passes a store for existing pictures, and its places. Nothing is added. */
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
