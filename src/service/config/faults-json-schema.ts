/** The JSON Schema of faults.yaml, for editors and other programs, made from the schema that checks it. */
import type { JsonObject } from '../../lib/text/json.ts';
import { faultsSchema } from './faults-schema.ts';
import { fileSchema } from '../../lib/yaml/file-schema.ts';

/** Refuses nothing that the service accepts. */
export function faultsJsonSchema(): JsonObject {
  return fileSchema(faultsSchema, 'faults.yaml of nightrender');
}

/** As JSON that a person can read. */
export function faultsSchemaText(): string {
  return `${JSON.stringify(faultsJsonSchema(), null, 2)}\n`;
}
