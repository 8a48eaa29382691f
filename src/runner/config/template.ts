/** Text with `{{ column }}` placeholders: Liquid, strict, without access to files or code. */
import {
  Context,
  Drop,
  LiquidError,
  Output,
  toValueSync,
  TypeGuards,
  type Template as Part,
  Liquid,
} from 'liquidjs';
import { closest } from '../../lib/text/closest.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

/** A template that cannot be understood, or cannot be rendered with the values at hand. */
export class TemplateError extends Error {}

export interface Template {
  /** As written. */
  text: string;
  /** The names it uses, each once. */
  names: string[];
  /** It is made of text and columns alone, so that nothing but a column that is not there can go wrong. */
  isPlain: boolean;
  /**
   * Renders with values by name; a template that is one placeholder alone gives the value as it is. Files that are to be
   * sent are given to `takeFile`. Throws `TemplateError`.
   */
  render(values: JsonObject, takeFile?: TakeFile): JsonValue;
  /** Renders to text. Throws `TemplateError`. */
  renderText(values: JsonObject): string;
}

/** `escape`, if given, is applied to the text of every placeholder. Throws `TemplateError`. */
export function compileTemplate(text: string, escape?: (value: string) => string): Template {
  if (!/\{[{%]/.test(text))
    return { text, names: [], isPlain: true, render: () => text, renderText: () => text };
  const parts = explained(() => plainEngine.parse(text));
  for (const part of parts) assertOneValue(part);
  const names = explained(() => plainEngine.globalVariablesSync(parts));
  const pieces = piecesOf(parts);
  const shown = (value: unknown): string => (escape === undefined ? textOf(value) : escape(textOf(value)));
  const renderText = pieces === undefined ? liquidText(text, shown) : joined(pieces, shown);
  const [only] = parts;
  const isAlone = parts.length === 1 && only instanceof Output && escape === undefined;
  return {
    text,
    names,
    isPlain: pieces !== undefined,
    renderText,
    render: isAlone ? valueOf(only, pieces?.[0]) : renderText,
  };
}

const limits = { parseLimit: 1_000_000, renderLimit: 1_000, memoryLimit: 50_000_000 };

const plainEngine = makeEngine();

type Piece = string | { column: string };

/** Most templates are text and columns: at a million rows these need a way around the engine. */
function piecesOf(parts: Part[]): Piece[] | undefined {
  const pieces = parts.map((part): Piece | undefined => {
    if (TypeGuards.isHTMLToken(part.token)) return part.token.getContent();
    const [names = [], ...others] = plainEngine.globalVariableSegmentsSync([part]);
    const [column, ...inner] = names;
    const isColumn = isBareColumn(part) && others.length + inner.length === 0;
    return isColumn && typeof column === 'string' ? { column } : undefined;
  });
  return pieces.every((piece) => piece !== undefined) ? pieces : undefined;
}

function isBareColumn(part: Part): boolean {
  if (!(part instanceof Output)) return false;
  const { filters, initial } = part.value;
  const [first, ...rest] = initial.postfix;
  return filters.length + rest.length === 0 && TypeGuards.isPropertyAccessToken(first);
}

function joined(pieces: Piece[], shown: (value: unknown) => string): (values: JsonObject) => string {
  return (values) => {
    let text = '';
    for (const piece of pieces)
      text += typeof piece === 'string' ? piece : shown(columnOf(values, piece.column));
    return text;
  };
}

function liquidText(
  text: string,
  shown: (value: unknown) => string,
): (values: JsonObject, takeFile?: TakeFile) => string {
  const engine = makeEngine(shown);
  const parts = explained(() => engine.parse(text));
  return (values, takeFile) =>
    explained(() => String(engine.renderSync(parts, values, filesTakenBy(takeFile))), values);
}

function valueOf(
  part: Output,
  piece: Piece | undefined,
): (values: JsonObject, takeFile?: TakeFile) => JsonValue {
  if (typeof piece === 'object') return (values) => columnOf(values, piece.column);
  return (values, takeFile) =>
    explained(() => {
      const context = new Context(values, plainEngine.options, { sync: true, ...filesTakenBy(takeFile) });
      return (plainOf(toValueSync(part.value.value(context, false))) as JsonValue | undefined) ?? null;
    }, values);
}

function columnOf(values: JsonObject, column: string): JsonValue {
  const value = Object.hasOwn(values, column) ? values[column] : undefined;
  if (value === undefined) throw notThere(column, values);
  return value;
}

function textOf(given: unknown): string {
  const value = plainOf(given);
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function plainOf(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TemplateError('it gives a number that JSON cannot represent');
  // `empty` and `blank` are objects of Liquid's own.
  return value instanceof Drop ? value.valueOf() : value;
}

/** Liquid takes `{{ a b }}` for b, and `{{ My Column }}` for two columns. */
function assertOneValue(part: Part): void {
  if (!(part instanceof Output)) return;
  let values = 0;
  for (const token of part.value.initial.postfix) {
    if (!TypeGuards.isOperatorToken(token)) values += 1;
    else if (token.operator !== 'not') values -= 1;
  }
  if (values <= 1) return;
  const text =
    'a placeholder has more than one value; write a column with a space in its name as {{ ["My Column"] }}';
  throw new TemplateError(text);
}

function explained<T>(work: () => T, values?: JsonObject): T {
  try {
    return work();
  } catch (error) {
    if (!LiquidError.is(error)) throw error;
    const message = messageOf(error);
    const [, name] = /^undefined variable: (.*)$/.exec(message) ?? [];
    throw name === undefined || values === undefined ? new TemplateError(message) : notThere(name, values);
  }
}

/** Liquid's, without the pieces of the text that it cuts out: they may hold half of a key. */
function messageOf(error: Error): string {
  const [line = ''] = error.message.split('\n');
  return line
    .replace(/, line:\d+, col:\d+$/, '')
    .replace(/^output ".*" not closed$/, '{{ without }}')
    .replace(/^(tag|raw) ".*" not closed$/, '{% without %}')
    .replace(/^(invalid value expression|unexpected (?:token|character)):? ".*"/, '$1');
}

function notThere(name: string, values: JsonObject): TemplateError {
  const columns = Object.keys(values);
  const word = closest(name, columns);
  const hint =
    word === undefined ? `the columns are ${listed(columns)}` : `did you mean ${JSON.stringify(word)}?`;
  return new TemplateError(`there is no column ${JSON.stringify(name)}; ${hint}`);
}

const maxListed = 30;

/** Names for people, of a list that may be long. */
export function listed(names: string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - maxListed;
  return names.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** `escape`, if given, is applied to the value of every placeholder. */
function makeEngine(escape?: (value: unknown) => string): Liquid {
  const engine = new Liquid({
    ...limits,
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    templates: {},
    // The same on every machine: what a template gives is part of a scene's identity.
    timezoneOffset: 0,
    locale: 'en-US',
    ...(escape !== undefined && { outputEscape: escape }),
  });
  for (const tag of ['include', 'render', 'layout', 'block']) delete engine.tags[tag];
  delete engine.filters['sample'];
  for (const name of Object.keys(engine.filters).filter((filter) => filter.startsWith('date'))) {
    refuseNow(engine, name);
  }
  engine.registerFilter('file_base64', sendFile);
  return engine;
}

/** Stands for the file of this path in a text, until it is known what becomes of the text. */
type TakeFile = (path: unknown, folder: unknown) => string;

const takeFileKey = Symbol('takeFile');

/** What a rendering is given, so that its files are taken by `takeFile`. */
function filesTakenBy(takeFile: TakeFile | undefined): { globals: object } {
  return { globals: takeFile === undefined ? {} : { [takeFileKey]: takeFile } };
}

function sendFile(this: { context: Context }, path: unknown, folder: unknown): string {
  const { [takeFileKey]: takeFile } = this.context.globals as { [takeFileKey]?: TakeFile };
  if (takeFile === undefined) throw new Error('file_base64 works under input only');
  return takeFile(path, folder);
}

/** A text that differs with every start would render the whole list again. */
function refuseNow(engine: Liquid, name: string): void {
  const filter = engine.filters[name];
  if (typeof filter !== 'function') throw new Error(`no function: the filter ${name}`);
  engine.registerFilter(name, function (value: unknown, ...args: unknown[]): unknown {
    if (value === 'now' || value === 'today') {
      throw new Error(`the date ${JSON.stringify(value)} would give another text on every start`);
    }
    return filter.call(this, value, ...args) as unknown;
  });
}
