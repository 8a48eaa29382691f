/** Schema of an endpoint in service.yaml, derived from the table of workloads, and the rules that it cannot express. */
import { z } from 'zod';
import { isLoopback } from '../../lib/net/addresses.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { readFields } from '../../lib/yaml/check-shape.ts';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { idOfName } from '../../protocol/paths.ts';
import {
  commonFields,
  type EndpointSettings,
  endpointSettings,
  identityFields,
  limitedKeys,
} from '../model/endpoint-settings.ts';
import { defaultTerms } from '../model/job.ts';
import { at, type FieldExpectation, type WorkloadDefinition } from '../workloads/workload-definition.ts';
import { findWorkload, workloadOf } from '../workloads/workload-of.ts';
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
function takesKey({ fields, takes = [] }: WorkloadDefinition, key: string): boolean {
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

/** Returns the valid fields of an endpoint, with absolute paths, and all problems that the schema cannot find. */
export function readEndpoint(
  given: JsonObject,
  context: EndpointContext,
): { fields: Partial<EndpointSettings>; problems: FieldExpectation[] } {
  const isWritten = (key: string): boolean => Object.hasOwn(given, key);
  const read = readFields(endpointSchema.shape, given);
  const kinds = workloadKeys.filter(isWritten);
  const problems: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void problems.push({ field, expected });
  if (kinds.length !== 1) refuse('', `exactly one of ${workloadKeys.join(', ')}`);
  if (isWritten('on') && !isWritten('workers'))
    refuse('workers', 'how many workers the cluster may run, such as {min: 0, max: 64, idle: 5m}');
  const known = {
    ...read,
    id: isWritten('id') ? read.id : idOfName(read.name ?? ''),
    ttl: read.ttl ?? (isWritten('ttl') ? undefined : defaultTerms.ttlMs),
  };
  // With several workload keys, it is unclear which workload is meant.
  const isUnclear = (key: string): boolean => kinds.length > 1 && kinds.includes(key);
  const right = Object.entries(known).filter(([key, value]) => value !== undefined && !isUnclear(key));
  const fields = Object.fromEntries(right) as Partial<EndpointSettings>;
  const placed = { ...fields, ...findWorkload(fields)?.inFolder?.(fields, context.folder) };
  return { fields: placed, problems: [...problems, ...endpointProblems(placed, isWritten, context)] };
}

export function settingsOf(fields: Partial<EndpointSettings>, maxQueued: number): EndpointSettings {
  const workload = findWorkload(fields);
  const { id } = fields;
  if (id === undefined || workload === undefined)
    throw new Error('an endpoint without an id or a workload was let in');
  return endpointSettings({ maxQueued, ...workload.defaults?.(fields), ...fields, id }, {});
}

/** Surroundings in which an endpoint is checked. */
export interface EndpointContext {
  /** Absolute path of the folder to which paths are relative. */
  folder: string;
  /** Other endpoints of the service, whose ids and names are taken. */
  others: readonly { id?: string | undefined; name?: string | undefined }[];
  /** Environment whose PATH is searched for programs. */
  env: NodeJS.ProcessEnv;
  /** `publicUrl` of service.yaml. */
  publicUrl?: string | undefined;
}

/** Returns problems between fields, with other endpoints and on this machine. `isWritten`: key is present. */
function endpointProblems(
  fields: Partial<EndpointSettings>,
  isWritten: (key: string) => boolean,
  { others, env, publicUrl }: EndpointContext,
): FieldExpectation[] {
  const workload = findWorkload(fields);
  return [
    ...identityProblems(fields, !isWritten('id'), others),
    ...timeProblems(fields),
    ...(workload === undefined ? [] : uselessKeys(fields, workload)),
    // Files for workers of a cluster are on the cluster, not on this machine.
    ...(isWritten('on') ? [] : (workload?.missing?.(fields, env) ?? [])),
    ...clusterProblems(fields),
    ...(workload?.problems?.(fields, publicUrl) ?? []),
  ];
}

function identityProblems(
  { id, name }: Partial<EndpointSettings>,
  isIdMade: boolean,
  others: EndpointContext['others'],
): FieldExpectation[] {
  const isTaken = (own: string | undefined, key: 'id' | 'name'): boolean =>
    own !== undefined && others.some((other) => other[key]?.toLowerCase() === own.toLowerCase());
  const found: FieldExpectation[] = [];
  if (isTaken(name, 'name')) found.push({ field: 'name', expected: 'a name that is not taken' });
  // An id that is derived from a taken name is taken as well, which needs no second message.
  if (isIdMade && found.length > 0) return found;
  if (isIdMade && name !== undefined && id === undefined)
    found.push({ field: 'id', expected: 'an id, since the name has no letters or digits to make one of' });
  const taken = `an id, since ${id ?? ''}, made of the name, is taken`;
  if (isTaken(id, 'id')) found.push({ field: 'id', expected: isIdMade ? taken : 'an id that is not taken' });
  return found;
}

function timeProblems({ executionTimeout, ttl }: Partial<EndpointSettings>): FieldExpectation[] {
  if (executionTimeout === undefined || ttl === undefined || executionTimeout <= ttl) return [];
  return at('executionTimeout', `at most the ttl of ${durationText(ttl)}, after which a job ends anyway`);
}

/** Returns problems with keys that have no effect on this workload. */
function uselessKeys(fields: Partial<EndpointSettings>, workload: WorkloadDefinition): FieldExpectation[] {
  const elsewhere: Record<string, string> = { ...limitedKeys };
  for (const each of workloads) Object.assign(elsewhere, each.elsewhere);
  const ofOthers = Object.entries(elsewhere).filter(
    ([key]) => fields[key] !== undefined && !takesKey(workload, key),
  );
  const idle = Object.entries(workload.without ?? {}).filter(([path]) => isSaid(fields, path));
  return [...ofOthers, ...idle].flatMap(([field, expected]) => at(field, expected));
}

/** True if the value at a path has an effect. Zero workers, no variables and `false` have none. */
function isSaid(fields: Partial<EndpointSettings>, path: string): boolean {
  if (path === 'workers') return (fields.workers?.max ?? 0) > 0;
  const value = path
    .split('.')
    .reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
      fields,
    );
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== false;
}

/** Returns problems with settings that a cluster decides itself, or that its workers do not support. */
function clusterProblems({ on, workers, quickStart, gpu, memory, recycle }: Partial<EndpointSettings>) {
  if (on === undefined) return [];
  const found: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void found.push({ field, expected });
  if (workers?.max === 0) refuse('workers', 'at least 1, since `on` starts no more than these');
  if (quickStart === true) refuse('quickStart', 'false: `min` of `workers` keeps some');
  if (typeof gpu === 'object')
    refuse('gpu.devices', 'no devices: the cluster assigns them, by options such as --gres=gpu:1');
  if (memory !== undefined)
    refuse('memory', 'no memory limit: the cluster has its own, by options such as --mem=16G');
  if (recycle?.memory !== undefined || recycle?.time !== undefined)
    refuse('recycle', 'only `jobs`: the cluster limits memory and time, by options such as --time=8:00:00');
  return found;
}

/** Returns the expected value of `publicUrl` if it is missing or workers of a cluster could not use it safely. Undefined if they can. */
export function publicUrlExpected(publicUrl: string | undefined, isInsecure: boolean): string | undefined {
  if (publicUrl === undefined)
    return 'the address at which workers of a cluster reach the service, such as https://render.example';
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'https:' || isInsecure || isLoopback(hostname)
    ? undefined
    : 'an https: address, or `insecure: true` in a network that you trust: anybody on the way could read keys';
}
