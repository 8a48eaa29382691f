/** The console's form of an endpoint: its fields, the values that their texts give, and checks like those of service.yaml. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { packageFile } from '../../lib/files/package-file.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { deepest } from '../../lib/yaml/check-shape.ts';
import { shellWord } from '../../lib/text/format.ts';
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

/**
 * Checks an endpoint of the console. Its values may be texts as they are typed into fields. Problems name the path of
 * their key; an empty path is the whole endpoint.
 */
export function checkEndpoint(
  form: unknown,
  context: EndpointContext & {
    maxQueued: number;
    /** Expected value of `publicUrl` if it is not fit for workers of a cluster; undefined if it is. */
    publicUrlExpected: string | undefined;
    /** True if endpoints may set which programs run on this machine. Unchanged settings of `before` stay allowed. */
    hasPrograms: boolean;
    /** Settings to change; undefined for a new endpoint. */
    before: EndpointSettings | undefined;
  },
): { settings: EndpointSettings } | { problems: FieldProblem[] } {
  if (!isJsonObject(form)) return { problems: [{ field: '', text: 'expected the fields of an endpoint' }] };
  const { read: given, problems: unreadable } = readTexts(form);
  const issues = endpointSchema.safeParse(given).error?.issues ?? [];
  const { fields, problems } = readEndpoint(withBounds(given), context);
  if (Object.hasOwn(given, 'on') && context.publicUrlExpected !== undefined)
    problems.push({
      field: 'on',
      expected: `no cluster as long as \`publicUrl\` in service.yaml is not ${context.publicUrlExpected}`,
    });
  const found = [
    ...unreadable,
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
  const jsonTextOf = (value: unknown): string => JSON.stringify(value ?? null);
  const isNew = ([field, value]: [string, unknown]): boolean =>
    !['null', '[]', '{}'].includes(jsonTextOf(value)) && jsonTextOf(value) !== jsonTextOf(known[field]);
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
  return {
    begun: endpointTexts(begun),
    name: name ?? {},
    id: id ?? {},
    workloads: workloads.map(formOf),
    gpuSizes,
  };
}

/** Returns an endpoint as its form shows it: each value as the text that gives it. */
export function endpointTexts(written: Readonly<Record<string, unknown>>): Record<string, JsonValue> {
  return eachField(written as JsonObject, allSchemas, (_, value, { show }) =>
    typeof value === 'boolean' ? value : show(value),
  );
}

/** Schemas of the keys of all workloads. */
const allSchemas = schemasOf(endpointSchema.shape);

const gpuSizes = ['16 GB', '24 GB', '32 GB', '48 GB', '80 GB'];

/** Cards of the form and the order of their keys. A workload's own keys come before them, all other keys after. */
const cards: [title: string, keys: string[]][] = [
  ['Workers and GPU', ['workers', 'quickStart', 'gpu']],
  ['Cluster, memory and processors', ['on', 'memory', 'cpus']],
  ['Limits of jobs', ['executionTimeout', 'ttl', 'retries', 'maxQueued']],
  ['Replacing workers', ['recycle', 'stall']],
  ['Environment', ['environment']],
];

function formOf(workload: WorkloadDefinition): WorkloadForm {
  const { key, values, fields, without = {}, choice, note, gpu, readsScenes = false, start } = workload;
  const schemas = withNotation(schemasOf(fieldsOf(workload)));
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
    cards: sections.map(([title, keys], index) => ({
      title,
      isFolded: index > 1,
      fields: keys.flatMap((each): [string, FieldSchema][] => {
        const { [each]: schema } = schemas;
        return schema === undefined ? [] : [[each, schema]];
      }),
    })),
  };
}

