/** `nightrender schema`: prints a JSON Schema. */
import { pipelineSchemaText } from '../runner/config/schema.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { serviceSchemaText } from '../service/config/service-json-schema.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { writeOut } from '../terminal/console.ts';
import { eventsSchemaText } from '../terminal/events-schema.ts';
import { refuse } from './refuse.ts';
import { schemaNames, type SchemaName } from './schema-names.ts';

const texts: Record<SchemaName, () => string> = {
  pipeline: pipelineSchemaText,
  service: serviceSchemaText,
  events: eventsSchemaText,
};

/** Returns the exit code. */
export function schema(what: string): number {
  const name = schemaNames.find((each) => each === what);
  if (name === undefined) return refuse(noSchema(what), undefined, false);
  writeOut(texts[name]().trimEnd());
  return 0;
}

function noSchema(what: string): ConfigError {
  const isGone = what === 'faults';
  const hint = isGone
    ? 'faults.yaml was a tool of the tests, and nothing replaces it'
    : (didYouMean(what, schemaNames) ?? `say one of ${schemaNames.join(', ')}`);
  return new ConfigError([{ where: '', text: `there is no schema of ${JSON.stringify(what)}; ${hint}` }]);
}
