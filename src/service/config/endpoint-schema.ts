/** Schema of an endpoint in service.yaml, which is derived from the table of workloads. */
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import {
  commonFields,
  type EndpointSettings,
  identityFields,
  limitedKeys,
} from '../model/endpoint-settings.ts';
import type { WorkloadDefinition } from '../workloads/workload-definition.ts';
import { workloadOf } from '../workloads/workload-of.ts';
import { workloads } from '../workloads/workloads.ts';

/** Keys that choose a workload. An endpoint has exactly one of them. */
export const workloadKeys = [...new Set(workloads.map(({ key }) => key))];

/** Schemas of the workloads' own keys, in the order of the table. A shared key stands at its last workload. */
const ownFields: Record<string, z.core.$ZodType> = {};
for (const definition of workloads)
  for (const [key, schema] of schemasOf(definition)) {
    delete ownFields[key];
    ownFields[key] = schema;
  }

export const endpointSchema = z.strictObject({ ...identityFields, ...ownFields, ...commonFields }).meta({
  oneOf: workloadKeys.map((key) => ({ required: [key] })),
  dependencies: {
    ...Object.fromEntries([...Object.keys(ownFields), ...Object.keys(limitedKeys)].flatMap(dependency)),
    on: ['workers'],
  },
});

function schemasOf({ key, fields }: WorkloadDefinition): [string, z.core.$ZodType][] {
  const values = workloads.flatMap((each) => (each.key === key ? (each.values ?? []) : []));
  const own = Object.entries(fields).map(([name, schema]): [string, z.core.$ZodType] => [
    name,
    z.optional(schema),
  ]);
  // Another workload with the same key has added it already.
  if (values.length === 0 || Object.hasOwn(ownFields, key)) return own;
  const names = values.flatMap((each) => each.names);
  const expected = names.join(', ').replace(/, ([^,]*)$/, ' or $1');
  const choice = z.enum(names, expected).optional();
  const description = values.map((each) => each.description).join(' or ');
  return [[key, choice.describe(`a built-in workload: ${description}`)], ...own];
}

/** Returns the JSON-schema dependency of a key on its workloads, for editors; none for a key that chooses a workload. */
function dependency(key: string): [string, unknown][] {
  if (workloadKeys.includes(key)) return [];
  const takers = workloads.filter((each) => takesKey(each, key));
  const all = takers.map(({ key: needed, values }) => ({
    ...(values && { properties: { [needed]: { const: values.names.at(-1) } } }),
    required: [needed],
  }));
  const [only] = all;
  if (only === undefined || all.length > 1) return [[key, { anyOf: all }]];
  return [[key, 'properties' in only ? only : only.required]];
}

/** True if a workload supports a key: one of its own, or an optional common key. */
export function takesKey({ fields, takes = [] }: WorkloadDefinition, key: string): boolean {
  return Object.hasOwn(fields, key) || takes.some((each) => each === key);
}

/** Returns the schemas of all keys that have an effect on a workload, in the order of the console's form. */
export function fieldsOf(definition: WorkloadDefinition): Record<string, z.core.$ZodType> {
  const { key, fields, without = {} } = definition;
  const hasEffect = (name: string): boolean =>
    !Object.hasOwn(without, name) && (!Object.hasOwn(limitedKeys, name) || takesKey(definition, name));
  const common = Object.entries(commonFields).filter(([name]) => hasEffect(name));
  const own = ownFields[key];
  return {
    ...identityFields,
    ...(own && { [key]: own }),
    ...fields,
    ...Object.fromEntries(common),
  };
}

/** Returns an endpoint as written in service.yaml, with absolute paths. Reading it again gives the same settings. */
export function writtenEndpoint(settings: EndpointSettings): { id: string; name: string } & JsonObject {
  const definition = workloadOf(settings);
  const named: Readonly<Record<string, unknown>> = {
    ...settings,
    ...definition.namedDefaults?.(settings),
  };
  const defaults = definition.defaults?.(settings) ?? {};
  const written = Object.entries(fieldsOf(definition)).flatMap(([key, schema]): [string, JsonValue][] => {
    const value = named[key];
    if (value === undefined || (JSON.stringify(value) === '{}' && defaults[key] === undefined)) return [];
    // Values that an earlier version accepted may be invalid today.
    const { success, data } = z.safeEncode(schema, value);
    return [[key, JSON.parse(JSON.stringify(success ? data : value), withoutNull) as JsonValue]];
  });
  const { id, name } = settings;
  return { ...Object.fromEntries(written), id, name };
}

function withoutNull(_: string, value: unknown): unknown {
  return value ?? undefined;
}
