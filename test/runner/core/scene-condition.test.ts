/** Promise: a condition may use the columns of a scene and everything else that is known about it. */
import { expect, it } from 'vitest';
import { quotedName } from '../../../src/runner/core/condition.ts';
import { sceneFacts, SceneValues, type KnownScene } from '../../../src/runner/core/seeds-until.ts';

const scene: KnownScene = {
  id: 'fox',
  columns: { prompt: 'of the row', style: 'ink' },
  input: { prompt: 'a fox' },
  pictures: [
    { width: 64, height: 32, seed: '7' },
    { width: 1, height: 1, output: { labelled_words: ['gull'], ignored_words: ['pier'] } },
  ],
};
const values = new SceneValues<KnownScene>(['prompt', 'style', 'mood', 'a b'], sceneFacts);

it.each([
  ["style = 'ink'", true],
  ["prompt = 'a fox'", true],
  ["manifest.prompt = 'of the row'", true],
  ["mood = 'calm'", undefined],
  ["id = 'fox'", true],
  // The seed that was sent precedes the seed of the first picture.
  ['seed = 7', true],
  ["labelled_words contains 'gull'", true],
  ["labelled_words contains 'pier'", false],
  ["ignored_words contains 'pier'", true],
  ['width >= 64 and height < 64', true],
  // These are facts of clips, and this scene has a picture.
  ['duration_s > 1', undefined],
  ['end_open = false', undefined],
])('%s: %s', (text, holds) => {
  expect(values.condition(text)(scene)).toBe(holds);
});

it('the sent input counts before the metadata of the pictures, and the row if the sent input is unknown', () => {
  expect(values.condition('seed = 3')({ ...scene, input: { seed: 3 } })).toBe(true);
  expect(values.condition("prompt = 'of the row'")({ ...scene, input: null })).toBe(true);
});

const clip: KnownScene = {
  ...scene,
  columns: { codecs: 'wanted', Width: 9 },
  pictures: [
    {
      width: 1280,
      height: 720,
      output: { clip: { durationMs: 4_500, frameRate: 24, codecs: ['h264', 'aac'] } },
    },
  ],
};

it.each([
  ['duration_s = 4.5', true],
  ['frame_rate >= 25', false],
  ["output.codecs contains 'aac'", true],
  ["codecs = 'wanted'", true],
  ['end_open = true', false],
  ['output.width = 1280 and Width = 9', true],
])('a clip: %s: %s; a column goes before a fact of its name', (text, holds) => {
  const all = new SceneValues<KnownScene>(['codecs', 'Width'], sceneFacts);
  expect(all.condition(text)(clip)).toBe(holds);
});

it('a fact that the container of a clip does not state is a missing value', () => {
  const all = new SceneValues<KnownScene>([], sceneFacts);
  const open = {
    ...clip,
    pictures: [{ width: 0, height: 0, output: { clip: { isEndOpen: true as const } } }],
  };
  expect(all.condition('duration_s < 5')(open)).toBeUndefined();
  expect(all.condition('width < 5 or height < 5')(open)).toBeUndefined();
  expect(all.condition('end_open = true')(open)).toBe(true);
});

it('its names can be written in a condition, those of every scene under another name', () => {
  expect(values.names.slice(0, 4).map(quotedName)).toEqual(['manifest.prompt', 'style', 'mood', '[a b]']);
});
