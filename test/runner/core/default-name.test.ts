/** Default file names are made of the id, or of the words of the prompt if the list has no ids. */
import { expect, it } from 'vitest';
import { defaultName, guessNames } from '../../../src/runner/core/naming.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';

const hash = 'e52f0289abcd';

it.each<[string, string, JsonObject, string]>([
  ['the row has an id', 'harbour', { id: 'harbour', prompt: 'A harbour at dawn' }, 'harbour.png'],
  ['an id that looks like a hash', hash, { id: hash, prompt: 'A harbour' }, `${hash}.png`],
  ['no id', hash, { prompt: 'a photo of a bench' }, 'a-photo-of-a-bench-e52f02.png'],
  ['the second of two equal rows', `${hash}-2`, { prompt: 'a bench' }, 'a-bench-e52f02-2.png'],
  [
    'a row that was multiplied',
    `${hash}-dusk-512`,
    { scene: 'A bay', time: 'dusk' },
    'a-bay-e52f02-dusk-512.png',
  ],
  ['a matrix without rows', 'dusk-512', { scene: 'A bay', time: 'dusk' }, 'dusk-512.png'],
  ['signs and spaces', hash, { prompt: '  "A photo", of: a/BENCH!\n' }, 'a-photo-of-a-bench-e52f02.png'],
  [
    'letters of other scripts',
    hash,
    { prompt: 'Ein großer Hafen, 港の朝' },
    'ein-großer-hafen-港の朝-e52f02.png',
  ],
  ['nothing but signs', hash, { prompt: '!!! 🙂' }, `${hash}.png`],
  ['no text at all', hash, { steps: 3 }, `${hash}.png`],
  [
    'a long prompt, cut between two words',
    hash,
    { prompt: 'a very long description of a harbour with many boats and more' },
    'a-very-long-description-of-a-harbour-with-many-e52f02.png',
  ],
  ['a word without an end', hash, { prompt: 'x'.repeat(9_000) }, `${'x'.repeat(48)}-e52f02.png`],
])('%s', (_, id, columns, name) => {
  expect(defaultName({ id, columns, input: {} }, 'prompt')).toBe(name);
  const { id: _id, ...sent } = columns;
  expect(defaultName({ id, columns, input: sent }, 'sent')).toBe(name);
});

it.each<[string, string[], 'id' | 'prompt']>([
  ['by the id', ['a/b.png', `${hash}-2.jpg`], 'id'],
  ['by words', ['a-photo-of-a-bench-e52f02.png'], 'prompt'],
  ['in folders of such names', [`${hash}/a.png`], 'prompt'],
])('recognizes that pictures were named %s', (_, files, names) => {
  expect(guessNames(files, 'prompt')).toBe(names);
});

it('names by the id alone if a batch has begun so', () => {
  expect(defaultName({ id: hash, columns: { prompt: 'a photo of a bench' }, input: {} }, 'id')).toBe(
    `${hash}.png`,
  );
});

it('names by the text that is sent, whatever other columns the row has', () => {
  const columns = { prompt: 'a lighthouse at dawn', caption: 'a bench' };
  const scene = { id: hash, columns, input: { scene: 'a bench' } };
  expect(defaultName(scene, 'sent')).toBe('a-bench-e52f02.png');
  expect(defaultName({ ...scene, input: { steps: 3 } }, 'sent')).toBe(`${hash}.png`);
});

it.each<[string, string, JsonObject, string]>([
  ['as before', hash, { picture: 'out/images/a-bench-e52f02.png' }, 'a-bench-e52f02.png'],
  [
    'with what the lists of the stage add',
    `${hash}-0.3`,
    { picture: 'images/a-bench-e52f02.jpg' },
    'a-bench-e52f02-0.3.png',
  ],
  [
    'in the folders of output.name',
    `${hash}-s1-s2`,
    { id: `${hash}-s1`, picture: '../images/images/ink/two.png' },
    'ink/two-s2.png',
  ],
  [
    'in a bucket, without the attempt',
    `${hash}.2`,
    { id: `${hash}.2`, picture: 's3://night/a/images/ink/b-3-0123abcd.png' },
    'ink/b.png',
  ],
  ['on Windows', hash, { picture: String.raw`out\images\ink\b.png` }, 'ink/b.png'],
  [
    'by the prompt without a picture',
    `${hash}.2`,
    { id: `${hash}.2`, prompt: 'A bench' },
    'a-bench-e52f02.2.png',
  ],
  [
    'by the id of a list with files of its own',
    'harbour',
    { id: 'harbour', picture: 'photos/1.png' },
    'harbour.png',
  ],
])('names the picture of a stage %s', (_, id, columns, name) => {
  expect(defaultName({ id, columns: { id: hash, ...columns }, input: {} }, 'stage')).toBe(name);
});
