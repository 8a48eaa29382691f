/** Promise: a condition may ask for a scene's columns, and for what is known of it besides. */
import { expect, it } from 'vitest';
import { quotedName } from '../../../src/runner/core/condition.ts';
import { sceneFacts, SceneValues, type KnownScene } from '../../../src/runner/core/seeds-until.ts';

const scene: KnownScene = {
  id: 'fox',
  columns: { prompt: 'of the row', style: 'ink' },
  input: { prompt: 'a fox' },
  pictures: [{ seed: '7' }, { output: { labelled_words: ['gull'], ignored_words: ['pier'] } }],
};
const values = new SceneValues<KnownScene>(['prompt', 'style', 'mood', 'a b'], sceneFacts);

it.each([
  ["style = 'ink'", true],
  ["prompt = 'a fox'", true],
  ["manifest.prompt = 'of the row'", true],
  ["mood = 'calm'", undefined],
  ["id = 'fox'", true],
  // What was sent, else what the first picture says.
  ['seed = 7', true],
  ["labelled_words contains 'gull'", true],
  ["labelled_words contains 'pier'", false],
  ["ignored_words contains 'pier'", true],
])('%s: %s', (text, holds) => {
  expect(values.condition(text)(scene)).toBe(holds);
});

it('what is sent counts before what the pictures say, and the row where it is unknown what was sent', () => {
  expect(values.condition('seed = 3')({ ...scene, input: { seed: 3 } })).toBe(true);
  expect(values.condition("prompt = 'of the row'")({ ...scene, input: null })).toBe(true);
});

it('its names can be written in a condition, those of every scene under another name', () => {
  expect(values.names.slice(0, 4).map(quotedName)).toEqual(['manifest.prompt', 'style', 'mood', '[a b]']);
});
