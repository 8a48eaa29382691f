/** `nightrender verify --move`: copies a batch's pictures to where pipeline.yaml puts them now, and has them there from then on. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Bucket } from '../lib/s3/bucket.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { readBatch, recordPicturesPlace } from '../runner/checkpoint/batch-identity.ts';
import { pictureRepair } from '../runner/checkpoint/recorded-pictures.ts';
import type { Verified } from '../runner/core/verification.ts';
import { withBucketFailure } from '../runner/images/bucket-failure.ts';
import { picturesFolder } from '../runner/images/bucket-store.ts';
import { ownerWithoutRun } from '../runner/images/bucket-owner.ts';
import { copyPicture, picturesInBucket, picturesInFolder } from '../runner/images/picture-files.ts';
import type { VerifyPorts } from '../runner/pipeline/verify-batch.ts';
import { finishMoves, openBucket, withImages } from './pictures-place.ts';

/**
 * `target` is as `output.pictures` has it, `endings` those of copies; `check` goes through all pictures by what it is
 * given, which copies each. Where one is not good, the batch stays where it is; a second call goes on.
 */
export async function movePictures(
  dir: string,
  db: Database,
  { target, endings }: { target: string | undefined; endings: string[] },
  check: (copy: VerifyPorts['inspect']) => Promise<Verified>,
): Promise<Verified> {
  assertMovable(db);
  const bucket = target === undefined ? undefined : await openBucket(target);
  const batch = readBatch(db)?.picturesToken ?? randomUUID();
  const owner = bucket && ownerWithoutRun(bucket, batch);
  try {
    await withBucketFailure(async () => {
      await bucket?.probe();
      await owner?.assertOurs(picturesFolder);
    });
    const verified = await withImages(dir, db, {}, async (images, source) => {
      await finishMoves(images, pictureRepair(db));
      const [from, to] = [filesIn(dir, source), filesIn(dir, bucket)];
      return check((picture) => copyPicture(from, to, picture, endings));
    });
    if (verified.good < verified.checked) return verified;
    recordPicturesPlace(db, target === undefined ? undefined : { url: target, batch });
    await withBucketFailure(async () => owner?.claim());
    return verified;
  } finally {
    await bucket?.close();
  }
}

/** Throws `ConfigError`. */
function assertMovable(db: Database): void {
  const unfinished = db.prepare('SELECT 1 FROM attempts WHERE writing IS NOT NULL LIMIT 1').get();
  if (unfinished === undefined) return;
  const text =
    'the last run died while it saved pictures; put output.pictures back, start the run once, then move';
  throw new ConfigError([{ where: '--move', text }]);
}

function filesIn(dir: string, bucket: Bucket | undefined) {
  return bucket === undefined ? picturesInFolder(join(dir, 'images')) : picturesInBucket(bucket);
}
