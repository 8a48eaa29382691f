/** Liquid as templates may use it: strict, the same result on every start, without access to files but by `file_base64`. */
import { Liquid, type Context } from 'liquidjs';

const limits = { parseLimit: 1_000_000, renderLimit: 1_000, memoryLimit: 50_000_000 };

/** `escape`, if given, is applied to the value of every placeholder. */
export function makeEngine(escape?: (value: unknown) => string): Liquid {
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
export type TakeFile = (path: unknown, folder: unknown) => string;

const takeFileKey = Symbol('takeFile');

/** What a rendering is given, so that its files are taken by `takeFile`. */
export function filesTakenBy(takeFile: TakeFile | undefined): { globals: object } {
  return { globals: takeFile === undefined ? {} : { [takeFileKey]: takeFile } };
}

function sendFile(this: { context: Context }, path: unknown, folder: unknown): string {
  const { [takeFileKey]: takeFile } = this.context.globals as { [takeFileKey]?: TakeFile };
  if (takeFile === undefined)
    throw new Error('file_base64 sends a file, and only values under input are sent');
  return takeFile(path, folder);
}

/** A text that differs with every start would render the whole list again. */
function refuseNow(engine: Liquid, name: string): void {
  const filter = engine.filters[name];
  if (typeof filter !== 'function') throw new Error(`no function: the filter ${name}`);
  engine.registerFilter(name, function (value: unknown, ...args: unknown[]): unknown {
    if (value === 'now' || value === 'today') {
      throw new Error(`the date ${JSON.stringify(value)} would make another text on every start`);
    }
    return filter.call(this, value, ...args) as unknown;
  });
}
