/** Checks what rows send: if all send the same, and which rows repeat an earlier one. */
import type { ManifestStage } from '../checkpoint/manifest-stage.ts';
import type { Config } from '../config/config.ts';
import type { InputTemplate } from '../config/input-template.ts';
import { equalRows } from '../core/equal-rows.ts';
import { typedColumn } from '../core/typed-column.ts';
import type { RepeatedRows } from '../core/plan.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Problem } from '../../lib/yaml/problem.ts';
import { placeholder } from './scene-columns.ts';

/** Counts rows that add the same to the input as an earlier row, such as a prompt that is in the list twice. */
export class RepeatCounter {
  readonly #isSkipping: boolean;
  readonly #isFirst: (fingerprint: string) => boolean;
  #rows = 0;

  /** A row is left out only if its whole fingerprint is equal. For a count, 48 bits of it are enough. */
  constructor(isSkipping: boolean, stage: ManifestStage) {
    const count = equalRows();
    this.#isSkipping = isSkipping;
    this.#isFirst = isSkipping
      ? (fingerprint) => stage.isFirst(fingerprint)
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

/**
 * Compares what the first scene of each row sends. A slip such as `{ prompt }` is sent without an error, and
 * would be paid for every row.
 */
export class RowInputs {
  #rows = 0;
  #first = { fingerprint: '', named: '' };
  #isSame = true;
  #isNamedSame = true;

  /** `columns`: the row's own columns. */
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
