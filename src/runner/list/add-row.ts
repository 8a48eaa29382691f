/** Turns a row into scenes: typed, multiplied, rendered and added to the checked list. A row that cannot be rendered is added as invalid. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { ConfigError, type Problem } from '../../lib/yaml/problem.ts';
import type { CheckedList } from '../checkpoint/checked-list.ts';
import type { Config } from '../config/config.ts';
import type { InputTemplate } from '../config/input-template.ts';
import { TemplateError } from '../config/template.ts';
import {
  type Combination,
  combinations,
  equalRows,
  expandRow,
  type Expansion,
  maxExpanded,
  scenesPerRow,
  seedNumberColumn,
  typedColumn,
  valueText,
} from '../core/expansion.ts';
import { type SentFile, withoutPaths } from '../core/file-text.ts';
import type { RepeatedRows } from '../core/batch-plan.ts';
import { fingerprintOf, type Scene, sceneIdOf } from '../core/scene.ts';
import type { ManifestEntry } from '../manifest/read-manifest.ts';
import { placeholder } from './scene-columns.ts';
import { typedValue } from './read-expansion.ts';

export interface RowAdder {
  config: Config;
  list: CheckedList;
  signal: AbortSignal;
  /** Undefined if each row is one scene. */
  expansion: Expansion | undefined;
  /** Throws `TemplateError` if no name can be made for a picture of the row. */
  checkName: (columns: JsonObject) => void;
  /** Returns how many rows with this fingerprint all manifests had so far, including this row. */
  countEqual: (fingerprint: string) => number;
  /** Shared by the rows of all manifests. */
  inputs: RowInputs;
  repeats: RepeatCounter;
  /** Position of the latest scene; 1 for the first of all manifests. */
  position: number;
}

/**
 * Stages the scenes of a row: at once (undefined) or by a promise. Throws the reason of the signal and
 * `ConfigError`.
 */
export function addRow(
  adder: RowAdder,
  entry: ManifestEntry,
  source: string,
  input: InputTemplate | undefined,
): Promise<void> | undefined {
  if (entry.kind === 'bad') {
    addBad(adder, source, entry.problem, entry.id);
    return undefined;
  }
  let id: string | undefined;
  try {
    id = readId(entry.columns['id']);
    const columns = typedRow(entry.columns, adder.config.columns);
    if (input === undefined) throw new TemplateError('it has no column scene or prompt');
    const { picture } = entry;
    if (adder.expansion !== undefined)
      return addExpanded(adder, adder.expansion, { id, columns, source, picture }, input);
    const scene = renderScene(adder, { columns, picture }, input);
    adder.inputs.add(scene.fingerprint, columns, input);
    const isCounted = id === undefined && adder.config.skipRepeatedRows;
    const occurrence = isCounted ? adder.countEqual(scene.fingerprint) : 1;
    if (!adder.repeats.isLeftOut(scene.fingerprint)) addScene(adder, { id, columns, source }, scene);
    else adder.list.leaveOut(id ?? sceneIdOf(scene.fingerprint, occurrence));
  } catch (error) {
    addBad(adder, source, problemIn(error), id);
  }
  return undefined;
}

/** `id`: undefined if the row has none of its own. */
type Row = Pick<Scene, 'columns' | 'source'> & { id: string | undefined; picture: SentFile | undefined };

/** Returns undefined if the row has no `id` column, so that it is identified by its input. */
function readId(id: JsonValue | undefined): string | undefined {
  if (id === undefined) return undefined;
  if (typeof id === 'object' && id !== null) throw new TemplateError('the id must be a text or a number');
  const text = id === null ? '' : String(id).trim();
  if (text === '') throw new TemplateError('the id is empty');
  return text;
}

/** Scenes per turn of the event loop: one row may have millions. */
const sliceScenes = 500;

async function addExpanded(
  adder: RowAdder,
  expansion: Expansion,
  row: Row,
  input: InputTemplate,
): Promise<void> {
  const own = ownFingerprint(row.columns, input);
  const rowId = row.id ?? idOfRow(adder, row.columns, own);
  const reported = new Set<string>();
  let count = 0;
  let isLeftOut: boolean | undefined;
  for (const { id, columns, seedNumber } of expandRow(rowId, combinationsOf(expansion), expansion)) {
    const source = `${row.source} (${shownAxes(columns)})`;
    try {
      const number = seedNumber === undefined ? {} : { [seedNumberColumn]: seedNumber };
      const scene = { id, columns: { ...number, ...row.columns, ...columns }, source, picture: row.picture };
      const made = renderScene(adder, scene, input);
      if (isLeftOut === undefined) {
        adder.inputs.add(made.fingerprint, row.columns, input);
        isLeftOut = adder.repeats.isLeftOut(own);
      }
      if (isLeftOut) adder.list.leaveOut(id);
      else addScene(adder, scene, made);
    } catch (error) {
      const problem = problemIn(error);
      // A problem of the row itself shows with every scene of it, so it is reported once.
      if (!reported.has(problem)) addBad(adder, source, problem, id);
      reported.add(problem);
    }
    count += 1;
    if (count % sliceScenes !== 0 && !input.sendsFiles) continue;
    await nextTurn();
    adder.signal.throwIfAborted();
  }
}

