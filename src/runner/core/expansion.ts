/** Expands rows into scenes: products with lists, ranges, typed values, counts of equal rows, and the rules for reading a list. */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject, type JsonValue, readExactJson } from '../../lib/text/json.ts';
import type { SceneRules } from './scene.ts';

export interface Axis {
  name: string;
  /** Distinct, except in `zip`. */
  values: readonly JsonValue[];
}

export interface Expansion {
  matrix: readonly Axis[];
  /** Axes of equal length that advance together. */
  zip: readonly Axis[];
  /** Rules for combinations to leave out. A combination is left out if it has all values of a rule. */
  exclude: readonly ReadonlyMap<string, JsonValue>[];
  /** Number of seeds of each scene, in the column `seed`. 0 means none. */
  seeds: number;
  seedRules: Pick<SceneRules, 'seedBits' | 'seedsOf'>;
}

/** One value of every axis and, in a scene of a row, one seed. */
export interface Combination {
  columns: JsonObject;
  /** Empty if there is no axis and no row. */
  id: string;
  /** 1 for the first seed of its row and axes. Absent if there are no seeds. */
  seedNumber?: number;
}

export const maxExpanded = 10_000_000;

/** Column for the number of the seed within row and combination, unless the list has that column. */
export const seedNumberColumn = 'seed_number';

export function axisNames({ matrix, zip, seeds }: Named): string[] {
  return [...matrix, ...zip].map(({ name }) => name).concat(seeds > 0 ? ['seed'] : []);
}

interface Named {
  matrix: readonly { name: string }[];
  zip: readonly { name: string }[];
  seeds: number;
}

export function scenesPerRow({ matrix, zip, seeds }: Expansion): number {
  const zipped = zip[0]?.values.length ?? 1;
  return matrix.reduce((count, { values }) => count * values.length, zipped * Math.max(seeds, 1));
}

