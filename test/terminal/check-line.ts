/** Checks a JSON line strictly against its schema: other types and unknown fields fail. */
import { Ajv, type AnySchema } from 'ajv';
import { expect } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/lib/text/json.ts';
import { eventsSchema } from '../../src/terminal/event-lines.ts';

const { anyOf } = eventsSchema() as { anyOf: { properties: { type: { const?: string } } }[] };
const ajv = new Ajv({ allErrors: true, strictTypes: false });
const checks = new Map(
  anyOf.flatMap((schema) => {
    const type = schema.properties.type.const;
    return type === undefined
      ? []
      : [[type, ajv.compile(closed(schema as JsonObject) as AnySchema)] as const];
  }),
);

export function checkLine(line: JsonValue): void {
  const type = isJsonObject(line) ? JSON.stringify(line['type']) : '';
  const check = checks.get(type.slice(1, -1));
  if (check === undefined) expect.fail(`no schema for ${JSON.stringify(line)}`);
  expect(check(line), `${JSON.stringify(line)}\n${JSON.stringify(check.errors)}`).toBe(true);
}

function closed(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isJsonObject(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return isJsonObject(schema['properties'] ?? null) ? { ...inner, additionalProperties: false } : inner;
}
