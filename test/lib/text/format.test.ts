/** Promise: durations and command arguments are formatted as people write them, and no text breaks a line. */
import { expect, it } from 'vitest';
import { formatDuration, oneLine, shellWord } from '../../../src/lib/text/format.ts';

it.each([
  [499, '0 s'],
  [59_400, '59 s'],
  [59_600, '1 min 0 s'],
  [200_000, '3 min 20 s'],
  [3_599_000, '59 min 59 s'],
  [3_600_000, '1 h 0 min'],
  [7_530_000, '2 h 5 min'],
])('%i ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

it.each([
  ['night/scenes-1.csv', 'night/scenes-1.csv'],
  ['größe', 'größe'],
  ['a b', "'a b'"],
  ["it's", `'it'\\''s'`],
  ['', "''"],
  ['$HOME', "'$HOME'"],
])('%j is the word %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});

it.each([
  [' a\n\tb ', 100, 'a b'],
  ['\u001B[31mred\u0000', 100, '[31mred'],
  ['', 100, undefined],
  [' \n\u0007', 100, undefined],
  ['abcde', 5, 'abcde'],
  ['abcdef', 5, 'abcd…'],
  ['abc def', 5, 'abc…'],
  ['🌊🌊🌊', 3, '🌊🌊🌊'],
  ['🌊🌊🌊🌊', 3, '🌊🌊…'],
  [`a${' '.repeat(50)}b`, 5, 'a…'],
])('%j, at most %i long, is %j', (text, longest, line) => {
  expect(oneLine(text, longest)).toBe(line);
});
