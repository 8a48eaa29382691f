/** Expands a row into many scenes by lists of values. Adding a value to a list changes no other scene's id. */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { SceneRules } from './scene-rules.ts';

export interface Axis {
  name: string;
  /** Distinct, except in `zip`. */
  values: readonly JsonValue[];
}

export interface Expansion {
  /** Axes that are combined with each other. */
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

/**
 * Column for the number of the seed within its row and combination. A column of that name in the list takes
 * precedence.
 */
export const seedNumberColumn = 'seed_number';

export function axisNames({ matrix, zip, seeds }: Named): string[] {
  return [...matrix, ...zip].map(({ name }) => name).concat(seeds > 0 ? ['seed'] : []);
}

interface Named {
  matrix: readonly { name: string }[];
  zip: readonly { name: string }[];
  seeds: number;
}

/** Returns the number of scenes of one row before `exclude`. */
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

/** Values that are chosen together, with their names. */
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

/**
 * Lower case, because some file systems treat `Oil` and `oil` as the same name. No underscore, because it
 * replaces a space.
 */
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
