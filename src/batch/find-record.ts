/** Finds the record of a batch: the only place that distinguishes a checkpoint file from a shared checkpoint. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readBatch, type BatchIdentity } from '../runner/checkpoint/batch-identity.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { ownRecord } from './own-record.ts';
import { commandArguments, shownPath } from './refusal.ts';
import { assertPlace, isElsewhere, type BatchRecord, type OpenRecord, type SharedAddress } from './record.ts';

/** Returns the record. `dir` is the output folder. */
export async function findRecord(dir: string, shared: SharedAddress): Promise<BatchRecord> {
  if (shared === undefined) return ownRecord(dir);
  // The database client is loaded only for batches that use it.
  const { sharedRecord } = await import('./shared-record.ts');
  return sharedRecord(dir, shared);
}

/** Opens the record of a batch to read it. Throws `ConfigError` if the batch has begun in another place. */
export async function openRecord(dir: string, shared: SharedAddress, isFresh = false): Promise<OpenRecord> {
  assertPlace(dir, shared?.where, isFresh);
  const record = await findRecord(dir, shared);
  return record.open();
}

export interface OutputFolder {
  /** Absolute path. */
  dir: string;
  /** True if the checkpoint is in a database, whose address the folder does not contain. */
  isShared: boolean;
  /** Absolute path of the pipeline.yaml that the latest run used. Undefined if the checkpoint does not record it. */
  pipeline: string | undefined;
  /** Arguments for commands in messages. */
  arguments: string;
}

/** Returns undefined if `path` is not the output folder of a batch that has begun. */
export function outputFolderAt(path: string): OutputFolder | undefined {
  const dir = resolve(path);
  if (path === '') return undefined;
  if (!existsSync(checkpointFile(dir))) {
    const shared = { dir, isShared: true, pipeline: undefined, arguments: '<pipeline>' };
    return isElsewhere(dir) ? shared : undefined;
  }
  const { pipeline, output } = recordedIn(dir) ?? {};
  const named = pipeline === undefined ? '<pipeline>' : shownPath(pipeline);
  const shown = commandArguments(named, output === undefined ? undefined : shownPath(dir));
  return { dir, isShared: false, pipeline, arguments: pipeline === undefined ? named : shown };
}

/** Returns undefined for a damaged checkpoint, which is reported when it is read. */
function recordedIn(dir: string): BatchIdentity | undefined {
  try {
    const db = openCheckpointForReading(dir);
    try {
      return db && readBatch(db);
    } finally {
      db?.close();
    }
  } catch {
    return undefined;
  }
}
