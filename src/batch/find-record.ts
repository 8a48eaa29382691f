/** Finds the record of a batch: the only place that distinguishes a checkpoint file from a shared checkpoint. */
import { ownRecord } from './own-record.ts';
import { assertPlace, type BatchRecord, type OpenRecord, type SharedAddress } from './record.ts';

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
