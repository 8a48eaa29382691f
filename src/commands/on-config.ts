/** What commands share that need the whole configuration: they read it, and show what they refuse. */
import type { Config } from '../runner/config/config.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { readConfig } from '../runner/config/read-config.ts';
import { commandArguments } from './shown-path.ts';
import { refuse } from './refusal.ts';
import { overridesOf } from './run-options.ts';

/**
 * `file` is the pipeline.yaml, as it was given. `readOptions` reads what the command takes besides; its problems are shown
 * together with those of the file. Resolves to the exit code.
 */
export async function onConfig<Options>(
  file: string,
  argv: Record<string, unknown>,
  readOptions: (problems: Problem[]) => Options,
  work: (config: Config, options: Options) => Promise<number>,
  needsKey = true,
): Promise<number> {
  let config: Config | undefined;
  try {
    const problems: Problem[] = [];
    const options = readOptions(problems);
    config = readOrReport(problems, file, argv, needsKey);
    if (config === undefined || problems.length > 0) throw new ConfigError(problems);
    return await work(config, options);
  } catch (thrown) {
    const json = config?.terminal.json ?? argv['json'] === true;
    return refuse(thrown, config?.output.dir, json, commandArguments(file, argv['output']));
  }
}

/** Undefined where something is wrong with the file, which is added to `problems`. */
export function readOrReport(
  problems: Problem[],
  file: string,
  argv: Record<string, unknown>,
  needsKey: boolean,
  env = process.env,
): Config | undefined {
  try {
    return readConfig(file, overridesOf(argv, env), env, needsKey);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    problems.push(...thrown.problems);
    return undefined;
  }
}
