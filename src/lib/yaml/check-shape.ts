/** Checks the values of a YAML file against its schema, reports each problem with its place, and makes its JSON Schema. */
import { z } from 'zod';
import { didYouMean } from '../text/closest.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../text/json.ts';
import { type Problem, shownKey, shownValue } from './problem.ts';
import type { Path, YamlFile } from './read-yaml.ts';

/** The keys that a file may have, for messages that name them. */
export interface Layout {
  shapeAt(path: Path): z.ZodRawShape;
  /** Shapes of sections, by the key that holds each. */
  sections: Record<string, { shape: z.ZodRawShape }>;
}

export interface Checked<T> {
  raw?: T;
  given: unknown;
  problems: Problem[];
}

/** Compiling code for a schema takes longer than it saves on one file. */
const once = { jitless: true };

/** Returns the values, or every problem with them. `given`: values with variables converted. */
export function checkAgainst<T>(
  schema: z.ZodType<T>,
  yaml: YamlFile,
  secrets: string[],
  layout: Layout,
): Checked<T> {
  const value = yaml.value ?? {};
  const first = schema.safeParse(value, once);
  if (first.success) return { raw: first.data, given: value, problems: [] };
  const issues = first.error.issues.flatMap((issue) => deepest(issue));
  const given = withTypedVariables(value, issues, yaml);
  const second = schema.safeParse(given, once);
  if (second.success) return { raw: second.data, given, problems: [] };
  const left = second.error.issues.flatMap((issue) => deepest(issue));
  return { given, problems: left.flatMap((issue) => problemsOf(issue, value, yaml, secrets, layout)) };
}

/** Returns the issues of the branch of a union that the value matched furthest. */
export function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const inner =
    issue.errors.find((branch) => branch.some(({ path }) => path.length > 0)) ??
    issue.errors.find((branch) => branch.some(({ code }) => code === 'unrecognized_keys'));
  return inner?.map((each) => ({ ...each, path: [...issue.path, ...each.path] })) ?? [issue];
}

/** Converts an unquoted `${NAME}` to a number or a boolean if one is expected. */
function withTypedVariables(value: unknown, issues: z.core.$ZodIssue[], yaml: YamlFile): unknown {
  const typed = structuredClone(value);
  for (const { code, path } of issues) {
    const place = path.filter((key) => typeof key !== 'symbol');
    const found = valueAt(typed, place);
    const isOfType = code === 'invalid_type' || code === 'invalid_union';
    if (!isOfType || typeof found !== 'string' || yaml.fromEnvironment(place) !== 'whole') continue;
    const parent = valueAt(typed, place.slice(0, -1)) as Record<string | number, unknown>;
    const key = place.at(-1);
    if (key !== undefined) parent[key] = typedText(found);
  }
  return typed;
}

/** Returns the number or boolean that a text is in YAML, if nothing is lost; otherwise the text. */
export function typedText(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(\.\d+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}

function problemsOf(
  issue: z.core.$ZodIssue,
  value: unknown,
  yaml: YamlFile,
  secrets: string[],
  layout: Layout,
): Problem[] {
  const path = issue.path.filter((key) => typeof key !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      where: yaml.placeOf([...path, key], true),
      text: `${shownKey(key)} is unknown${path.length === 0 ? '' : ` in ${nameOf(path)}`}; ${expectedKey(key, path, layout)}`,
    }));
  }
  if (issue.code === 'custom' && issue.params?.['isOfName'] === true) {
    const text = `${shownKey(String(path.at(-1)))} cannot be set in ${nameOf(path.slice(0, -1))}; expected ${issue.message}`;
    return [{ where: yaml.placeOf(path, true), text }];
  }
  const isSection = issue.code === 'invalid_type' && issue.expected === 'object';
  const expected = isSection ? sectionAt(layout.shapeAt(path)) : issue.message;
  return [problemAt(path, expected, { value, yaml, secrets })];
}

