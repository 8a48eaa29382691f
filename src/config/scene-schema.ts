/** The keys of pipeline.yaml that say what the columns are: their types. */
import { z } from 'zod';
import { isJsonObject } from '../core/json.ts';
import { columnTypes } from '../core/typed-column.ts';

const columnType = z.enum(columnTypes, 'number, boolean or json');

export const columns = named(columnType, 'columns with their types, such as {steps: number, hd: boolean}');

/** Names that are the user's own, in the order of the file; a record of zod would lose __proto__ without a word. */
function named<T>(each: z.ZodType<T>, expected: string) {
  return z.custom<object>(isJsonObject, expected).transform((object, context) => {
    const found: [string, T][] = [];
    for (const [name, value] of Object.entries(object)) {
      const report = (path: PropertyKey[], message: string): void =>
        context.addIssue({ code: 'custom', path: [name, ...path], message });
      if (name === '__proto__') report([], 'another name: no column can be called so');
      const read = each.safeParse(value);
      if (read.success) found.push([name, read.data]);
      else for (const { path, message } of read.error.issues) report(path, message);
    }
    return found;
  });
}
