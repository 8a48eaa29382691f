/** The JSON Schema of pipeline.yaml, for editors and other programs, made from the schema that checks it. */
import type { JsonObject } from '../../lib/text/json.ts';
import { fileSchema } from '../../lib/yaml/file-schema.ts';
import { manifestOptionalSchema } from './schema.ts';

/** Refuses nothing that a run accepts; what one key says of another is left to the run. */
export function pipelineSchema(): JsonObject {
  return fileSchema(manifestOptionalSchema, 'pipeline.yaml of nightrender');
}

/** As JSON that a person can read. */
export function pipelineSchemaText(): string {
  return `${JSON.stringify(pipelineSchema(), null, 2)}\n`;
}
