/** What the painter makes of a prompt: the kind of picture, the hour, the place, and how many of each thing. */
import { expect, test } from 'vitest';
import { mentionOf, speaksOf } from '../../../src/renderers/painter/mentions.ts';
import { settingOf } from '../../../src/renderers/painter/setting.ts';
import { createRandom } from '../../../src/renderers/random.ts';

const settingFor = (text: string) => settingOf(text, createRandom('1'));

test.each([
  ['a small village', 'house', 7],
  ['birds', 'bird', 9],
  ['two birds', 'bird', 2],
  ['a bus and a truck', 'car', 1],
] as const)('how many are painted: %s', (text, noun, count) => {
  expect(mentionOf(settingFor(text).description, noun)?.count).toBe(count);
});

test.each(['a meadow', 'a snowy plain', 'a river', 'a wide green pasture', 'wheat fields', 'autumn hills'])(
  'no tree of any kind is added to %s without trees',
  (place) => {
    const { description } = settingFor(`${place} without trees`);
    expect(speaksOf(description, 'tree', 'oak', 'pine', 'forest')).toBe(false);
  },
);

test('the moon and the stars make it night where no time is said', () => {
  expect(settingFor('a full moon over the sea').time).toBe('night');
  expect(settingFor('a full moon over the sea at sunset').time).toBe('sunset');
});

test.each([
  ['a cup and two red apples', 'still-life'],
  ['a cat on a table', 'still-life'],
  ['a teapot and two cups', 'still-life'],
  ['flowers in a vase', 'still-life'],
  ['a kitchen', 'still-life'],
  ['a ball on the beach', 'landscape'],
  ['a horse in a hall', 'landscape'],
  ['three blue circles', 'paper'],
  ['a heart made of water', 'paper'],
  ['a planet in outer space', 'space'],
  ['友達', 'landscape'],
] as const)('the kind of picture: %s is a %s', (text, frame) => {
  expect(settingFor(text).frame).toBe(frame);
});

test('a text without a known word gets a place of its own, the same for every seed', () => {
  const nouns = (text: string, seed: string): string[] =>
    settingOf(text, createRandom(seed)).description.mentions.map(({ noun }) => noun);
  expect(nouns('entropy', '1').length).toBeGreaterThan(1);
  expect(nouns('entropy', '1')).toEqual(nouns('entropy', '2'));
  const places = new Set(
    ['entropy', 'friends', 'さくら', 'bias', 'hope', 'тишина'].map((text) => nouns(text, '1').join()),
  );
  expect(places.size).toBeGreaterThan(2);
});
