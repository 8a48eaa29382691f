/**
 * Promise: ids and seeds of a row's scenes are unique, and reordering or extending a list changes none of
 * them.
 */
import * as fc from 'fast-check';
import { expect, it, test } from 'vitest';
import {
  combinations,
  expandRow,
  scenesPerRow,
  valueText,
  type Axis,
  type Expansion,
  seedsOf,
  valueSlug,
} from '../../../src/runner/core/expansion.ts';
import { canonicalJson, type JsonValue } from '../../../src/lib/text/json.ts';
import { newestRules, sceneRules } from '../../../src/runner/core/scene.ts';
import { nameKey, portablePath } from '../../../src/runner/core/naming.ts';

const word = fc.oneof(
  fc.constantFrom(
    'oil',
    'Oil',
    'OIL',
    'oil painting',
    'oil_painting',
    '1',
    'true',
    'm5',
    'a/b',
    'a-b',
    'con',
    'ß',
    '日本',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
);
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  word,
  fc.constantFrom<JsonValue>(1, -1, 1.5, 25, 5, -5, true, false),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
);

function list(maxLength: number): fc.Arbitrary<JsonValue[]> {
  return fc.uniqueArray(value, { minLength: 1, maxLength, selector: canonicalJson });
}

const lists = fc.record({ style: list(5), steps: list(4), wide: list(3) });

interface Lists {
  style: JsonValue[];
  steps: JsonValue[];
  wide: JsonValue[];
}

function axesOf(given: Lists): Axis[] {
  return Object.entries(given).map(([name, values]) => ({ name, values: values as JsonValue[] }));
}

function expansionOf(matrix: Axis[], more: Partial<Expansion> = {}): Expansion {
  return { matrix, zip: [], exclude: [], seeds: 0, seedRules: sceneRules[newestRules], ...more };
}

/** Returns the columns of each scene of a row, by id. */
function scenesOf(rowId: string, expansion: Expansion): Map<string, string> {
  const scenes = [...expandRow(rowId, combinations(expansion), expansion)];
  const byId = new Map(scenes.map(({ id, columns }) => [id, canonicalJson(columns)]));
  expect(byId.size).toBe(scenes.length);
  return byId;
}

test('the order of lists and of their values changes no id and no seed', () => {
  const shuffled = lists.chain((given) =>
    fc.tuple(
      fc.constant(given),
      fc.record({
        style: fc.shuffledSubarray(given.style, { minLength: given.style.length }),
        steps: fc.shuffledSubarray(given.steps, { minLength: given.steps.length }),
        wide: fc.shuffledSubarray(given.wide, { minLength: given.wide.length }),
      }),
      fc.integer({ min: 0, max: 3 }),
    ),
  );
  fc.assert(
    fc.property(shuffled, ([given, other, seeds]) => {
      const first = scenesOf('harbour', expansionOf(axesOf(given), { seeds }));
      const second = scenesOf('harbour', expansionOf(axesOf(other).toReversed(), { seeds }));
      expect(second).toEqual(first);
    }),
  );
});

test('longer lists and more seeds keep every scene that was there', () => {
  const extended = lists.chain((given) =>
    fc.tuple(
      fc.record({
        style: fc.subarray(given.style, { minLength: 1 }),
        steps: fc.subarray(given.steps, { minLength: 1 }),
        wide: fc.subarray(given.wide, { minLength: 1 }),
      }),
      fc.constant(given),
    ),
  );
  fc.assert(
    fc.property(extended, ([few, many]) => {
      const before = scenesOf('harbour', expansionOf(axesOf(few), { seeds: 2 }));
      const after = scenesOf('harbour', expansionOf(axesOf(many), { seeds: 3 }));
      for (const [id, sent] of before) expect(after.get(id)).toBe(sent);
    }),
  );
});

test('the seeds of a row are the same for every value of every axis, each row has its own, and the first have number 1', () => {
  fc.assert(
    fc.property(lists, (given) => {
      const expansion = expansionOf(axesOf(given), { seeds: 3 });
      const seedsIn = (row: string) => {
        const scenes = [...expandRow(row, combinations(expansion), expansion)];
        return scenes.map(({ columns, seedNumber }) => `${seedNumber}: ${Number(columns['seed'])}`);
      };
      const [first, second] = [new Set(seedsIn('harbour')), new Set(seedsIn('lighthouse'))];
      expect([first.size, second.size, new Set([...first, ...second]).size]).toEqual([3, 3, 6]);
    }),
  );
});

test('a batch of earlier versions keeps seeds of their own for each scene', () => {
  const axes = [{ name: 'style', values: ['oil', 'ink'] }];
  const expansion = expansionOf(axes, { seeds: 2, seedRules: sceneRules[2] });
  const seeds = [...expandRow('harbour', combinations(expansion), expansion)].map(
    ({ columns }) => columns['seed'],
  );
  expect(seeds).toEqual([...seedsOf('harbour-oil', 2, 31), ...seedsOf('harbour-ink', 2, 31)]);
});

