/** The JSON Schema of the lines that `--json` writes, for programs that read them. */
import { z } from 'zod';
import { eventLines } from './event-lines.ts';

/** Lines and fields may be added later: lines of types that are not known here are valid, too. */
export function eventsSchema(): object {
  const known = Object.entries(eventLines).map(([type, schema]) => lineSchema(type, schema));
  const isKnown = { type: 'string', enum: Object.keys(eventLines) };
  const other = { properties: { ...always, type: { type: 'string', not: isKnown } } };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A line of nightrender --json',
    type: 'object',
    required: ['type', 'at'],
    anyOf: [...known, { description: 'a line of a later version', ...other }],
  };
}

export function eventsSchemaText(): string {
  return `${JSON.stringify(eventsSchema(), null, 2)}\n`;
}

const always = {
  at: {
    type: 'string',
    description: 'when it was said, in UTC',
    pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`,
  },
};

function lineSchema(type: string, schema: z.ZodType): object {
  const { $schema: _draft, description, ...made } = z.toJSONSchema(schema, { target: 'draft-7' });
  const { properties, required = [], additionalProperties: _more, ...rest } = made;
  return {
    description,
    ...rest,
    required: ['type', 'at', ...required],
    properties: { type: { const: type }, ...always, ...properties },
  };
}