/** Returns a fingerprint of what the row adds to the input. Its place and columns that are not sent do not count. */
function ownFingerprint(columns: JsonObject, input: InputTemplate): string {
  const sent = new Set(input.columns.map(({ name }) => name));
  return fingerprintOf(Object.fromEntries(Object.entries(columns).filter(([name]) => sent.has(name))));
}

/** Returns '' if there is no row. */
function idOfRow({ countEqual }: RowAdder, columns: JsonObject, fingerprint: string): string {
  return Object.keys(columns).length === 0 ? '' : sceneIdOf(fingerprint, countEqual(fingerprint));
}

const fewEnoughToKeep = 10_000;
const kept = new WeakMap<Expansion, Combination[]>();

function combinationsOf(expansion: Expansion): Iterable<Combination> {
  if (scenesPerRow(expansion) > fewEnoughToKeep) return combinations(expansion);
  const known = kept.get(expansion) ?? [...combinations(expansion)];
  kept.set(expansion, known);
  return known;
}

const maxShownLength = 40;

function shownAxes(columns: JsonObject): string {
  return Object.entries(columns)
    .map(([name, value]) => {
      const text = valueText(value);
      return `${name} ${text.length > maxShownLength ? `${text.slice(0, maxShownLength - 1)}…` : text}`;
    })
    .join(', ');
}

type RenderedScene = Pick<Scene, 'input' | 'fingerprint'>;

/** Throws `TemplateError`. */
function renderScene(
  adder: RowAdder,
  { columns, picture }: Pick<Row, 'columns' | 'picture'>,
  input: InputTemplate,
): RenderedScene {
  const rendered = input.render(columns, picture);
  adder.checkName(columns);
  return {
    input: rendered,
    fingerprint: fingerprintOf(input.sendsFiles ? withoutPaths(rendered) : rendered),
  };
}

function addScene(adder: RowAdder, row: Omit<Row, 'picture'>, scene: RenderedScene): void {
  adder.position += 1;
  if (adder.expansion !== undefined && adder.position > maxExpanded) throw tooMany(adder.config);
  const { id, columns, source } = row;
  adder.list.add({ columns, source, ...scene, position: adder.position }, id);
}

function addBad(adder: RowAdder, source: string, problem: string, id: string | undefined): void {
  adder.position += 1;
  adder.list.addBad({ position: adder.position, source, problem, ...(id !== undefined && { id }) });
}

function problemIn(error: unknown): string {
  if (error instanceof TemplateError) return error.message;
  throw error;
}

function tooMany({ placeOf }: Config): ConfigError {
  const text = `the manifest and these lists make more than ${maxExpanded.toLocaleString('en')} scenes; expected fewer rows, or shorter lists`;
  return new ConfigError([{ where: placeOf(['scenes'], true), text }]);
}

/** Counts rows that add the same to the input as an earlier row, such as a prompt that is in the list twice. */
export class RepeatCounter {
  readonly #isSkipping: boolean;
  readonly #isFirst: (fingerprint: string) => boolean;
  #rows = 0;

  /** A row is left out only if its whole fingerprint is equal. For a count, 48 bits of it are enough. */
  constructor(isSkipping: boolean, list: CheckedList) {
    const count = equalRows();
    this.#isSkipping = isSkipping;
    this.#isFirst = isSkipping
      ? (fingerprint) => list.isFirst(fingerprint)
      : (fingerprint) => count(fingerprint) === 1;
  }

  /** Counts the row, and returns true if it is left out. Call once for each row. */
  isLeftOut(fingerprint: string): boolean {
    if (this.#isFirst(fingerprint)) return false;
    this.#rows += 1;
    return this.#isSkipping;
  }

  get result(): RepeatedRows | undefined {
    return this.#rows === 0 ? undefined : { rows: this.#rows, isSkipped: this.#isSkipping };
  }
}

/** Finds columns of numbers that are sent as text, which many services refuse. */
export class NumberTexts {
  /** First number in each column that is sent on its own; undefined until there is one. */
  readonly #first = new Map<string, string | undefined>();

  constructor({ input, columns }: Config) {
    for (const { name, path } of input?.columns ?? [])
      if (
        !columns.has(name) &&
        isAlone(valueAt(JSON.parse(input?.text ?? 'null') as JsonValue, path.slice(1)))
      )
        this.#first.set(name, undefined);
  }

