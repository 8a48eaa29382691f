/** What each job is sent: the `input` of pipeline.yaml with its placeholders, applied to a row. */
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { compileTemplate, TemplateError, type Template } from './template.ts';

export interface InputTemplate {
  /** As written, with its variables, as JSON. */
  text: string;
  /** The columns it speaks of, with the path of the value that does. */
  columns: { name: string; path: (string | number)[] }[];
  /** Throws `TemplateError`, its message for the row's author. */
  render(columns: JsonObject): JsonObject;
}

interface Leaf {
  path: (string | number)[];
  template: Template;
}

/** A value that cannot be compiled is told to `report` with its path. */
export function compileInput(
  input: JsonObject,
  report: (path: (string | number)[], text: string) => void,
): InputTemplate {
  const leaves: Leaf[] = [];
  const compileText = (text: string, path: (string | number)[]): ((row: JsonObject) => JsonValue) => {
    try {
      const template = compileTemplate(text);
      if (template.names.length > 0) leaves.push({ path, template });
      return template.render;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      report(path, error.message);
      return () => text;
    }
  };
  const render = compileValue(input, ['input'], compileText) as (row: JsonObject) => JsonObject;
  const described = describingLeaves(leaves);
  return {
    text: JSON.stringify(input),
    columns: leaves.flatMap(({ path, template }) => template.names.map((name) => ({ name, path }))),
    render: (row) => {
      const rendered = render(row);
      for (const leaf of described) assertDescribed(rendered, leaf, row);
      return rendered;
    },
  };
}

/** Without an `input`, the column `scene` or `prompt` in any case is sent under that key. */
export function defaultInput(columns: string[]): JsonObject | undefined {
  for (const key of ['scene', 'prompt']) {
    const column = columns.find((name) => name === key) ?? columns.find((name) => name.toLowerCase() === key);
    if (column !== undefined) return { [key]: `{{ [${JSON.stringify(column)}] }}` };
  }
  return undefined;
}

function compileValue(
  value: JsonValue,
  path: (string | number)[],
  compileText: (text: string, path: (string | number)[]) => (row: JsonObject) => JsonValue,
): (row: JsonObject) => JsonValue {
  if (typeof value === 'string') return compileText(value, path);
  if (Array.isArray(value)) {
    const items = value.map((item, i) => compileValue(item, [...path, i], compileText));
    return (row) => items.map((item) => item(row));
  }
  if (!isJsonObject(value)) return () => value;
  const entries = Object.entries(value).map(
    ([key, item]) => [key, compileValue(item, [...path, key], compileText)] as const,
  );
  return (row) => Object.fromEntries(entries.map(([key, item]) => [key, item(row)]));
}

/** The values that describe the scene: those called so, else the first that speaks of a column. */
function describingLeaves(leaves: Leaf[]): Leaf[] {
  const named = leaves.filter(({ path }) => isDescribing(String(path.at(-1))));
  return named.length > 0 ? named : leaves.slice(0, 1);
}

function isDescribing(name: string): boolean {
  return ['scene', 'prompt'].includes(name.toLowerCase());
}

/** An empty description makes a row that asks for nothing; words around an empty column do not fill it. */
function assertDescribed(input: JsonObject, { path, template }: Leaf, row: JsonObject): void {
  const rendered = path.slice(1).reduce<unknown>((inner, key) => (inner as JsonObject)[key], input);
  if (isEmpty(rendered)) throw new TemplateError(`the ${String(path.at(-1))} is empty`);
  // Filters and tags may have an answer to an empty column, such as a default.
  if (!template.isPlain || template.names.length === 0) return;
  const named = template.names.filter(isDescribing);
  const columns = named.length > 0 ? named : template.names;
  if (columns.every((name) => isEmpty(row[name]))) {
    throw new TemplateError(`the column ${columns.join(', ')} is empty`);
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
}
