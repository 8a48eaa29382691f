/** The schemas that can be printed, by name, the usual one first. */

export const schemaNames = ['pipeline', 'service', 'events'] as const;

export type SchemaName = (typeof schemaNames)[number];
