/** Flags and environment variables become overrides, ordered by increasing precedence. */
import { optionRules, overridesOf, variableOf, type OptionName } from '../../src/batch/start-choices.ts';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

it('every option of `run` for a setting has a key and an environment variable', () => {
  const names = Object.keys(optionRules) as OptionName[];
  expect(names.map((name) => [variableOf(name), optionRules[name].path.join('.')])).toEqual([
    ['NIGHTRENDER_MANIFEST', 'manifest'],
    ['NIGHTRENDER_OUTPUT', 'output.dir'],
    ['NIGHTRENDER_CONCURRENCY', 'concurrency'],
    ['NIGHTRENDER_COLUMNS', 'header'],
    ['NIGHTRENDER_SKIP_BAD_ROWS', 'skipBadRows'],
    ['NIGHTRENDER_ALLOW_FEWER', 'allowFewer'],
    ['NIGHTRENDER_ACCEPT_EDITS', 'acceptEdits'],
    ['NIGHTRENDER_LOG', 'terminal.log'],
    ['NIGHTRENDER_STATS', 'terminal.stats'],
    ['NIGHTRENDER_JSON', 'terminal.json'],
    ['NIGHTRENDER_QUIET', 'terminal.quiet'],
  ]);
});

it('flags follow environment variables, so that flags win', () => {
  const env = { NIGHTRENDER_CONCURRENCY: '3', NIGHTRENDER_QUIET: 'true', NIGHTRENDER_JSON: '' };
  expect(overridesOf({ concurrency: 4, 'skip-bad-rows': false, other: 1 }, env)).toEqual([
    { path: ['concurrency'], value: 3, from: 'NIGHTRENDER_CONCURRENCY' },
    { path: ['terminal', 'quiet'], value: true, from: 'NIGHTRENDER_QUIET' },
    { path: ['concurrency'], value: 4, from: '--concurrency' },
    { path: ['skipBadRows'], value: false, from: '--skip-bad-rows' },
  ]);
});

it('a flag whose key is a word accepts words', () => {
  const given = [{ 'accept-edits': true }, { 'accept-edits': false }, { 'accept-edits': 'always' }];
  const values = given.map((argv) => overridesOf(argv, {})[0]?.value);
  expect(values).toEqual(['always', 'never', 'always']);
  expect(overridesOf({}, { NIGHTRENDER_ACCEPT_EDITS: 'true' })).toMatchObject([{ value: 'always' }]);
});

it.each([
  ['NIGHTRENDER_CONCURRENCY', '4.5'],
  ['NIGHTRENDER_CONCURRENCY', ' 4'],
  ['NIGHTRENDER_JSON', '1'],
])(
  'an invalid text of a variable is passed on, so that the check of the configuration names it: %s=%j',
  (variable, text) => {
    expect(overridesOf({}, { [variable]: text })).toMatchObject([{ value: text, from: variable }]);
  },
);

it.each([
  ['a.csv', resolve('a.csv')],
  ['/a.csv', '/a.csv'],
  ['-', '-'],
  ['', ''],
  [
    ['a.csv', '-'],
    [resolve('a.csv'), '-'],
  ],
])('--manifest %j is made absolute, except standard input', (given, value) => {
  expect(overridesOf({ manifest: given }, {})).toEqual([{ path: ['manifest'], value, from: '--manifest' }]);
});
