/** With `--adopt`: the rules by which the list was read whose pictures lie there, since by others they would be of other scenes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '../lib/text/json.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { readRulesVersion, type RulesVersion } from '../runner/core/scene-rules.ts';
import { createBucketStore } from '../runner/images/bucket-store.ts';
import { createImageStore } from '../runner/images/image-store.ts';
import type { ImageStore } from '../runner/pipeline/ports.ts';
import { maintenanceOptions } from './output-files.ts';
import { openBucket } from './pictures-place.ts';

/**
 * As most of the pictures say, else the report; undefined where the batch has pictures or jobs on record, or nothing says.
 * `checkpointDir`: where its checkpoint is, or a copy. Throws the `AbortError` of `signal`.
 */
export async function adoptedRules(
  { output }: Config,
  checkpointDir: string,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  if (hasBegun(checkpointDir)) return undefined;
  const { dir, pictures: url } = output;
  const bucket = url === undefined ? undefined : await openBucket(url);
  try {
    const made = maintenanceOptions(output);
    const images =
      bucket === undefined ? createImageStore(join(dir, 'images'), made) : createBucketStore(bucket, made);
    return (await rulesOf(images, signal)) ?? reportedRules(dir);
  } finally {
    await bucket?.close();
  }
}

function hasBegun(dir: string): boolean {
  const db = openCheckpointForReading(dir);
  try {
    const some =
      "SELECT 1 FROM pictures UNION ALL SELECT 1 FROM attempts WHERE state IN ('intended', 'submitted')";
    return db?.prepare(`${some} LIMIT 1`).get() !== undefined;
  } finally {
    db?.close();
  }
}

/** From all over the folder, so that those of another batch are outvoted. */
const lookedAt = 100;

async function rulesOf(
  images: Pick<ImageStore, 'list' | 'examine'>,
  signal: AbortSignal,
): Promise<RulesVersion | undefined> {
  const files = await images.list();
  const votes = new Map<RulesVersion, number>();
  const apart = Math.max(1, files.length / lookedAt);
  for (let at = 0; at < files.length; at += apart) {
    signal.throwIfAborted();
    const seen = await images.examine(files[Math.floor(at)] ?? '');
    const rules = 'picture' in seen ? seen.origin?.rules : undefined;
    if (rules !== undefined) votes.set(rules, (votes.get(rules) ?? 0) + 1);
  }
  return [...votes].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

/** Undefined where there is none. */
function reportedRules(dir: string): RulesVersion | undefined {
  try {
    const summary: unknown = JSON.parse(readFileSync(join(dir, 'report/summary.json'), 'utf8'));
    return isJsonObject(summary) ? readRulesVersion(summary['rules']) : undefined;
  } catch {
    return undefined;
  }
}
