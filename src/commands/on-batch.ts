/** What commands on a batch share: they find its folder, work on it, and show what they refuse. */
import { readOutputDir } from '../runner/config/read-output-dir.ts';
import type { Override } from '../lib/yaml/yaml-file.ts';
import { commandArguments } from './command-arguments.ts';
import { refuse } from './refusal.ts';
import { overridesOf } from './run-options.ts';

export interface BatchCall {
  /** The output folder. */
  dir: string;
  json: boolean;
  /** What follows other commands for this batch. */
  others: string;
  overrides: Override[];
}

/** `file` is the pipeline.yaml, as it was given. Resolves to the exit code: 0 where `work` gives none. */
export async function onBatch(
  file: string,
  argv: Record<string, unknown>,
  work: (call: BatchCall) => Promise<number | void>,
): Promise<number> {
  const json = argv['json'] === true;
  const others = commandArguments(file, argv['output']);
  let dir: string | undefined;
  try {
    const overrides = overridesOf(argv, process.env);
    dir = readOutputDir(file, overrides, process.env);
    return (await work({ dir, json, others, overrides })) ?? 0;
  } catch (thrown) {
    return refuse(thrown, dir, json, others);
  }
}
