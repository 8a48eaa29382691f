/** The files of saved pictures, read and copied from one place to another: a folder or a bucket. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { assertPlainFile, NotAFile } from '../../lib/files/plain-file.ts';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { sidecarPath } from '../core/picture-copy.ts';
import type { RecordedPicture, Verdict } from '../core/verification.ts';
import { isSystemError, withDiskFailure } from '../files/disk-failure.ts';
import { withBucketFailure } from './bucket-failure.ts';
import { keyOf, typeOf } from './bucket-store.ts';
import { DurableFiles } from './durable-files.ts';
import { pathWithin } from './saved-files.ts';

export interface PictureFiles {
  /** Undefined where there is no such file, or the disk cannot read it. */
  read(file: string): Promise<Buffer | undefined>;
  /** Whether a file of exactly this content is there, which then stays. */
  has(file: string, bytes: number, sha256: string): Promise<boolean>;
  put(file: string, bytes: Uint8Array): Promise<void>;
}

/** `root` is the images folder. */
export function picturesInFolder(root: string): PictureFiles {
  const files = new DurableFiles(resolve(root));
  const read = async (file: string): Promise<Buffer | undefined> => {
    try {
      const path = pathWithin(resolve(root), file);
      assertPlainFile(path);
      return await readFile(path);
    } catch (error) {
      if (!isSystemError(error) && !(error instanceof NotAFile)) throw error;
      return undefined;
    }
  };
  return {
    read,
    has: async (file, _, sha256) => {
      const bytes = await read(file);
      if (bytes === undefined || digestOf(bytes) !== sha256) return false;
      await files.makeLast(pathWithin(resolve(root), file));
      return true;
    },
    put: (file, bytes) => {
      const path = pathWithin(resolve(root), file);
      return withDiskFailure(path, () => files.write(path, bytes));
    },
  };
}

export function picturesInBucket(bucket: Bucket): PictureFiles {
  return {
    read: (file) => withBucketFailure(() => bucket.get(keyOf(file))),
    has: (file, bytes, sha256) =>
      withBucketFailure(async () => {
        const facts = await bucket.facts(keyOf(file));
        return facts?.bytes === bytes && facts.isOf(sha256) === true;
      }),
    put: (file, bytes) => withBucketFailure(() => bucket.put(keyOf(file), bytes, { type: typeOf(file) })),
  };
}

/**
 * Copies a picture and what is made of it, under these endings, or a named file, checked on the way; what is there already is left alone. Tells what the
 * picture is where it comes from.
 */
export async function copyPicture(
  from: PictureFiles,
  to: PictureFiles,
  { file, label, bytes, sha256 }: RecordedPicture,
  endings: string[],
): Promise<Verdict> {
  const isThere = await to.has(file, bytes, sha256);
  const content = isThere ? undefined : await from.read(file);
  if (!isThere && content === undefined) return { kind: 'missing' };
  if (content !== undefined && digestOf(content) !== sha256)
    return { kind: 'damaged', problem: 'its bytes are not those that were saved (sha256)' };
  for (const ending of label === null ? endings : []) {
    const name = sidecarPath(file, ending);
    if (name === file) continue;
    const beside = await from.read(name);
    // Some may be newer than a picture that was copied before.
    const isToCopy =
      beside !== undefined && !(isThere && (await to.has(name, beside.length, digestOf(beside))));
    if (isToCopy) await to.put(name, beside);
  }
  // Last: where it is, all of it is.
  if (content !== undefined) await to.put(file, content);
  return { kind: 'good' };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
