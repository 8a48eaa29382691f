/** The schemas that can be printed, by name, the usual one first. */

export const schemaNames = ['pipeline', 'events'] as const;

export type SchemaName = (typeof schemaNames)[number];

export function isSchemaName(what: unknown): what is SchemaName {
  return schemaNames.some((name) => name === what);
}