/** Describes the problem with a value. `expected` follows the word "expected". */
export function problemAt(
  path: Path,
  expected: string,
  { value, yaml, secrets }: { value: unknown; yaml: YamlFile; secrets: string[] },
): Problem {
  const name = path.length === 0 ? 'the file' : nameOf(path);
  const found = valueAt(value, path);
  const where = yaml.placeOf(path);
  if (found === undefined) return { where, text: `${name} is missing; expected ${expected}` };
  return { where, text: `${name} is ${shownValue(found, path, yaml, secrets)}; expected ${expected}` };
}

/** Returns a name such as `manifest[1]` or `retry.attempts`. */
function nameOf(path: Path): string {
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${key}`)).join('');
}

/** Lists the keys of a section, the required ones first. */
function sectionAt(shape: z.ZodRawShape): string {
  const isOptional = (key: string): boolean => {
    const schema = shape[key];
    return schema === undefined || z.safeParse(schema, undefined).success;
  };
  const keys = Object.keys(shape);
  const needed = keys.filter((key) => !isOptional(key));
  const others = keys.filter(isOptional).join(', ');
  if (needed.length === 0) return `the keys ${others}`;
  return `the ${needed.length === 1 ? 'key' : 'keys'} ${needed.join(', ')}, and optionally ${others}`;
}

/** Suggests a key. The key may also be spelled correctly but be in the wrong place. */
function expectedKey(key: string, path: Path, { shapeAt, sections: all }: Layout): string {
  const keys = Object.keys(shapeAt(path));
  const hint = didYouMean(key, keys);
  if (hint !== undefined) return hint;
  const section = Object.entries(all).find(([, { shape }]) => Object.hasOwn(shape, key));
  const place = section === undefined ? '' : ` (${key} belongs under ${section[0]})`;
  return `expected ${keys.join(', ')}${place}`;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}

/** Returns the valid fields and leaves out the others. */
export function readFields<Shape extends z.ZodRawShape>(
  shape: Shape,
  given: Record<string, unknown>,
): { [Key in keyof Shape]?: z.output<Shape[Key]> } {
  const fields: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(shape)) {
    const read = (schema as z.ZodType).safeParse(given[key]);
    if (read.success) fields[key] = read.data;
  }
  return fields as { [Key in keyof Shape]?: z.output<Shape[Key]> };
}

/** Makes the JSON Schema of a YAML file from the checking schema. It accepts at least the same values. */
export function fileSchema(checking: z.ZodType, title: string): JsonObject {
  const made = z.toJSONSchema(checking, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  const { $schema = null, ...rest } = made as JsonObject;
  return { $schema, title, ...(withVariables(rest) as JsonObject), definitions: { variable } };
}

const variable = {
  description: '`${NAME}` is taken from the environment.',
  type: 'string',
  pattern: String.raw`\$\{[A-Za-z_]\w*\}`,
};

/** Allows a variable for every value that is neither a list nor a section. */
function withVariables(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return schema;
  const { properties, additionalProperties, items, anyOf, ...rest } = schema;
  const inner: JsonObject = {
    ...rest,
    ...(additionalProperties !== undefined && { additionalProperties: withVariables(additionalProperties) }),
    ...(properties !== undefined && { properties: eachOf(properties) }),
    ...(items !== undefined && { items: withVariables(items) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(withVariables) }),
  };
  if (!isNarrowScalar(inner)) return inner;
  const { description, default: otherwise, ...own } = inner;
  return {
    ...(description !== undefined && { description }),
    ...(otherwise !== undefined && { default: otherwise }),
    anyOf: [own, { $ref: '#/definitions/variable' }],
  };
}

function eachOf(properties: JsonValue): JsonValue {
  if (!isJsonObject(properties)) return properties;
  return Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, withVariables(each)]));
}

/** True if the schema rejects texts with a variable. */
function isNarrowScalar({ type, pattern, enum: choices, maxLength }: JsonObject): boolean {
  if (type === 'number' || type === 'integer' || type === 'boolean') return true;
  return type === 'string' && [pattern, choices, maxLength].some((bound) => bound !== undefined);
}
