/** Checks endpoints of the console like those of service.yaml, and describes the fields of the console's form. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { packageFile } from '../../lib/files/package-file.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { deepest } from '../../lib/yaml/check-shape.ts';
import { readYaml } from '../../lib/yaml/read-yaml.ts';
import type {
  CatalogueEntry,
  EndpointFields,
  FieldSchema,
  WorkloadForm,
} from '../../protocol/console-data.ts';
import {
  endpointSettings,
  type EndpointSettings,
  type FieldProblem,
  identityFields,
} from '../model/endpoint-settings.ts';
import { image } from '../workloads/container-tool.ts';
import type { WorkloadDefinition } from '../workloads/workload-definition.ts';
import { findWorkload, workloadOf } from '../workloads/workload-of.ts';
import { workloads } from '../workloads/workloads.ts';
import {
  type EndpointContext,
  endpointSchema,
  fieldsOf,
  readEndpoint,
  settingsOf,
  writtenEndpoint,
} from './endpoint-schema.ts';

/** Checks an endpoint of the console. Problems name the path of their key; an empty path is the whole endpoint. */
export function checkEndpoint(
  given: unknown,
  context: EndpointContext & {
    /** `limits.maxQueued` of service.yaml. */
    maxQueued: number;
    /** Expected value of `publicUrl` if it is not fit for workers of a cluster; undefined if it is. */
    publicUrlExpected: string | undefined;
    /** True if endpoints may set which programs run on this machine. Unchanged settings of `before` stay allowed. */
    hasPrograms: boolean;
    /** Settings to change; undefined for a new endpoint. */
    before: EndpointSettings | undefined;
  },
): { settings: EndpointSettings } | { problems: FieldProblem[] } {
  if (!isJsonObject(given)) return { problems: [{ field: '', text: 'expected the fields of an endpoint' }] };
  const issues = endpointSchema.safeParse(given).error?.issues ?? [];
  const { fields, problems } = readEndpoint(withBounds(given), context);
  if (Object.hasOwn(given, 'on') && context.publicUrlExpected !== undefined)
    problems.push({
      field: 'on',
      expected: `no cluster as long as \`publicUrl\` in service.yaml is not ${context.publicUrlExpected}`,
    });
  const found = [
    ...issues.flatMap((issue) => deepest(issue)).flatMap(shapeProblems),
    ...variableProblems(given),
    ...problems.map(({ field, expected }) => ({ field, text: `expected ${expected}` })),
  ];
  if (found.length === 0) {
    const settings = settingsOf(fields, context.maxQueued);
    if (!context.hasPrograms) found.push(...programProblems(settings, context.before));
    if (found.length === 0) return { settings };
  }
  const isFirst = ({ field }: FieldProblem, index: number): boolean =>
    found.findIndex((other) => other.field === field) === index;
  return { problems: found.filter(isFirst) };
}

function programProblems(settings: EndpointSettings, before: EndpointSettings | undefined): FieldProblem[] {
  const known = before === undefined ? {} : programsIn(before);
  const textOf = (value: unknown): string => JSON.stringify(value ?? null);
  const isNew = ([field, value]: [string, unknown]): boolean =>
    !['null', '[]', '{}'].includes(textOf(value)) && textOf(value) !== textOf(known[field]);
  const text = 'not allowed in the console (`console.programs` of service.yaml): write it into service.yaml';
  return Object.entries(programsIn(settings))
    .filter(isNew)
    .map(([field]) => ({ field, text }));
}

function programsIn(settings: EndpointSettings): Readonly<Record<string, unknown>> {
  return workloadOf(settings).programs?.(settings) ?? {};
}

/** Adds the console's defaults, which isolate containers unless the form says otherwise. */
function withBounds(given: JsonObject): JsonObject {
  return { ...(findWorkload(given)?.consoleDefaults as JsonObject | undefined), ...given };
}

function shapeProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ field: [...path, key].join('.'), text: 'unknown field' }));
  const isSection = issue.code === 'invalid_type' && issue.expected === 'object';
  return [{ field: path.join('.'), text: `expected ${isSection ? 'keys with values' : issue.message}` }];
}

const noVariable = 'expected the value itself: ${NAME} works in service.yaml only';