  add(columns: JsonObject): void {
    for (const [name, first] of this.#first) {
      const value = columns[name];
      if (value === undefined || value === '') continue;
      if (typeof value === 'string' && 'value' in typedColumn(value, 'number'))
        this.#first.set(name, first ?? value);
      else this.#first.delete(name);
    }
  }

  remarks(): string[] {
    const found = [...this.#first].flatMap(([name, first]) => (first === undefined ? [] : [{ name, first }]));
    return found.map(
      ({ name, first }) =>
        `the column ${name} holds numbers and is sent as text, such as ${JSON.stringify(first)}; if the service expects numbers, add columns: { ${JSON.stringify(name)}: number } to pipeline.yaml`,
    );
  }
}

function isAlone(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && /^\{\{[^{}]*\}\}$/.test(value.trim());
}

function valueAt(value: JsonValue | undefined, [key, ...rest]: (string | number)[]): JsonValue | undefined {
  if (key === undefined || typeof value !== 'object' || value === null)
    return key === undefined ? value : undefined;
  return valueAt(Array.isArray(value) ? value[Number(key)] : value[key], rest);
}

/** Compares what the first scenes send: a slip such as `{ prompt }` would be paid for in every row. */
export class RowInputs {
  #rows = 0;
  #first = { fingerprint: '', named: '' };
  #isSame = true;
  #isNamedSame = true;

  add(fingerprint: string, columns: JsonObject, { columns: spoken }: InputTemplate): void {
    this.#rows += 1;
    if (!this.#isSame) return;
    const own = spoken.filter(({ name }) => Object.hasOwn(columns, name));
    const named = canonicalJson(Object.fromEntries(own.map(({ name }) => [name, columns[name] ?? null])));
    if (this.#rows === 1) this.#first = { fingerprint, named };
    this.#isSame = fingerprint === this.#first.fingerprint;
    this.#isNamedSame &&= named === this.#first.named;
  }

  /** Returns no problem if the columns that `input` uses are equal too, because then equal inputs are meant. */
  problems({ input, placeOf }: Config, columns: readonly string[]): Problem[] {
    const isMeant = this.#isNamedSame && this.#first.named !== '{}';
    if (this.#rows < 2 || !this.#isSame || isMeant || input === undefined) return [];
    const same = `all ${this.#rows.toLocaleString('en')} rows send the same input`;
    const slip = findSlip(JSON.parse(input.text) as JsonValue, ['input'], columns);
    if (slip !== undefined) {
      const text = `${slip.written} is not a placeholder, and ${same}; did you mean ${placeholder(slip.column)}?`;
      return [{ where: placeOf(slip.path), text }];
    }
    const column = columns.find((name) => !['id', 'seed'].includes(name.toLowerCase())) ?? 'id';
    const text = `${same}, whatever their columns hold; use a column, such as ${placeholder(column)}. For several pictures of one input, keep one row and add scenes: {seeds: ${Math.min(this.#rows, 1_000)}} and seed: '{{ seed }}'`;
    return [{ where: placeOf(['input'], true), text }];
  }
}

interface Slip {
  path: (string | number)[];
  /** The text as written: the column's name, at most with brackets around it. */
  written: string;
  column: string;
}

/** Finds a column written as in the templates of other programs. */
function findSlip(value: JsonValue, path: (string | number)[], columns: readonly string[]): Slip | undefined {
  if (typeof value === 'object' && value !== null) {
    const inner = Array.isArray(value)
      ? [...value.entries()]
      : Object.entries(isJsonObject(value) ? value : {});
    for (const [key, item] of inner) {
      const found = findSlip(item, [...path, key], columns);
      if (found !== undefined) return found;
    }
  }
  if (typeof value !== 'string') return undefined;
  for (const column of columns) {
    const name = column.replaceAll(/[^\w ]/g, String.raw`\$&`);
    const forms = [
      `(?<!\\{)\\{ *${name} *\\}(?!\\})`,
      `\\$${name}\\b`,
      `%\\(${name}\\)s?`,
      `%${name}%`,
      `<${name}>`,
    ];
    const found = new RegExp(`${forms.join('|')}|\\[${name}\\]|^${name}$`, 'i').exec(value);
    if (found !== null) return { path, written: found[0], column };
  }
  return undefined;
}

/** Throws `TemplateError`, with a message for the row's author, if a value does not have the declared type. */
function typedRow(columns: JsonObject, types: Config['columns']): JsonObject {
  if (types.size === 0) return columns;
  const typed = { ...columns };
  for (const [name, type] of types) {
    const value = Object.hasOwn(columns, name) ? columns[name] : undefined;
    if (value !== undefined) typed[name] = typedValue(value, type, `the column ${JSON.stringify(name)}`);
  }
  return typed;
}
