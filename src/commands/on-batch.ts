/** What commands on a batch share: they find its folder, work on it, and show what they refuse. */
import { readCheckpointAddress, readOutputDir } from '../runner/config/read-output-dir.ts';
import type { Override } from '../lib/yaml/yaml-file.ts';
import { openRecord, type BatchRecord, type SharedAddress } from './batch-record.ts';
import { commandArguments } from './shown-path.ts';
import { refuse } from './refusal.ts';
import { overridesOf } from './run-options.ts';

export interface BatchCall {
  /** The output folder. */
  dir: string;
  /** Where the batch is on record, as of now. */
  record: BatchRecord;
  json: boolean;
  /** What follows other commands for this batch. */
  others: string;
  overrides: Override[];
}

interface BatchOptions {
  /** Before the record is opened. */
  prepare?: (dir: string, shared: SharedAddress) => Promise<void>;
  /** Whether the command never sends or writes anything. */
  isReading?: boolean;
}

/** `file` is the pipeline.yaml, as it was given. Resolves to the exit code: 0 where `work` gives none. */
export async function onBatch(
  file: string,
  argv: Record<string, unknown>,
  work: (call: BatchCall) => Promise<number | void>,
  { prepare, isReading = false }: BatchOptions = {},
): Promise<number> {
  const json = argv['json'] === true;
  const others = commandArguments(file, argv['output']);
  let dir: string | undefined;
  let record: BatchRecord | undefined;
  try {
    const overrides = overridesOf(argv, process.env);
    dir = readOutputDir(file, overrides, process.env);
    const shared = readCheckpointAddress(file, overrides, process.env);
    await prepare?.(dir, shared);
    record = await openRecord(dir, shared);
    return (await work({ dir, record, json, others, overrides })) ?? 0;
  } catch (thrown) {
    return refuse(thrown, dir, json, others, isReading);
  } finally {
    await record?.close();
  }
}
