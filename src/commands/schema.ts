/** `nightrender schema`: prints a JSON Schema. */
import { refuse, textIn } from './reply.ts';
import { pipelineSchemaText } from '../runner/config/pipeline-schema.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { serviceSchemaText } from '../service/config/service-schema.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { writeOut } from '../terminal/terminal.ts';
import type { LoadedCommand } from './command.ts';
import { endings } from '../runner/core/ending.ts';
import { eventsSchema } from '../terminal/event-lines.ts';

/** The default comes first. */
const schemaNames = ['pipeline', 'service', 'events'] as const;
type SchemaName = (typeof schemaNames)[number];

export const schemaCommand: LoadedCommand = {
  purpose: `Prints a JSON Schema: of pipeline.yaml, of service.yaml (service), or of the lines that --json prints (events). Editors check a YAML file that begins with # yaml-language-server: $schema=<path>.`,
  positionals: {
    what: {
      type: 'string',
      default: schemaNames[0],
      describe: `whose schema: ${schemaNames.join(', ')}`,
    },
  },
  examples: [
    ['$0 schema > pipeline.schema.json', 'for an editor, next to pipeline.yaml'],
    ['$0 schema events', 'for a program that reads run --json'],
  ],
  exits: { bug: endings.bug.means, 'wrong-use': 'wrong use', complete: 'printed' },
  work: (argv) => schema(textIn(argv, 'what')),
  words: schemaNames,
};

const texts: Record<SchemaName, () => string> = {
  pipeline: pipelineSchemaText,
  service: serviceSchemaText,
  events: eventsSchemaText,
};

/** Returns the exit code. */
function schema(what: string): number {
  const name = schemaNames.find((each) => each === what);
  if (name === undefined) return refuse(noSchema(what), undefined, false, undefined, true);
  writeOut(texts[name]().trimEnd());
  return 0;
}

function noSchema(what: string): ConfigError {
  const isGone = what === 'faults';
  const hint = isGone
    ? 'faults.yaml was only for tests and has no replacement'
    : (didYouMean(what, schemaNames) ?? `expected one of ${schemaNames.join(', ')}`);
  return new ConfigError([{ where: '', text: `there is no schema of ${JSON.stringify(what)}; ${hint}` }]);
}

function eventsSchemaText(): string {
  return `${JSON.stringify(eventsSchema(), null, 2)}\n`;
}
