/** What the painter understands of a text: things, counts, colours, sizes, times; and what it leaves out. */
import { describe, expect, test } from 'vitest';
import { mentionOf, mostOfAThing, readScene, speaksOf } from '../../../src/renderers/painter/read-scene.ts';
import { settingOf } from '../../../src/renderers/painter/setting.ts';
import { createRandom } from '../../../src/renderers/random.ts';
import { type Kind } from '../../../src/renderers/painter/vocabulary.ts';

function countOf(text: string, kind: Kind): number | undefined {
  return mentionOf(readScene(text), kind)?.count;
}

describe('counts', () => {
  test.each([
    ['a sailboat on the sea', 'sailboat', 1],
    ['three blue sailboats on the sea', 'sailboat', 3],
    ['12 birds above the hills', 'bird', 12],
    ['two dozen balloons', 'balloon', 24],
    ['a flock of birds', 'bird', 9],
    ['a few sheep', 'sheep', 4],
    ['900 birds', 'bird', mostOfAThing],
    ['１０ cats', 'cat', 10],
    ['a small village', 'house', 7],
    [`${'9'.repeat(500)} cats`, 'cat', mostOfAThing],
  ] as const)('%s', (text, kind, count) => {
    expect(countOf(text, kind)).toBe(count);
  });

  test('a plural without a number means several', () => {
    expect(countOf('pine trees by a lake', 'pine')).toBeGreaterThan(1);
  });

  test.each([
    ['a meadow without trees', 'tree'],
    ['a beach with no boats', 'boat'],
    ['zero cats', 'cat'],
  ] as const)('what is said to be missing is missing: %s', (text, kind) => {
    expect(countOf(text, kind)).toBeUndefined();
    const { description } = settingOf(text, createRandom('any'));
    expect(mentionOf(description, kind)).toBeUndefined();
  });
});

test.each(['a meadow', 'a snowy plain', 'a river', 'a wide green pasture', 'wheat fields', 'autumn hills'])(
  'no tree of any kind is added to %s without trees',
  (place) => {
    const { description } = settingOf(`${place} without trees`, createRandom('any'));
    expect(speaksOf(description, 'tree', 'oak', 'pine', 'forest')).toBe(false);
  },
);

describe('colours and sizes', () => {
  test('belong to the noun that follows', () => {
    const scene = readScene('a red house and two blue boats by a tiny white church');
    expect(mentionOf(scene, 'house')?.colours).toEqual(['red']);
    expect(mentionOf(scene, 'boat')?.colours).toEqual(['blue']);
    expect(mentionOf(scene, 'church')).toMatchObject({ colours: ['white'], size: 0.55 });
  });

  test('two colours belong to one thing', () => {
    expect(mentionOf(readScene('a red and white lighthouse'), 'lighthouse')?.colours).toEqual([
      'red',
      'white',
    ]);
  });

  test('a colour of a part is the trim', () => {
    expect(mentionOf(readScene('a cottage with a blue roof'), 'house')).toMatchObject({
      colours: [],
      trim: ['blue'],
    });
  });

  test('do not leak from an unknown word to the next thing', () => {
    const scene = readScene('three purple zeppelins over a house');
    expect(mentionOf(scene, 'house')).toMatchObject({ count: 1, colours: [] });
  });

  test('an orange is a fruit, an orange cat is a cat', () => {
    expect(countOf('an orange and a cup on a table', 'fruit')).toBe(1);
    const scene = readScene('an orange cat');
    expect(mentionOf(scene, 'fruit')).toBeUndefined();
    expect(mentionOf(scene, 'cat')?.colours).toEqual(['orange']);
  });
});

describe('words', () => {
  test.each([
    ['northern lights over the fjord', ['aurora', 'lake']],
    ['snow-capped peaks', ['snowcap', 'mountain']],
    ['a hot-air balloon', ['balloon']],
    ['cherry trees', ['tree']],
    ['🌊 ⛵ 🌙', ['sea', 'sailboat', 'moon']],
    ['NEW YORK at NIGHT', ['city']],
  ] as const)('%s', (text, kinds) => {
    expect(readScene(text).mentions.map(({ kind }) => kind)).toEqual(kinds);
  });

  test.each([
    ['a lake at dusk', 'dusk'],
    ['a stormy evening', 'dusk'],
    ['sunrise in the mountains', 'dawn'],
    ['midnight', 'night'],
    ['a lake', 'any'],
  ] as const)('time of day: %s', (text, time) => {
    expect(readScene(text).time).toBe(time);
  });

  test('the moon and the stars make it night where no time is said', () => {
    expect(settingOf('a full moon over the sea', createRandom('1')).time).toBe('night');
    expect(settingOf('a full moon over the sea at sunset', createRandom('1')).time).toBe('sunset');
  });
});

describe('the kind of picture', () => {
  test.each([
    ['a cup and two red apples', 'still-life'],
    ['a cat on a table', 'still-life'],
    ['a ball on the beach', 'landscape'],
    ['three blue circles', 'paper'],
    ['a planet in outer space', 'space'],
    ['友達', 'landscape'],
  ] as const)('%s: %s', (text, frame) => {
    expect(settingOf(text, createRandom('1')).frame).toBe(frame);
  });

  test('a text without a known word gets a place of its own, the same for every seed', () => {
    const kinds = (text: string, seed: string): string[] =>
      settingOf(text, createRandom(seed)).description.mentions.map(({ kind }) => kind);
    expect(kinds('entropy', '1').length).toBeGreaterThan(1);
    expect(kinds('entropy', '1')).toEqual(kinds('entropy', '2'));
    const places = new Set(
      ['entropy', 'friends', 'さくら', 'bias', 'hope', 'тишина'].map((text) => kinds(text, '1').join()),
    );
    expect(places.size).toBeGreaterThan(2);
  });
});
