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
import type { FileFilter } from '../core/file-text.ts';
import { portablePath, portableSegment } from '../core/naming.ts';

/** Thrown if a template cannot be parsed, or cannot be rendered with the given values. */
export class TemplateError extends Error {}

export interface Template {
  text: string;
  /** Names that the template uses, without duplicates. */
  names: string[];
  /** True if it consists only of text and columns, so that only a missing column can make it fail. */
  isPlain: boolean;
  /**
   * Renders with values by name. A single placeholder keeps its type. Gives files to `takeFile`. Throws
   * `TemplateError`.
   */
  render(values: JsonObject, takeFile?: TakeFile): JsonValue;
  /** Renders to text. Throws `TemplateError`. */
  renderText(values: JsonObject): string;
}

/** `escape` is applied to the text of every placeholder. Throws `TemplateError`. */
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

/** Compiles the name of a file. Only the template's own slashes make folders. Throws `TemplateError`. */
export function compileName(text: string): Template {
  const template = compileTemplate(text, portableSegment);
  return { ...template, renderText: (values) => portablePath(template.renderText(values)) };
}

const limits = { parseLimit: 1_000_000, renderLimit: 1_000, memoryLimit: 50_000_000 };

const plainEngine = makeEngine();

type Piece = string | { column: string };

/** Returns the text and columns of a simple template, which is rendered without the engine: faster at a million rows. */
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
  // `empty` and `blank` are objects of Liquid.
  return value instanceof Drop ? value.valueOf() : value;
}

/** Refuses several values in one placeholder. Liquid reads `{{ a b }}` as b, and `{{ My Column }}` as two columns. */
function assertOneValue(part: Part): void {
  if (!(part instanceof Output)) return;
  let values = 0;
  for (const token of part.value.initial.postfix) {
    if (!TypeGuards.isOperatorToken(token)) values += 1;
    else if (token.operator !== 'not') values -= 1;
  }
  if (values <= 1) return;
  const text =
    'a placeholder has more than one value; write a column name with a space as {{ ["My Column"] }}';
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

/** Returns Liquid's message without the parts of the text that it quotes, which may contain half of a key. */
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

/** Returns a human-readable list of names, shortened if it is long. */
export function listed(names: string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - maxListed;
  return names.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** `escape` is applied to the value of every placeholder. */
function makeEngine(escape?: (value: unknown) => string): Liquid {
  const engine = new Liquid({
    ...limits,
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    templates: {},
    // Must be the same on every machine, because the rendered text is part of a scene's identity.
    timezoneOffset: 0,
    locale: 'en-US',
    ...(escape !== undefined && { outputEscape: escape }),
  });
  for (const tag of ['include', 'render', 'layout', 'block']) delete engine.tags[tag];
  delete engine.filters['sample'];
  for (const name of Object.keys(engine.filters).filter((filter) => filter.startsWith('date'))) {
    refuseNow(engine, name);
  }
  engine.registerFilter('file_base64', sendFile('file_base64'));
  engine.registerFilter('upload', sendFile('upload'));
  return engine;
}

/** Returns a text that stands for the file at this path, until the whole text is rendered. */
type TakeFile = (path: unknown, folder: unknown, filter: FileFilter) => string;

const takeFileKey = Symbol('takeFile');

/** Returns render options that pass the rendering's files to `takeFile`. */
function filesTakenBy(takeFile: TakeFile | undefined): { globals: object } {
  return { globals: takeFile === undefined ? {} : { [takeFileKey]: takeFile } };
}

function sendFile(filter: FileFilter) {
  return function (this: { context: Context }, path: unknown, folder: unknown): string {
    const { [takeFileKey]: takeFile } = this.context.globals as { [takeFileKey]?: TakeFile };
    if (takeFile === undefined) throw new Error(`${filter} works only in \`input\` and \`endpoint.set\``);
    return takeFile(path, folder, filter);
  };
}

/** Refuses the current date: a text that changes with every start would render the whole list again. */
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
