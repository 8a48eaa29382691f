/** Promise: things are placed where the words say, and all of them are within the picture. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namedColours } from '../../../src/renderers/colour.ts';
import { boxOf, type Standing } from '../../../src/renderers/scene/layout/cluster.ts';
import { planPicture, type View } from '../../../src/renderers/scene/plan-picture.ts';
import { sizeOf, type Bounds } from '../../../src/renderers/scene/things/parts.ts';

const seeds = [1, 2, 3, 4, 5, 6];

function boxesOf(text: string, seed: number): Bounds[] {
  const { things, prompt } = planPicture(text, seed, 1);
  return prompt.subjects.map((_, index) => boxOf(things.filter(({ subject }) => subject === index)));
}

function distanceOf({ from, to }: View): number {
  return Math.hypot(from[0] - to[0], from[1] - to[1], from[2] - to[2]);
}

function middle({ low, high }: Bounds): readonly [number, number, number] {
  return [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2];
}

function twoBoxes(text: string, seed: number): [Bounds, Bounds] {
  const [one, other] = boxesOf(text, seed);
  if (one === undefined || other === undefined) throw new Error(`'${text}' has fewer than two subjects`);
  return [one, other];
}

describe.each(seeds)('with seed %i', (seed) => {
  it('puts a ball onto a table', () => {
    const [ball, table] = twoBoxes('a red ball on a blue table', seed);
    expect(ball.low[1]).toBeCloseTo(table.high[1], 1);
    expect(middle(ball)[0]).toBeGreaterThan(table.low[0]);
    expect(middle(ball)[0]).toBeLessThan(table.high[0]);
    expect(sizeOf(ball)[0]).toBeLessThan(sizeOf(table)[0]);
  });

  it('puts a cat under a table', () => {
    const [cat, table] = twoBoxes('a cat under a table', seed);
    expect(cat.low[1]).toBeCloseTo(0, 5);
    expect(cat.high[1]).toBeLessThan(table.high[1]);
    expect(middle(cat)[0]).toBeCloseTo(middle(table)[0], 1);
  });

  it('puts things left and right, before and behind, clear of each other', () => {
    const [left, right] = twoBoxes('a dog to the left of a house', seed);
    expect(left.high[0]).toBeLessThan(right.low[0]);
    const [front, back] = twoBoxes('a dog in front of a house', seed);
    expect(front.low[2]).toBeGreaterThan(back.high[2]);
    const [behind, before] = twoBoxes('a dog behind a house', seed);
    expect(behind.high[2]).toBeLessThan(before.low[2]);
  });

  it('puts things beside each other on the ground', () => {
    const [cat, dog] = twoBoxes('a cat beside a dog', seed);
    expect([cat.low[1], dog.low[1]]).toEqual([expect.closeTo(0, 5), expect.closeTo(0, 5)]);
    expect(cat.high[0] < dog.low[0] || dog.high[0] < cat.low[0]).toBe(true);
  });

  it('puts several things onto one table side by side', () => {
    const [teapot, cups, table] = boxesOf('a teapot and two cups on a table', seed);
    expect(teapot?.low[1]).toBeCloseTo(table?.high[1] ?? Number.NaN, 1);
    expect(cups?.low[1]).toBeCloseTo(table?.high[1] ?? Number.NaN, 1);
    expect(cups?.low[0]).toBeGreaterThan(teapot?.high[0] ?? Number.NaN);
    expect(cups?.high[0]).toBeLessThan(table?.high[0] ?? Number.NaN);
  });
});

it.each(['a man riding a horse', 'a woman on a bench'])('has people sit: %s', (text) => {
  const [rider, mount] = twoBoxes(text, 1);
  const [standing] = twoBoxes(text.replace(/riding|on/, 'beside'), 1);
  expect(sizeOf(rider)[1]).toBeLessThan(0.9 * sizeOf(standing)[1]);
  expect(rider.low[1]).toBeLessThan(mount.high[1]);
  expect(rider.high[1]).toBeGreaterThan(mount.high[1]);
});

it('shows as many things as requested, in the requested colour', () => {
  const { things } = planPicture('seven blue cubes', 1, 1);
  expect(things).toHaveLength(7);
  const colours = things.map(({ parts }: Standing) => parts[0]?.paint.colour);
  expect(colours).toEqual(Array.from({ length: 7 }, () => namedColours.blue));
});

it('puts as many things as requested around another thing', () => {
  expect(planPicture('four cups surrounding a teapot', 1, 1).things).toHaveLength(5);
});

it.each([
  ['five cats on five tables', [1, 1, 1, 1, 1]],
  ['three cats on two tables', [2, 1]],
  ['dogs wearing hats', [1, 1, 1]],
])('distributes things over several tables or heads: %s', (text, expected) => {
  const { things } = planPicture(text, 3, 1.5);
  const hosts = things.filter(({ subject }) => subject === 1 - Number(text.startsWith('dogs')));
  const guests = things.filter((thing) => !hosts.includes(thing));
  const on = hosts.map(({ bounds: { low, high } }) => {
    const isOn = ({ at: [x, , z] }: Standing): boolean =>
      x > low[0] && x < high[0] && z > low[2] && z < high[2];
    return guests.filter(isOn).length;
  });
  expect(on).toEqual(expected);
});

it('distributes several colours over several things', () => {
  const { things } = planPicture('two red and yellow balls', 1, 1);
  expect(things.map(({ parts }) => parts[0]?.paint.colour)).toEqual([namedColours.red, namedColours.yellow]);
});

it('lets the stems of flowers meet in a vase', () => {
  const { things, prompt } = planPicture('five flowers in a vase', 1, 1);
  const vase = boxOf(things.filter(({ subject }) => prompt.subjects[subject]?.noun === 'vase'));
  const flowers = things.filter(({ subject }) => prompt.subjects[subject]?.noun === 'flower');
  expect(flowers).toHaveLength(5);
  for (const { at, bounds } of flowers) {
    expect(at[0]).toBeGreaterThan(vase.low[0]);
    expect(at[0]).toBeLessThan(vase.high[0]);
    expect(at[1]).toBeLessThan(vase.high[1]);
    expect(bounds.high[1]).toBeGreaterThan(vase.high[1]);
  }
});

it.each([
  ['a boat on the sea in the rain', { ground: 'water', hasWater: false, weather: 'rain' }],
  ['a cottage next to a lake', { ground: 'grass', hasWater: true }],
  ['a lighthouse by the sea', { ground: 'water', hasWater: false }],
  ['a house by the sea', { ground: 'sand', hasWater: true }],
  ['aurora over a lake', { ground: 'water', backdrops: ['hills'], sights: ['aurora'], time: 'night' }],
  ['a street in the rain', { ground: 'road', backdrops: ['street'], weather: 'rain' }],
  ['a village in the snowy mountains', { ground: 'snow', backdrops: ['mountains'] }],
  ['a cat on a blue carpet on the kitchen floor', { ground: 'floor', backdrops: [] }],
  [
    'mountains under a pink sky and a full moon',
    { backdrops: ['mountains'], skyColour: 'pink', time: 'night' },
  ],
])('sets the scene: %s', (text, setting) => {
  expect(planPicture(text, 1, 1).setting).toMatchObject(setting);
});

it('puts a box with its name in the place of an unknown thing, with letters if the font has them', () => {
  const { things, prompt } = planPicture('a unicorn next to two red gryphlets', 3, 1);
  expect([things.length, prompt.labelledWords, prompt.ignoredWords]).toEqual([3, ['gryphlets'], []]);
  const [box, ...letters] = things[1]?.parts ?? [];
  expect(box?.paint.colour).toEqual(namedColours.red);
  expect(letters.length).toBeGreaterThan('gryphlet'.length);
  expect(planPicture('時計', 3, 1).things.map(({ parts }) => parts.length)).toEqual([1]);
  expect(planPicture('an élan', 3, 1).things[0]?.parts).toHaveLength(
    planPicture('an elan', 3, 1).things[0]?.parts.length ?? 0,
  );
});

it.each(['an old woman', 'a man', 'a statue of a god', 'a tiger in a forest'])(
  'frames the head in a portrait: %s',
  (who) => {
    const { view, box } = planPicture(`a portrait of ${who}`, 1, 1);
    const whole = planPicture(who, 1, 1);
    expect(view.to[1]).toBeGreaterThan(box.low[1] + 0.6 * sizeOf(box)[1]);
    expect(distanceOf(view)).toBeLessThan(0.75 * distanceOf(whole.view));
  },
);

it('plans any words, the same every time, with the camera outside of all things', () => {
  const words = 'a two red wooden ball house cat tree boat on beside behind under and sea , gryphlet'.split(
    ' ',
  );
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 14 }), fc.integer(), (said, seed) => {
      const plan = planPicture(said.join(' '), seed, 1.5);
      expect(planPicture(said.join(' '), seed, 1.5)).toEqual(plan);
      const { view, things } = plan;
      expect([...view.from, ...view.to].every(Number.isFinite)).toBe(true);
      for (const { bounds } of things) {
        expect(isOutside(view.from, bounds)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

function isOutside(point: Bounds['low'], { low, high }: Bounds): boolean {
  return ([0, 1, 2] as const).some((axis) => point[axis] > high[axis] || point[axis] < low[axis]);
}
