/** What commands that are given a pipeline.yaml have in common in their help. */
import type { Argv } from 'yargs';
import { optionRules, variableOf, type OptionName } from './run-options.ts';

/** A number has no type here: the parser would make NaN of what is none, and nobody could be told what was given. */
export function withPipeline(parser: Argv, names: OptionName[]) {
  const base = parser.positional('pipeline', {
    type: 'string',
    demandOption: true,
    describe: 'the file that says what is rendered where, such as pipeline.yaml',
  });
  for (const name of names) {
    const { type, describe, path } = optionRules[name];
    base.option(name, {
      ...(type !== 'number' && { type }),
      describe: `${describe}\n[${path.join('.')}, ${variableOf(name)}]`,
      requiresArg: type !== 'boolean',
    });
  }
  return base;
}

export const precedence =
  'In brackets: the key in pipeline.yaml and the environment variable of the same meaning. An option wins over the variable, and the variable over the file.';
