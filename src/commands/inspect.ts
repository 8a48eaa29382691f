/** `nightrender inspect`: what a picture says of itself. */
import { ConfigError } from '../lib/yaml/problem.ts';
import { inspectPicture } from '../runner/images/inspect-picture.ts';
import { printInspected } from '../terminal/print-inspected.ts';
import { refuse } from './refusal.ts';
import type { LoadedCommand } from './command.ts';
import { common } from './exit-codes.ts';
import { textIn } from './option-values.ts';

export const inspectCommand: LoadedCommand = {
  purpose: `Prints size, format and provenance of a picture, from its own metadata (output.metadata: embed) or its JSON sidecar. Also prints texts that other programs wrote into a PNG.`,
  positionals: { picture: { type: 'string', demandOption: true, describe: 'a PNG, or any other picture' } },
  options: { json: { type: 'boolean', describe: 'as one JSON object' } },
  examples: [
    ['$0 inspect renders/images/harbour.png', 'its prompt, inputs, seed and job'],
    ['$0 inspect harbour.png --json', 'for a script'],
  ],
  exits: { bug: common.bug, complete: 'printed', 'wrong-use': 'wrong use, or no picture' },
  work: (argv) => inspect(textIn(argv, 'picture'), argv),
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
