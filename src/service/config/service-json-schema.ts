/** The JSON Schema of service.yaml, for editors and other programs, made from the schema that checks it. */
import type { JsonObject } from '../../lib/text/json.ts';
import { fileSchema } from '../../lib/yaml/file-schema.ts';
import { serviceSchema } from './service-schema.ts';

/** Refuses nothing that the service accepts; what endpoints say of one another is left to the service. */
export function serviceJsonSchema(): JsonObject {
  return fileSchema(serviceSchema, 'service.yaml of nightrender');
}

/** As JSON that a person can read. */
export function serviceSchemaText(): string {
  return `${JSON.stringify(serviceJsonSchema(), null, 2)}\n`;
}
