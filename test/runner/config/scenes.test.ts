/**
 * The section `scenes` accepts lists, ranges, files, seeds and exclusions. Every problem in it is reported at
 * its line and column.
 */
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { configOf, marked, placesOf, problemsOf, withRequired, writePipeline } from './pipeline-file.ts';

it('lists, ranges and files, in the order of the file', () => {
  const file = writePipeline(
    withRequired(`scenes:
  matrix:
    style: [oil, Ink, 3, true]
    steps: 10..30 step 10
    artist: {file: lists/artists.txt}
    mood: {file: /moods.csv, column: name}
  zip: {width: [512, 768], height: [768, 512]}
  seeds: 4
  exclude:
    - {style: oil, steps: 10}
    - {width: 512}
`),
  );
  const values = (...list: unknown[]) => ({ kind: 'values', values: list });
  expect(readConfig(file, [], {}).scenes).toEqual({
    matrix: [
      { name: 'style', source: values('oil', 'Ink', 3, true) },
      { name: 'steps', source: values(10, 20, 30) },
      {
        name: 'artist',
        source: { kind: 'file', path: join(dirname(file), 'lists/artists.txt'), column: undefined },
      },
      { name: 'mood', source: { kind: 'file', path: '/moods.csv', column: 'name' } },
    ],
    zip: [
      { name: 'width', source: values(512, 768) },
      { name: 'height', source: values(768, 512) },
    ],
    seeds: 4,
    exclude: [
      new Map<string, unknown>([
        ['style', 'oil'],
        ['steps', 10],
      ]),
      new Map([['width', 512]]),
    ],
  });
});

it('the manifest may be left out if there are lists, and only then', () => {
  const without = (more: string): string => withRequired(more).replace('manifest: scenes.csv\n', '');
  expect(configOf(without('scenes: {matrix: {animal: [cat]}}')).manifest).toEqual([]);
  expect(configOf(without('scenes: {zip: {animal: [cat]}}')).manifest).toEqual([]);
  expect(problemsOf(without('scenes: {seeds: 4}'))).toEqual([
    '1:1: manifest is missing; expected a path, a pattern such as lists/*.txt, or a list of them; - is standard input',
  ]);
});

it('reports every problem at its place', () => {
  const { text, places } = marked(
    withRequired(`scenes:
  matrix:
    steps: ▸1..5 step 0
    list: [▸1..3, ▸{a: 1}, ▸'', ~]
    id: ▸[1]
    __proto__: ▸[1]
    none: ▸[]
    wrong: ▸5
    word: ▸oil
    long: ▸1..1000000
    ▸file: {files: ▸x}
    column: {file: x, column: ▸5}
  zip: ▸[]
  seeds: ▸1001
  exclude: [▸{}, {style: ▸[a]}]
  ▸sedes: 1
`).replace(', ~]', ', ▸~]'),
  );
  const problems = problemsOf(text);
  expect(placesOf(problems)).toEqual(places);
  expect(problems.slice(0, 4)).toEqual([
    '9:12: scenes.matrix.steps is "1..5 step 0"; expected a step above 0; 10..1 counts down anyway',
    '10:12: scenes.matrix.list[0] is "1..3"; expected a value; a range cannot be part of a list',
    '10:18: scenes.matrix.list[1] is keys and values; expected a text, a number, true or false',
    '10:26: scenes.matrix.list[2] is ""; expected a text, a number, true or false',
  ]);
  expect(problems.at(-1)).toBe('22:3: the key "sedes" is unknown in scenes; did you mean seeds?');
});

it.each([
  ['scenes: ▸{}', 'at least one list in matrix or zip, or seeds'],
  ['scenes: ▸{exclude: [{a: 1}]}', 'at least one list'],
  ['scenes: ▸[]', 'the keys matrix, zip, seeds, until, exclude'],
  ['scenes: {matrix: {a: [1]}, zip: {a: ▸[1]}}', 'a name that matrix does not have'],
  ['scenes: {matrix: {seed: ▸[1]}, seeds: 2}', 'seeds also make a column seed'],
  ['scenes: {zip: {seed: ▸[1]}, seeds: 2}', 'seeds also make a column seed'],
  ['scenes: {seeds: 4, until: ▸score > 1}', 'output.values as well: the values of the condition'],
])('%s', (line, expected) => {
  const { text, places } = marked(withRequired(line));
  const problems = problemsOf(text);
  expect(placesOf(problems)).toEqual(places);
  expect(problems[0]).toContain(expected);
});
