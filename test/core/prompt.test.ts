/** The words that people know a scene by. */
import { expect, it } from 'vitest';
import { promptOf } from '../../src/core/prompt.ts';

it.each([
  [{ Prompt: 'a fox', steps: 30 }, {}, 'a fox'],
  [{ scene: '', text: 'short', words: 'a longer text' }, { prompt: 'of the row' }, 'of the row'],
  [{ text: 'short', words: 'a longer text' }, {}, 'a longer text'],
  [{ scene: 7, nested: { prompt: 'x' } }, {}, ''],
])('%j of %j is %j', (input, columns, words) => {
  expect(promptOf(input, columns)).toBe(words);
});
