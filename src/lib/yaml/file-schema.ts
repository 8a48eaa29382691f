/** JSON Schema of a YAML file that may contain environment variables, made from the schema that checks it. */
import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../text/json.ts';

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
