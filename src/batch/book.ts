/** A batch that is open: its checkpoint, and the pictures that the checkpoint knows. */
import type { Bucket } from '../lib/s3/bucket.ts';
import type { Database } from '../lib/sqlite/database.ts';
import type { PreparedImageStore } from '../runner/images/image-store.ts';
import type { CheckOptions } from '../runner/images/picture-checker.ts';
import { bucketOf, shownImages, withBucketOf, withImages, type BucketEdges } from './pictures-place.ts';
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

  /** Passes the bucket of the pictures, or undefined if they are in the output folder. */
  withBucket<T>(work: (bucket: Bucket | undefined) => Promise<T>): Promise<T> {
    return withBucketOf(this.db, this.edges, work);
  }

  /** Passes a store for pictures that are there; none is put. The bucket is undefined for pictures in the output folder. */
  withImages<T>(
    options: CheckOptions,
    work: (images: PreparedImageStore, bucket: Bucket | undefined) => Promise<T>,
  ): Promise<T> {
    return withImages(this, options, work);
  }
}
