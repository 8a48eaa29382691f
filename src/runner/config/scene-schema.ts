/** The keys of pipeline.yaml that make scenes of rows: types of columns, and the lists that rows are multiplied by. */
import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { columnTypes, isRange, rangePattern, readRange } from '../core/expansion.ts';
import { count, path as filePath } from '../../lib/yaml/scalar-schemas.ts';

export type AxisSource =
  | { kind: 'values'; values: JsonValue[] }
  /** `column` is undefined if the file has only one. */
  | { kind: 'file'; path: string; column: string | undefined };

const axisExpected =
  'a list of values, a range such as 1..10 or 1..100 step 5, or a file such as {file: styles.txt}';

const valueJson = {
  anyOf: [{ type: 'string', minLength: 1 }, { type: 'number' }, { type: 'boolean' }],
};

const axisJson = {
  anyOf: [
    { description: 'a list of values', type: 'array', minItems: 1, items: valueJson },
    { description: 'a range: 1..10, 10..1, 1..100 step 5', type: 'string', pattern: rangePattern },
    {
      description: 'the values in a file',
      type: 'object',
      required: ['file'],
      additionalProperties: false,
      properties: {
        file: {
          description: 'relative to this file; a value a line, or a table',
          type: 'string',
          minLength: 1,
        },
        column: { description: 'the column that holds the values', type: 'string', minLength: 1 },
      },
    },
  ],
};

/** Reports problems with their path below the axis. */
const axisSource = z.unknown().transform((given, context): AxisSource => {
  const report = (message: string, path: (string | number)[] = []): AxisSource => {
    context.addIssue({ code: 'custom', message, path });
    return z.NEVER;
  };
  if (Array.isArray(given)) return readList(given, report);
  if (isJsonObject(given)) return readFile(given, report);
  const range = typeof given === 'string' ? readRange(given) : undefined;
  if (range === undefined) return report(axisExpected);
  return 'values' in range ? { kind: 'values', values: range.values } : report(range.expected);
});

const columnType = z.enum(columnTypes, 'number, boolean or json');

export const columns = named(columnType, {
  expected: 'columns with their types, such as {steps: number, hd: boolean}',
  json: { type: 'string', enum: [...columnTypes] },
});

/** Names that the program sets itself. */
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

const condition = z.string("a condition such as 'score >= 0.6'").min(1, "a condition such as 'score >= 0.6'");

const columnName = z.string('the name of a column or a value').min(1, 'the name of a column or a value');

const best = z.strictObject({
  of: columnName.describe('the column that a group has in common, such as prompt'),
  by: columnName.describe('the number that decides: the highest wins'),
  count: count(1, 1000, 'pictures of each group').default(1).describe('pictures per group'),
});

/** Keys that choose among the pictures of `from`. */
const choosing = ['keep', 'ids', 'best'] as const;

export const scenes = z
  .strictObject({
    matrix: axes.optional().describe('lists of values; all combinations are rendered for every row'),
    zip: axes.optional().describe('lists of equal length, combined position by position'),
    seeds: count(1, 1000, 'seeds of each scene')
      .optional()
      .describe('the number of seeds for each scene, from 1 to 1000'),
    until: condition
      .optional()
      .describe('sends the next seed only if this condition over `output.values` is not met'),
    exclude: z
      .array(excluded, 'a list of combinations, such as [{style: ink, steps: 1}]')
      .default([])
      .describe('combinations that are left out'),
    from: filePath.optional().describe('the pipeline.yaml of another batch: its saved pictures are the list'),
    keep: condition.optional().describe('with `from`: a condition that a scene must meet, as `list --where`'),
    ids: filePath
      .optional()
      .describe(
        'with `from`: a file with the ids of the scenes to take, one a line; `marks`: what is starred',
      ),
    best: best.optional().describe('with `from`: the best of each group, once all of its scenes are settled'),
  })
  .superRefine(({ from, matrix = [], zip = [], seeds, until, ...others }, context) => {
    const report = (path: PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    if (from === undefined && matrix.length + zip.length === 0 && seeds === undefined)
      report([], 'at least one list in matrix or zip, or seeds, or from');
    for (const key of choosing)
      if (from === undefined && others[key] !== undefined)
        report([key], '`from` as well: the pipeline.yaml of the batch that it chooses from');
    if (until !== undefined && seeds === undefined) report(['until'], 'seeds as well: the number to try');
    for (const [name] of zip)
      if (matrix.some(([other]) => other === name)) report(['zip', name], 'a name that matrix does not have');
    const own = matrix.some(([name]) => name === 'seed') ? 'matrix' : 'zip';
    if (seeds !== undefined && [...matrix, ...zip].some(([name]) => name === 'seed'))
      report([own, 'seed'], 'another name, or no seeds: seeds also make a column seed');
  });

interface Named {
  /** Words that follow "expected" in a message. */
  expected: string;
  /** JSON Schema of each value. */
  json: JsonObject;
  /** Names that the program uses itself. */
  taken?: string[];
}

/** Schema for an object with the user's own names, in order. A record of zod would lose __proto__. */
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
        if (['', '__proto__'].includes(name)) report([], 'another name: no column can have this one');
        if (taken.includes(name)) report([], `another name: ${taken.join(' and ')} are set by the program`);
        const read = each.safeParse(value);
        if (read.success) found.push([name, read.data]);
        else for (const { path, message } of read.error.issues) report(path, message);
      }
      return found;
    });
}

type Report = (message: string, path?: (string | number)[]) => AxisSource;

function readList(list: unknown[], report: Report): AxisSource {
  if (list.length === 0) return report('a list with at least one value');
  const values: JsonValue[] = [];
  for (const [index, value] of list.entries()) {
    if (typeof value === 'string' && isRange(value))
      report('a value; a range cannot be part of a list', [index]);
    else if (isValue(value)) values.push(value);
    else report('a text, a number, true or false', [index]);
  }
  return { kind: 'values', values };
}

function isValue(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
}

function readFile(given: object, report: Report): AxisSource {
  const { file, column, ...others } = given as Record<string, unknown>;
  for (const key of Object.keys(others)) report('only the keys `file` and `column`', [key]);
  if (typeof file !== 'string' || file === '') return report('a path, such as {file: styles.txt}', ['file']);
  if (column !== undefined && (typeof column !== 'string' || column === ''))
    return report('the name of a column of the file', ['column']);
  return { kind: 'file', path: file, column };
}
