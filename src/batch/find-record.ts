/** Finds the record of a batch: the one place that tells a checkpoint file from a shared checkpoint. */
import { ownRecord } from './own-record.ts';
import { assertPlace, type BatchRecord, type OpenRecord, type SharedAddress } from './record.ts';

/** `dir`: the output folder. */
export async function findRecord(dir: string, shared: SharedAddress): Promise<BatchRecord> {
  if (shared === undefined) return ownRecord(dir);
  // The database client is loaded only for batches that have one.
  const { sharedRecord } = await import('./shared-record.ts');
  return sharedRecord(dir, shared);
}

/** Opens the record of a batch to read it. Throws `ConfigError` if the batch has begun in another place. */
export async function openRecord(dir: string, shared: SharedAddress, isFresh = false): Promise<OpenRecord> {
  assertPlace(dir, shared?.where, isFresh);
  const record = await findRecord(dir, shared);
  return record.open();
}
