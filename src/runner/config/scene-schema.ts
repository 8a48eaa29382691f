/** The keys of pipeline.yaml that make scenes of rows: the types of columns, and what the rows are multiplied by. */
import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { columnTypes } from '../core/typed-column.ts';
import { axisJson, axisSource, isValue, valueJson } from './read-axis.ts';

const columnType = z.enum(columnTypes, 'number, boolean or json');

export const columns = named(columnType, {
  expected: 'columns with their types, such as {steps: number, hd: boolean}',
  json: { type: 'string', enum: [...columnTypes] },
});

/** Told by the program itself, and made of the axes. */
const reserved = ['id', 'index'];

const axes = named(axisSource, {
  expected: 'names with lists of values, such as {style: [oil, ink]}',
  json: axisJson,
  taken: reserved,
});

const ruleExpected = 'values by the names of their lists, such as {style: ink, steps: 1}';

const excluded = named(z.custom<JsonValue>(isValue, 'a text, a number, true or false'), {
  expected: ruleExpected,
  json: valueJson,
}).refine((rule) => rule.length > 0, ruleExpected);

const seedsExpected = 'seeds of each scene, a whole number from 1 to 1000';

export const scenes = z
  .strictObject({
    matrix: axes.optional().describe('lists of values; each is combined with each, and with every row'),
    zip: axes.optional().describe('lists of equal length that are walked together'),
    seeds: z
      .int(seedsExpected)
      .min(1, seedsExpected)
      .max(1000, seedsExpected)
      .optional()
      .describe('how many seeds each scene is rendered with, from 1 to 1000'),
    exclude: z
      .array(excluded, 'a list of combinations, such as [{style: ink, steps: 1}]')
      .default([])
      .describe('combinations that are left out'),
  })
  .superRefine(({ matrix = [], zip = [], seeds }, context) => {
    const report = (path: PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    if (matrix.length + zip.length === 0 && seeds === undefined)
      report([], 'at least one list in matrix or zip, or seeds');
    for (const [name] of zip)
      if (matrix.some(([other]) => other === name)) report(['zip', name], 'a name that matrix does not have');
    const own = matrix.some(([name]) => name === 'seed') ? 'matrix' : 'zip';
    if (seeds !== undefined && [...matrix, ...zip].some(([name]) => name === 'seed'))
      report([own, 'seed'], 'another name, or no seeds: these make a column seed, too');
  });

interface Named {
  /** In words that follow "expected". */
  expected: string;
  /** Each, as JSON Schema has it. */
  json: JsonObject;
  /** Names that are the program's. */
  taken?: string[];
}

/** Names that are the user's own, in the order of the file; a record of zod would lose __proto__ without a word. */
function named<T>(each: z.ZodType<T>, { expected, json, taken = [] }: Named) {
  const names = { not: { enum: ['', '__proto__', ...taken] } };
  const record = { type: 'object', propertyNames: names, additionalProperties: json };
  return z
    .custom<object>(isJsonObject, expected)
    .meta(record)
    .transform((object, context) => {
      const found: [string, T][] = [];
      for (const [name, value] of Object.entries(object)) {
        const report = (path: PropertyKey[], message: string): void =>
          context.addIssue({ code: 'custom', path: [name, ...path], message });
        if (['', '__proto__'].includes(name)) report([], 'another name: no column can be called so');
        if (taken.includes(name)) report([], `another name: ${taken.join(' and ')} are made by the program`);
        const read = each.safeParse(value);
        if (read.success) found.push([name, read.data]);
        else for (const { path, message } of read.error.issues) report(path, message);
      }
      return found;
    });
}
