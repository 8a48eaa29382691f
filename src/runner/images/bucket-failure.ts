/** What a bucket that refuses, or does not answer for long, means for a batch. */
import { S3Error } from '../../lib/s3/s3-error.ts';
import { FatalFailure } from '../core/failure.ts';

/** Does `work` with the bucket; what it refuses, or does not answer for long, becomes `FatalFailure`. */
export async function withBucketFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof S3Error)) throw error;
    const text = `the pictures in the bucket cannot be reached or written. ${error.message}; see to that, then repeat the command`;
    throw new FatalFailure({ kind: 'output-unwritable', text });
  }
}