/** Generates all combinations; the last axis changes fastest. A generator, because there may be millions. */
export function combinations(expansion: Expansion): Generator<Combination> {
  const dimensions = dimensionsOf(expansion);
  const names = [...expansion.matrix, ...expansion.zip].map(({ name }) => name);
  // Sorted, so the id depends neither on the order of the axes nor on whether they are zipped.
  const order = names.map((name, index) => ({ name, index })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const places = order.map(({ index }) => index);
  return walk({ dimensions, places }, [], { depth: 0, rules: expansion.exclude });
}

/** Generates the scenes of a row in the order of its combinations. `rowId` is empty if there is no row. */
export function* expandRow(
  rowId: string,
  chosen: Iterable<Combination>,
  { seeds, seedRules }: Pick<Expansion, 'seeds' | 'seedRules'>,
): Generator<Combination> {
  const rowSeeds = seedRules.seedsOf === 'row' ? seedsOf(rowId, seeds, seedRules.seedBits) : undefined;
  for (const { id: combinationId, columns } of chosen) {
    const id = rowId === '' || combinationId === '' ? rowId + combinationId : `${rowId}-${combinationId}`;
    if (seeds === 0) yield { id, columns };
    const own = rowSeeds ?? seedsOf(id, seeds, seedRules.seedBits);
    for (const [index, seed] of own.entries())
      yield { id: `${id}-s${index + 1}`, columns: { ...columns, seed }, seedNumber: index + 1 };
  }
}

/** Returns a text that is equal for values that `exclude` treats as equal: 25 from a file is a text. */
export function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

interface Choice {
  values: { name: string; value: JsonValue; slug: string; text: string }[];
}

function dimensionsOf({ matrix, zip }: Expansion): Choice[][] {
  const one = ({ name }: Axis, value: JsonValue): Choice['values'][number] => {
    return { name, value, slug: valueSlug(value), text: valueText(value) };
  };
  const dimensions = matrix.map((axis) => axis.values.map((value) => ({ values: [one(axis, value)] })));
  const [first] = zip;
  if (first === undefined) return dimensions;
  const rows = first.values.map((_, at) => ({
    values: zip.map((axis) => one(axis, axis.values[at] ?? null)),
  }));
  return [...dimensions, rows];
}

interface Walk {
  dimensions: Choice[][];
  /** Index of the axis for each part of the id. */
  places: number[];
}

type Rules = readonly ReadonlyMap<string, JsonValue>[];

function* walk(
  all: Walk,
  chosen: Choice['values'],
  { depth, rules }: { depth: number; rules: Rules },
): Generator<Combination> {
  const dimension = all.dimensions[depth];
  if (dimension === undefined) {
    yield combined(all, chosen);
    return;
  }
  for (const choice of dimension) {
    const left = rules.length === 0 ? rules : narrowed(rules, choice);
    if (left.some((rule) => rule.size === 0)) continue;
    yield* walk(all, chosen.concat(choice.values), { depth: depth + 1, rules: left });
  }
}

/** Returns the rules that this choice does not contradict, without the values that it already matches. */
function narrowed(rules: Rules, { values }: Choice): Rules {
  return rules.flatMap((rule) => {
    const left = new Map(rule);
    for (const { name, text } of values) {
      const wanted = rule.get(name);
      if (wanted === undefined) continue;
      if (valueText(wanted) !== text) return [];
      left.delete(name);
    }
    return [left];
  });
}

/** Far below the maximum length of a file name, which leaves space for the row and the ending. */
const maxIdLength = 100;

function combined({ places }: Walk, chosen: Choice['values']): Combination {
  const columns: JsonObject = {};
  for (const { name, value } of chosen) columns[name] = value;
  let id = '';
  for (const index of places) id += `${id === '' ? '' : '-'}${chosen[index]?.slug ?? ''}`;
  return { columns, id: id.length <= maxIdLength ? id : `v~${hash('sha256', id).slice(0, 16)}` };
}

/** Longer texts are distinguished by their hash. */
const maxPlainLength = 32;
const maxHeadLength = 24;

/** Lower case, as some file systems equate `Oil` and `oil`. No underscore, which replaces a space. */
const plainText = /^[a-z0-9]+(?:[. ][a-z0-9]+)*$/;

/** Slugs of numbers and booleans. A text that looks like one of these gets a hash. */
const numberLike = /^(?:m?\d+(?:\.\d+)?|true|false)$/;

/**
 * Returns a slug of lower-case letters, digits, `.`, `_` and `~`, never `-`. It is unique to the value,
 * whatever else is in its list. `oil painting` becomes `oil_painting`, 25 `25` and -0.5 `m0.5`. `Oil` and
 * `"25"` end in `~` and a hash.
 */
export function valueSlug(value: JsonValue): string {
  if (typeof value === 'string') {
    const isPlain = value.length <= maxPlainLength && plainText.test(value) && !numberLike.test(value);
    return isPlain ? value.replaceAll(' ', '_') : hashed(value, value);
  }
  const text = canonicalJson(value);
  const slug = text.replace('-', 'm');
  return numberLike.test(slug) ? slug : hashed(text, value);
}

function hashed(text: string, value: JsonValue): string {
  const words = text
    .slice(0, 4 * maxHeadLength)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_');
  const head = words.slice(0, maxHeadLength).replace(/^_+/, '').replace(/_+$/, '') || 'v';
  return `${head}~${hash('sha256', canonicalJson(value)).slice(0, 10)}`;
}

/** Returns `count` distinct whole numbers from 0 to 2^bits - 1. A larger `count` keeps the first numbers. */
export function seedsOf(of: string, count: number, bits: SceneRules['seedBits']): number[] {
  const seeds = new Set<number>();
  // Duplicates are skipped, because they would make the same picture twice.
  for (let index = 1; seeds.size < count; index++) {
    seeds.add(Number.parseInt(hash('sha256', `${of}\n${index}`).slice(0, 8), 16) % 2 ** bits);
  }
  return [...seeds];
}

/** Types that a column may be declared with. Its values are read strictly and exactly, or rejected. */
export const columnTypes = ['number', 'boolean', 'json'] as const;

export type ColumnType = (typeof columnTypes)[number];

type TypedValue =
  | { value: JsonValue }
  /** Description of a valid value, which follows the word "expected". */
  | { expected: string };

/** Converts a value to the type. Trims a text; an empty one is null. A typed value is accepted if it matches. */
export function typedColumn(value: JsonValue, type: ColumnType): TypedValue {
  const given = typeof value === 'string' ? value.trim() : value;
  if (given === '' || given === null) return { value: null };
  return readers[type](given);
}

const readers: Record<ColumnType, (given: JsonValue) => TypedValue> = {
  number: readNumber,
  boolean: readBoolean,
  json: readJson,
};

/** Numbers as in JSON. 030, +5, .5, 0x10 and NaN are rejected. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readNumber(given: JsonValue): TypedValue {
  if (typeof given === 'number') return { value: given };
  if (typeof given !== 'string' || !jsonNumber.test(given))
    return { expected: 'a number such as 30, -1.5 or 1e3' };
  if (!isExact(given))
    return {
      expected:
        'a number that keeps every digit (2^53 at most); a column that is not declared is sent as text',
    };
  // Adding 0 turns minus zero into zero, because JSON has no minus zero.
  return { value: Number(given) + 0 };
}

function isExact(text: string): boolean {
  const number = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(number);
  return Number.isFinite(number) && digitsOf(text) === digitsOf(String(number));
}

/** Returns a canonical spelling of a number: digits without leading and trailing zeros, and a power of ten. */
function digitsOf(text: string): string {
  const [, whole = '', part = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  return kept === '' ? '0' : `${kept}e${Number(power) - part.length + digits.length - kept.length}`;
}

/** Ignores case, because spreadsheets write TRUE. */
function readBoolean(given: JsonValue): TypedValue {
  if (typeof given === 'boolean') return { value: given };
  const text = typeof given === 'string' ? given.toLowerCase() : '';
  return text === 'true' || text === 'false' ? { value: text === 'true' } : { expected: 'true or false' };
}

function readJson(given: JsonValue): TypedValue {
  if (typeof given !== 'string') return { value: given };
  const { value, problem } = readExactJson(given);
  if (value !== undefined && problem === undefined) return { value };
  return { expected: `JSON, such as {"scale": 0.8} or [1, 2]; it ${problem ?? 'is none'}` };
}

/** Returns a function that counts the rows with a fingerprint so far, this one included, in 16 bytes a row. */
export function equalRows(): (fingerprint: string) => number {
  let seen = new Float64Array(1024);
  let used = 0;
  const repeats = new Map<number, number>();
  return (fingerprint) => {
    // Uses the same 12 characters as `sceneIdOf`. 0 marks an empty slot.
    const key = Number.parseInt(fingerprint.slice(0, 12), 16) + 1;
    const place = placeOf(seen, key);
    if (seen[place] === key) {
      const count = (repeats.get(key) ?? 1) + 1;
      repeats.set(key, count);
      return count;
    }
    seen[place] = key;
    used += 1;
    if (2 * used > seen.length) seen = doubled(seen);
    return 1;
  };
}

/** Returns the index of the key, or its empty slot. Fingerprints are even, so linear probing suffices. */
function placeOf(seen: Float64Array, key: number): number {
  let place = key % seen.length;
  while (seen[place] !== 0 && seen[place] !== key) place = (place + 1) % seen.length;
  return place;
}

function doubled(seen: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * seen.length);
  for (const key of seen) if (key !== 0) larger[placeOf(larger, key)] = key;
  return larger;
}

/** Rules for reading a list, from pipeline.yaml and from the version of the rules that the batch began with. */
export interface ListReading {
  /** Column names of a CSV or TSV file without a header. Undefined if the first row is the header. */
  header?: readonly string[] | undefined;
  /** Prefix of comment lines in text, CSV and TSV, before a space. Undefined for none. */
  comments?: string | undefined;
  /** Undefined for UTF-8, or UTF-16 with a byte order mark. */
  encoding?: 'windows-1252' | undefined;
  trimsLines: boolean;
  readsSpreadsheets: boolean;
  findsIds: boolean;
}

/** Rules for a list without a batch and a pipeline.yaml. */
export const plainReading: ListReading = { trimsLines: false, readsSpreadsheets: true, findsIds: true };

/** Returns the name of the id column, `id` before `ID` and the like; undefined if there is none. */
export function idColumnOf(
  columns: readonly string[],
  { findsIds }: Pick<ListReading, 'findsIds'>,
): string | undefined {
  if (columns.includes('id')) return 'id';
  return findsIds ? columns.find((name) => name.trim().toLowerCase() === 'id') : undefined;
}

type Range =
  | { values: number[] }
  /** Form of a valid range, in words that follow "expected". */
  | { expected: string };

/** Maximum number of values in a list or range, because each is held in memory. */
export const maxValues = 100_000;

const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?`;
export const rangePattern = String.raw`^\s*(${number})\s*\.\.\s*(${number})(?:\s+step\s+(${number}))?\s*$`;
const range = new RegExp(rangePattern);

/**
 * Reads a range such as `1..10`, `1..100 step 5`, `10..1` or `0.5..2 step 0.5`, both ends included if the steps meet them;
 * undefined for other text. May count down.
 */
export function readRange(text: string): Range | undefined {
  const found = range.exec(text);
  if (found === null) return undefined;
  const [, first = '', last = '', stepped = '1'] = found;
  const places = Math.max(...[first, last, stepped].map(placesOf));
  const [from, to, step] = [first, last, stepped].map((each) => scaled(each, places)) as Whole;
  if (step <= 0n) return { expected: 'a step above 0; 10..1 counts down anyway' };
  if ([from, to, step].some((each) => each > maxExact || each < -maxExact))
    return { expected: 'numbers of at most 15 digits' };
  const count = (to > from ? to - from : from - to) / step + 1n;
  if (count > BigInt(maxValues))
    return {
      expected: `at most ${maxValues.toLocaleString('en')} values; put a longer list into a manifest`,
    };
  const signed = to < from ? -step : step;
  // Built from digits, each is the number as written. Adding 0.1 ten times does not give 1.
  const valueAt = (index: number): number => Number(`${from + BigInt(index) * signed}e-${places}`);
  return { values: Array.from({ length: Number(count) }, (_, index) => valueAt(index)) };
}

/** True if the text is a range. Within a list it would be a text, which is never intended. */
export function isRange(text: string): boolean {
  return range.test(text);
}

type Whole = [from: bigint, to: bigint, step: bigint];

const maxExact = 10n ** 15n;

function placesOf(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}

/** Returns the number times ten to the power of `places`. */
function scaled(text: string, places: number): bigint {
  const [whole = '', part = ''] = text.split('.');
  return BigInt(whole + part.padEnd(places, '0'));
}
