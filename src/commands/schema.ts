/** `nightrender schema`: prints a JSON Schema. */
import { pipelineSchemaText } from '../config/pipeline-schema.ts';
import { writeOut } from '../terminal/console.ts';
import { eventsSchemaText } from '../terminal/events-schema.ts';
import { isSchemaName, type SchemaName } from './schema-names.ts';

const texts: Record<SchemaName, () => string> = { pipeline: pipelineSchemaText, events: eventsSchemaText };

/** Returns the exit code. The parser lets no other name through. */
export function schema(what: unknown): number {
  writeOut(texts[isSchemaName(what) ? what : 'pipeline']().trimEnd());
  return 0;
}