/** Returns problems with `${NAME}`, which the console does not replace. A worker would get it as a wrong key. */
function variableProblems(value: JsonValue, path: string[] = []): FieldProblem[] {
  if (typeof value === 'string') {
    const isTold = value.includes('${') && path.join() !== 'name';
    return isTold ? [{ field: path.join('.'), text: noVariable }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => variableProblems(inner, [...path, key]));
}

/** Returns the fields of the endpoint form. A new form starts with the defaults, and with workers that stay up. */
export function endpointFields(maxQueued: number): EndpointFields {
  const {
    id: _,
    name: _name,
    ...begun
  } = writtenEndpoint(endpointSettings({ id: '', quickStart: true, maxQueued }));
  const { name, id } = schemasOf(identityFields);
  return { begun, name: name ?? {}, id: id ?? {}, workloads: workloads.map(formOf) };
}

/** Cards of the form and the order of their keys. A workload's own keys come before them, all other keys after. */
const cards: [title: string, keys: string[]][] = [
  ['Workers and GPU', ['workers', 'quickStart', 'gpu', 'on', 'memory', 'cpus']],
  ['Limits of jobs', ['executionTimeout', 'ttl', 'retries', 'maxQueued']],
  ['Replacing workers', ['recycle', 'stall']],
  ['Environment', ['environment']],
];

function formOf(workload: WorkloadDefinition): WorkloadForm {
  const { key, values, fields, without = {}, choice, note, gpu, readsScenes = false, start } = workload;
  const schemas = schemasOf(fieldsOf(workload));
  for (const path of Object.keys(without)) {
    const [name = '', inner] = path.split('.');
    const { [name]: schema } = schemas;
    if (inner !== undefined && schema !== undefined) schemas[name] = withoutKey(schema, inner);
  }
  // A key with fixed values needs no field, because choosing the workload sets it.
  const chosen: unknown[] | undefined = values ? [...values.names] : constantOf(schemas[key]);
  if (chosen !== undefined) delete schemas[key];
  const placed = new Set(['name', 'id', ...cards.flatMap(([, keys]) => keys)]);
  const all = Object.keys(schemas).filter((each) => !placed.has(each));
  const isOwn = (each: string): boolean => each === key || Object.hasOwn(fields, each);
  const sections: typeof cards = [
    ['Workload', all.filter(isOwn)],
    ...cards,
    ['More', all.filter((each) => !isOwn(each))],
  ];
  return {
    key,
    ...(chosen && { values: chosen }),
    ...(choice && { choice }),
    ...(note !== undefined && { note }),
    gpu,
    readsScenes,
    isElsewhere: start === undefined,
    cards: sections.map(([title, keys]) => ({
      title,
      fields: keys.flatMap((each): [string, FieldSchema][] => {
        const { [each]: schema } = schemas;
        return schema === undefined ? [] : [[each, schema]];
      }),
    })),
  };
}

function schemasOf(fields: z.ZodRawShape): Record<string, FieldSchema> {
  const options = { io: 'input', target: 'draft-7', unrepresentable: 'any' } as const;
  return (z.toJSONSchema(z.object(fields), options) as FieldSchema).properties ?? {};
}

/** Returns a schema without one key of its sections. Sections without any other key are removed. */
function withoutKey(schema: FieldSchema, key: string): FieldSchema {
  const { properties, anyOf } = schema;
  if (properties !== undefined) {
    const { [key]: _, ...others } = properties;
    return { ...schema, properties: others };
  }
  if (anyOf === undefined) return schema;
  const kept = anyOf.map((each) => withoutKey(each, key));
  return {
    ...schema,
    anyOf: kept.filter((each) => each.properties === undefined || Object.keys(each.properties).length > 0),
  };
}

function constantOf(schema: FieldSchema | undefined): unknown[] | undefined {
  return schema !== undefined && 'const' in schema ? [schema.const] : undefined;
}

const text = z.string().trim().min(1).max(200);
const quickDeploy = z.enum(workloads.flatMap(({ values }) => values?.names ?? []));
const gigabytes = z.number().min(0).max(1000);

export const catalogueSchema: z.ZodType<CatalogueEntry[]> = z.array(
  z.strictObject({
    id: z.string().regex(/^[a-z0-9-]+$/),
    title: text,
    text,
    runs: z.union([z.strictObject({ quickDeploy }), z.strictObject({ image })]),
    environment: z.record(z.string(), z.string()).default({}),
    needs: z.strictObject({ gpu: gigabytes, disk: gigabytes, pull: gigabytes }),
    input: z.record(z.string(), text),
    example: z.record(z.string(), z.json()),
  }),
);

/** Reads the quick-deploy catalogue: workloads with their requirements, input and an example. Throws if it is invalid. */
export function readCatalogue(): CatalogueEntry[] {
  const file = packageFile('src/service/config/catalogue.yaml');
  return catalogueSchema.parse(readYaml(file, readFileSync(file, 'utf8'), {}).value);
}
