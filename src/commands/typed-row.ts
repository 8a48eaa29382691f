/** A row with the values of its declared columns read as what they were declared to be. */
import { didYouMean } from '../lib/text/closest.ts';
import type { Config } from '../runner/config/config.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { listed, TemplateError } from '../runner/config/template.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import { typedColumn, type ColumnType } from '../runner/core/typed-column.ts';

/** Throws `TemplateError`, its message for the row's author, where a value is none of the declared type. */
export function typedRow(columns: JsonObject, types: Config['columns']): JsonObject {
  if (types.size === 0) return columns;
  const typed = { ...columns };
  for (const [name, type] of types) {
    const value = Object.hasOwn(columns, name) ? columns[name] : undefined;
    if (value !== undefined) typed[name] = typedValue(value, type, `the column ${JSON.stringify(name)}`);
  }
  return typed;
}

/** Throws as above; `name` begins the message. */
export function typedValue(value: JsonValue, type: ColumnType, name: string): JsonValue {
  const read = typedColumn(value, type);
  if ('value' in read) return read.value;
  throw new TemplateError(`${name} is ${shown(value)}; expected ${read.expected}`);
}

/** Problems at the declarations of columns that no manifest has. */
export function undeclared({ columns, placeOf }: Config, there: ReadonlySet<string>): Problem[] {
  return [...columns.keys()]
    .filter((name) => !there.has(name))
    .map((name) => {
      const hint = didYouMean(name, there) ?? `there is ${listed([...there])}`;
      const text = `the manifest has no column ${JSON.stringify(name)}; ${hint}`;
      return { where: placeOf(['columns', name], true), text };
    });
}

const maxLength = 80;

export function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}
