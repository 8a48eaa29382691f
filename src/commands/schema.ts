/** `nightrender schema`: prints a JSON Schema. */
import { pipelineSchemaText } from '../config/pipeline-schema.ts';
import { writeOut } from '../terminal/console.ts';
import { eventsSchemaText } from '../terminal/events-schema.ts';
import type { SchemaName } from './schema-names.ts';

const texts: Record<SchemaName, () => string> = { pipeline: pipelineSchemaText, events: eventsSchemaText };

/** Returns the exit code. */
export function schema(what: SchemaName): number {
  writeOut(texts[what]().trimEnd());
  return 0;
}
