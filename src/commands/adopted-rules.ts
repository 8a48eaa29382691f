/** With `--adopt`: the rules by which the lists were read whose pictures lie there, since by others they would be of other scenes. */
import { join } from 'node:path';
import type { Config } from '../runner/config/config.ts';
import type { RulesVersion } from '../runner/core/scene-rules.ts';
import { createBucketStore } from '../runner/images/bucket-store.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import type { ImageStore } from '../runner/pipeline/ports.ts';
import { whyNothingIsKnown } from './begin-batch.ts';
import { openBucket } from './pictures-place.ts';

/** Where none of these says where it is from, none does. */
const maxLookedAt = 100;

/** Undefined where the checkpoint in `checkpointDir` knows of jobs, or no picture says. Throws the `AbortError` of `signal`. */
export async function adoptedRules(
  { output }: Config,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  if (whyNothingIsKnown(checkpointDir, checkpointDir) === undefined) return undefined;
  if (output.pictures === undefined) return rulesOf(createImageStore(join(output.dir, 'images')), signal);
  const bucket = await openBucket(output.pictures);
  try {
    return await rulesOf(createBucketStore(bucket), signal);
  } finally {
    await bucket.close();
  }
}

async function rulesOf(
  images: Pick<ImageStore, 'list' | 'examine'>,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  for (const file of (await images.list(['png'])).slice(0, maxLookedAt)) {
    signal.throwIfAborted();
    const seen = await images.examine(file);
    if ('picture' in seen && seen.origin !== undefined) return seen.origin.rules;
  }
  return undefined;
}
