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
export function onBatch(
  file: string,
  argv: Record<string, unknown>,
  work: (call: BatchCall) => Promise<number | void>,
  { prepare, isReading = false }: BatchOptions = {},
): Promise<number> {
  const json = argv['json'] === true;
  const others = commandArguments(file, argv['output']);
  const overrides = overridesOf(argv, process.env);
  return onRecord(
    { file, overrides, env: process.env, ...(prepare && { prepare }) },
    async (dir, record) => (await work({ dir, record, json, others, overrides })) ?? 0,
    (thrown, dir) => refuse(thrown, dir, json, others, isReading),
  );
}

export interface RecordPlace extends Pick<BatchOptions, 'prepare'> {
  file: string;
  overrides: Override[];
  env: NodeJS.ProcessEnv;
}

/** `refused` makes something of what is thrown on the way; `dir` is the output folder, as soon as it is known. */
export async function onRecord<Result>(
  { file, overrides, env, prepare }: RecordPlace,
  work: (dir: string, record: BatchRecord) => Promise<Result>,
  refused: (thrown: unknown, dir: string | undefined) => Result,
): Promise<Result> {
  let dir: string | undefined;
  let record: BatchRecord | undefined;
  try {
    dir = readOutputDir(file, overrides, env);
    const shared = readCheckpointAddress(file, overrides, env);
    await prepare?.(dir, shared);
    record = await openRecord(dir, shared);
    return await work(dir, record);
  } catch (thrown) {
    return refused(thrown, dir);
  } finally {
    await record?.close();
  }
}
