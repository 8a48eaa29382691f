/** `nightrender inspect`: what a picture says of itself. */
import { ConfigError } from '../lib/yaml/problem.ts';
import { inspectPicture } from '../runner/images/inspect-picture.ts';
import { printInspected } from '../terminal/print-inspected.ts';
import { refuse } from './refusal.ts';
import type { Argv } from 'yargs';
import type { LoadedCommand } from './command.ts';
import { common, exitCodes } from './exit-codes.ts';
import { textIn } from './option-values.ts';

export const inspectCommand: LoadedCommand = {
  options: inspectOptions,
  work: (argv) => inspect(textIn(argv, 'picture'), argv),
};

function inspectOptions(parser: Argv) {
  const purpose = `Prints size, format and provenance of a picture, from its own metadata (output.metadata: embed) or its JSON sidecar. Also prints texts that other programs wrote into a PNG.`;
  return parser
    .positional('picture', { type: 'string', demandOption: true, describe: 'a PNG, or any other picture' })
    .usage(`$0 inspect <picture>\n\n${purpose}`)
    .option('json', { type: 'boolean', describe: 'as one JSON object' })
    .example('$0 inspect renders/images/harbour.png', 'its prompt, inputs, seed and job')
    .example('$0 inspect harbour.png --json', 'for a script')
    .epilogue(exitCodes({ bug: common.bug, ...inspecting }));
}

const inspecting = {
  complete: 'printed',
  'wrong-use': 'wrong use, or no picture',
};

/** Resolves to the exit code. */
async function inspect(file: string, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  try {
    const inspected = await inspectPicture(file);
    if ('problem' in inspected) throw new ConfigError([{ where: file, text: inspected.problem }]);
    printInspected(file, inspected, json);
    return 0;
  } catch (thrown) {
    return refuse(thrown, undefined, json);
  }
}