function schemasOf(fields: z.core.$ZodShape): Record<string, FieldSchema> {
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

/** How a value is typed. Fields show `input`; `hint` follows the description of the key. */
interface Notation {
  input?: NonNullable<FieldSchema['input']>;
  hint?: string;
  read(text: string): { value: JsonValue } | { problem: string };
  show(value: JsonValue): string;
}

const plain: Notation = { read: (value) => ({ value }), show: textOf };

/** A text that isn't a number is kept, so that it is refused with the expectation of its key. */
const numeric: Notation = {
  input: { mode: 'decimal' },
  read: (text) => ({ value: /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text }),
  show: textOf,
};

const words: Notation = {
  hint: 'Put quotes around arguments that contain spaces.',
  read: (text) => {
    const value = splitWords(text);
    return value === undefined ? { problem: 'A quote is not closed.' } : { value };
  },
  show: (value) => [value].flat().map(textOf).map(shellWord).join(' '),
};

const names: Notation = {
  hint: 'Separated by commas.',
  read: (text) => ({ value: text.split(/[\s,]+/).filter((each) => each !== '') }),
  show: (value) => [value].flat().map(textOf).join(', '),
};

/** Variables as in an .env file. Values may be quoted; values of several lines are. */
const variables: Notation = {
  input: { rows: 4 },
  hint: 'One per line, as NAME=value. Everyone who can open this console can read them.',
  read: readVariables,
  show: (value) => (isJsonObject(value) ? Object.entries(value).map(variableLine).join('\n') : ''),
};

function notationOf(path: string, { type, anyOf = [], properties }: FieldSchema): Notation {
  if (path === 'gpu.devices') return names;
  const types = new Set([type, ...anyOf.map((each) => each.type)]);
  if (type === 'object' && properties === undefined) return variables;
  if (types.has('integer') || types.has('number')) return numeric;
  return types.has('array') ? words : plain;
}

/** Returns the endpoint with values in place of texts. An unreadable text stays, and has a problem. */
function readTexts(given: JsonObject): { read: JsonObject; problems: FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const read = eachField(given, allSchemas, (path, value, notation) => {
    if (typeof value !== 'string') return value;
    const result = notation.read(value.trim());
    if ('value' in result) return result.value;
    problems.push({ field: path, text: result.problem });
    return value;
  });
  return { read, problems };
}

/** Returns the schemas with what a field shows: the notation, and the default or an example as a text. */
function withNotation(
  schemas: Readonly<Record<string, FieldSchema>>,
  within = '',
): Record<string, FieldSchema> {
  const all = Object.entries(schemas).map(([key, schema]): [string, FieldSchema] => {
    const path = `${within}${key}`;
    const { input, hint, show } = notationOf(path, schema);
    const example = (schema.default ?? schema.examples?.[0]) as JsonValue | undefined;
    const described = {
      ...schema,
      ...(input !== undefined && { input }),
      ...(hint !== undefined && { hint }),
      ...(example !== undefined && { placeholder: show(example) }),
    };
    if (schema.properties !== undefined)
      return [key, { ...schema, properties: withNotation(schema.properties, `${path}.`) }];
    const anyOf = schema.anyOf?.map((each) =>
      each.properties === undefined
        ? each
        : { ...each, properties: withNotation(each.properties, `${path}.`) },
    );
    return [key, { ...described, ...(anyOf !== undefined && { anyOf }) }];
  });
  return Object.fromEntries(all);
}

/** Returns the object with `change` applied to the value of each field, also within sections. Unknown keys stay. */
function eachField(
  given: JsonObject,
  schemas: Readonly<Record<string, FieldSchema>>,
  change: (path: string, value: JsonValue, notation: Notation) => JsonValue,
  within = '',
): JsonObject {
  const changed = Object.entries(given).map(([key, value]): [string, JsonValue] => {
    const schema = Object.hasOwn(schemas, key) ? schemas[key] : undefined;
    if (schema === undefined) return [key, value];
    const path = `${within}${key}`;
    const section = schema.properties ?? schema.anyOf?.find(({ properties }) => properties)?.properties;
    if (section !== undefined && isJsonObject(value))
      return [key, eachField(value, section, change, `${path}.`)];
    return [key, change(path, value, notationOf(path, schema))];
  });
  return Object.fromEntries(changed);
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function readVariables(text: string): { value: JsonValue } | { problem: string } {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const given = lines.map((line) => /^\s*(?:export\s+)?([^=]*?)\s*=(.*)$/.exec(line)?.slice(1) ?? [line]);
  const all = given.map(([name = '']) => name);
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  const [lone] = given.find((parts) => parts.length === 1) ?? [];
  if (lone !== undefined) return { problem: `“${lone}” is not NAME=value.` };
  if (all.includes('')) return { problem: 'A value has no name.' };
  if (twice !== undefined) return { problem: `${twice} is given twice.` };
  return { value: Object.fromEntries(given.map(([name = '', value = '']) => [name, unquoted(value)])) };
}

function variableLine([name, value]: [string, JsonValue]): string {
  const text = textOf(value);
  return `${name}=${/[\n"]|^\s|\s$/.test(text) ? JSON.stringify(text) : text}`;
}

function unquoted(text: string): string {
  if (!/^".*"\s*$/.test(text)) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/**
 * Returns the words of a line, with the quotes and backslashes of a shell but no expansions. Undefined if a
 * quote is not closed.
 */
function splitWords(line: string): string[] | undefined {
  const found: string[] = [];
  const word = /\s+|((?:[^\s'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+)/y;
  while (word.lastIndex < line.length) {
    const match = word.exec(line);
    if (match === null) return undefined;
    if (match[1] !== undefined) found.push(withoutQuotes(match[1]));
  }
  return found;
}

function withoutQuotes(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  );
}

const text = z.string().trim().min(1).max(200);
const quickDeploy = z.enum(workloads.flatMap(({ values }) => values?.names ?? []));
const gigabytes = z.number().min(0).max(1000);

export const catalogueSchema = z.array(
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
  const entries = catalogueSchema.parse(readYaml(file, readFileSync(file, 'utf8'), {}).value);
  return entries.map(({ environment, ...entry }) => {
    const { runs, needs } = entry;
    const gpu = gpuSizes.find((size) => Number.parseInt(size, 10) >= needs.gpu);
    const filled = { ...runs, ...('image' in runs && { ...(gpu && { gpu }), environment }) };
    return { ...entry, fills: endpointTexts(filled) as Record<string, string> };
  });
}
