/** The options that commands share, each with the key and the environment variable of the same meaning. */
import { optionRules, variableOf, type OptionName } from '../batch/overrides.ts';

export const pipelineArgument = {
  type: 'string',
  describe: 'the configuration file, such as pipeline.yaml, or its folder',
} as const;

/** For commands that take several. */
export const pipelineArguments = {
  type: 'string',
  describe: `${pipelineArgument.describe}; of several, one after the other`,
} as const;

/** A number has no type here: the parser would make NaN of anything else, and the problem could not show what was given. */
export function sharedOptions(names: readonly OptionName[]) {
  return Object.fromEntries(
    names.map((name) => {
      const { type, describe, path } = optionRules[name];
      const text = `${describe}\n[${path.join('.')}, ${variableOf(name)}]`;
      return [name, { ...(type !== 'number' && { type }), describe: text, requiresArg: type !== 'boolean' }];
    }),
  );
}

export const precedence =
  'In brackets: the matching key in pipeline.yaml and environment variable. Options override variables, variables override the file.';