test('no two scenes share an id, also if file systems ignore case, in any number of rows', () => {
  fc.assert(
    fc.property(
      lists,
      fc.uniqueArray(fc.constantFrom('a', 'a-oil', 'a-1', 'a-oil-1', 'b'), { minLength: 1 }),
      (given, rows) => {
        const expansion = expansionOf(axesOf(given), { seeds: 2 });
        const ids = rows.flatMap((row) => [...scenesOf(row, expansion).keys()]);
        expect(new Set(ids.map((id) => nameKey(portablePath(`${id}.png`)))).size).toBe(
          rows.length * scenesPerRow(expansion),
        );
      },
    ),
  );
});

test('the number of scenes is the product, minus the excluded ones', () => {
  const withRules = lists.chain((given) =>
    fc.tuple(
      fc.constant(given),
      fc.array(
        fc.record(
          {
            style: fc.constantFrom(...given.style),
            steps: fc.constantFrom(...given.steps),
            wide: fc.constantFrom(...given.wide),
          },
          { requiredKeys: ['style'] },
        ),
        { maxLength: 4 },
      ),
    ),
  );
  fc.assert(
    fc.property(withRules, ([given, rules]) => {
      const exclude = rules.map((rule) => new Map(Object.entries(rule)));
      const all = [...combinations(expansionOf(axesOf(given)))];
      expect(all).toHaveLength(given.style.length * given.steps.length * given.wide.length);
      const isExcluded = (columns: Record<string, JsonValue>): boolean =>
        exclude.some((rule) =>
          [...rule].every(([name, each]) => valueText(each) === valueText(columns[name] ?? null)),
        );
      const left = all.filter(({ columns }) => !isExcluded(columns));
      expect([...combinations(expansionOf(axesOf(given), { exclude }))]).toEqual(left);
    }),
  );
});

it('walks zipped lists together, and each of their rows with the matrix', () => {
  const zip = [
    { name: 'width', values: [512, 768] },
    { name: 'height', values: [768, 512] },
  ];
  const expansion = expansionOf([{ name: 'style', values: ['oil', 'ink'] }], { zip });
  expect([...scenesOf('harbour', expansion).keys()]).toEqual([
    'harbour-768-oil-512',
    'harbour-512-oil-768',
    'harbour-768-ink-512',
    'harbour-512-ink-768',
  ]);
  expect(scenesPerRow(expansion)).toBe(4);
});

it.each([
  ['oil', 'oil'],
  ['oil painting', 'oil_painting'],
  ['v1.5', 'v1.5'],
  [25, '25'],
  [0.5, '0.5'],
  [-5, 'm5'],
  [true, 'true'],
])('the value %j is %s in an id', (given, slug) => {
  expect(valueSlug(given)).toBe(slug);
});

it.each([
  'Oil',
  'oil_painting',
  '25',
  'm5',
  'true',
  'a/b',
  '日本',
  'a word too many for a file name that people read',
  '-',
  1e21,
])('the value %j is distinguished by a hash', (given) => {
  expect(valueSlug(given)).toMatch(/^[a-z0-9_.]{1,24}~[0-9a-f]{10}$/);
});

it.each([
  { bits: 31, first: [1601020119, 620686567] },
  { bits: 32, first: [3748503767, 620686567] },
] as const)(
  'seeds are whole numbers of $bits bits, all different, and stay when more are requested',
  ({ bits, first }) => {
    const many = seedsOf('harbour-oil', 1000, bits);
    expect(new Set(many).size).toBe(1000);
    for (const seed of many) expect(Number.isInteger(seed) && seed >= 0 && seed < 2 ** bits).toBe(true);
    expect(seedsOf('harbour-oil', 4, bits)).toEqual(many.slice(0, 4));
    // Changing this value would render every scene with generated seeds again.
    expect(seedsOf('harbour-oil', 2, bits)).toEqual(first);
  },
);

it('an id of many long values is short', () => {
  const matrix = Array.from({ length: 12 }, (_, i) => ({
    name: `axis${i}`,
    values: ['some words of a value'],
  }));
  expect([...scenesOf('', expansionOf(matrix)).keys()][0]?.length).toBeLessThan(40);
});

it('expands millions of scenes without making them all', () => {
  const values = Array.from({ length: 1000 }, (_, i) => i);
  const all = combinations(expansionOf(['a', 'b', 'c'].map((name) => ({ name, values }))));
  expect(all.next().value).toEqual({ columns: { a: 0, b: 0, c: 0 }, id: '0-0-0' });
  expect(all.next().value).toEqual({ columns: { a: 0, b: 0, c: 1 }, id: '0-0-1' });
});
