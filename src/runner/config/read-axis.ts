/** The values of an axis of `scenes`, as pipeline.yaml gives them: a list, a range, or a file. */
import { z } from 'zod';
import { isJsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isRange, rangePattern, readRange } from '../../lib/text/range.ts';

/** Where an axis takes its values from. */
export type AxisSource =
  | { kind: 'values'; values: JsonValue[] }
  /** `column` is undefined where the file has one alone. */
  | { kind: 'file'; path: string; column: string | undefined };

const expected =
  'a list of values, a range such as 1..10 or 1..100 step 5, or a file such as {file: styles.txt}';

/** A list's value, as JSON Schema has it. */
export const valueJson = {
  anyOf: [{ type: 'string', minLength: 1 }, { type: 'number' }, { type: 'boolean' }],
};

/** The same of all that an axis may be. */
export const axisJson = {
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

/** A problem is told with its path below the axis. */
export const axisSource = z.unknown().transform((given, context): AxisSource => {
  const report = (message: string, path: (string | number)[] = []): AxisSource => {
    context.addIssue({ code: 'custom', message, path });
    return z.NEVER;
  };
  if (Array.isArray(given)) return readList(given, report);
  if (isJsonObject(given)) return readFile(given, report);
  const range = typeof given === 'string' ? readRange(given) : undefined;
  if (range === undefined) return report(expected);
  return 'values' in range ? { kind: 'values', values: range.values } : report(range.expected);
});

type Report = (message: string, path?: (string | number)[]) => AxisSource;

function readList(list: unknown[], report: Report): AxisSource {
  if (list.length === 0) return report('a list with at least one value');
  const values: JsonValue[] = [];
  for (const [index, value] of list.entries()) {
    if (typeof value === 'string' && isRange(value))
      report('a value; a range stands alone, not in a list', [index]);
    else if (isValue(value)) values.push(value);
    else report('a text, a number, true or false', [index]);
  }
  return { kind: 'values', values };
}

export function isValue(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
}

function readFile(given: object, report: Report): AxisSource {
  const { file, column, ...others } = given as Record<string, unknown>;
  for (const key of Object.keys(others)) report('the keys file and column alone', [key]);
  if (typeof file !== 'string' || file === '') return report('a path, such as {file: styles.txt}', ['file']);
  if (column !== undefined && (typeof column !== 'string' || column === ''))
    return report('the name of a column of the file', ['column']);
  return { kind: 'file', path: file, column };
}
