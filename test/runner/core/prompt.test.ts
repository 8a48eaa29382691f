/** Scenes are shown with the words that people know them by. */
import { expect, it } from 'vitest';
import { promptOf, sceneNameOf } from '../../../src/runner/core/naming.ts';

it.each([
  [{ scene: 'a wood', Prompt: 'a fox', steps: 30 }, {}, 'a fox'],
  [{ negative_prompt: 'no people and no text', positive_prompt: 'a fox' }, {}, 'a fox'],
  [{ scene: '', tags: 'short', words: 'a longer text' }, { prompt: 'of the row' }, 'of the row'],
  [{ tags: 'short', words: 'a longer text' }, {}, 'a longer text'],
  [{ photo: 'x'.repeat(20_000), words: 'like this' }, {}, 'like this'],
  [{ workflow: 'a.json', set: { '6.text': 'a fox', '7.steps': 30 } }, {}, 'a fox'],
  [{ workflow: 'a.json', set: 'x' }, {}, 'a.json'],
  [{ workflow: 7, set: { '6.text': 'a fox' }, words: 'like this' }, {}, 'like this'],
  [{ steps: 3 }, { id: 'a long name', mood: 'calm' }, 'calm'],
  [{ scene: 7, nested: { prompt: 'x' } }, {}, undefined],
])('%j of %j is %j', (input, columns, words) => {
  expect(promptOf(input, columns)).toBe(words);
});

it.each([
  ['has an id', { id: 'fox', prompt: 'a fox' }, { scene: 'fox' }],
  ['has none', { prompt: ' a\n fox' }, { scene: 'fox', prompt: 'a fox' }],
  ['has neither id nor words', {}, { scene: 'fox' }],
])('a scene whose row %s', (_, columns, name) => {
  expect(sceneNameOf({ sceneId: 'fox', input: {}, columns })).toEqual(name);
});
