/**
 * Promise: the JSON Schema of a file allows a variable wherever the program does, and keeps all descriptions.
 */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { fileSchema } from '../../../src/lib/yaml/check-shape.ts';

const variable = { $ref: '#/definitions/variable' };
const propertyOf = (schema: z.ZodType): unknown => {
  const { properties } = fileSchema(z.object({ it: schema }), 'a title');
  return (properties as Record<string, unknown>)['it'];
};

it.each<[string, z.ZodType, unknown]>([
  ['a text', z.string(), { type: 'string' }],
  ['a number', z.number(), { anyOf: [{ type: 'number' }, variable] }],
  ['a boolean', z.boolean(), { anyOf: [{ type: 'boolean' }, variable] }],
  [
    'a whole number',
    z.int().min(1).max(5),
    { anyOf: [{ type: 'integer', minimum: 1, maximum: 5 }, variable] },
  ],
  ['a short text', z.string().max(5), { anyOf: [{ type: 'string', maxLength: 5 }, variable] }],
  ['a text that is not empty', z.string().min(1), { type: 'string', minLength: 1 }],
  ['a pattern', z.string().meta({ pattern: 'a' }), { anyOf: [{ type: 'string', pattern: 'a' }, variable] }],
  ['a choice', z.enum(['a', 'b']), { anyOf: [{ type: 'string', enum: ['a', 'b'] }, variable] }],
  ['a list', z.array(z.number()), { type: 'array', items: { anyOf: [{ type: 'number' }, variable] } }],
  [
    'a section',
    z.object({ a: z.boolean() }),
    {
      type: 'object',
      properties: { a: { anyOf: [{ type: 'boolean' }, variable] } },
      required: ['a'],
    },
  ],
  [
    'a map',
    z.record(z.string(), z.number()),
    {
      type: 'object',
      propertyNames: { type: 'string' },
      additionalProperties: { anyOf: [{ type: 'number' }, variable] },
    },
  ],
  [
    'one of several',
    z.union([z.number().min(1), z.string()]),
    { anyOf: [{ anyOf: [{ type: 'number', minimum: 1 }, variable] }, { type: 'string' }] },
  ],
])('%s', (_, schema, expected) => {
  expect(propertyOf(schema)).toEqual(expected);
});

it('the schema of a key keeps its description and its default', () => {
  expect(propertyOf(z.boolean().default(false).describe('Whether.'))).toEqual({
    description: 'Whether.',
    default: false,
    anyOf: [{ type: 'boolean' }, variable],
  });
  expect(propertyOf(z.number().describe('How many.'))).toEqual({
    description: 'How many.',
    anyOf: [{ type: 'number' }, variable],
  });
});

it('the schema of a file has a title and defines environment variables', () => {
  expect(fileSchema(z.object({}), 'a title')).toMatchObject({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'a title',
    type: 'object',
    definitions: { variable: { type: 'string', pattern: String.raw`\$\{[A-Za-z_]\w*\}` } },
  });
});
