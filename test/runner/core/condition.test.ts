/**
 * Promise: a condition holds for exactly the scenes that it describes, and an error in it is reported with
 * its position.
 */
import { expect, it } from 'vitest';
import { compileCondition } from '../../../src/runner/core/condition.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';

const scenes: Record<string, JsonObject> = {
  fox: {
    prompt: "a fox, it's red",
    score: 0.73,
    guidance: '7',
    style: 'ink',
    'art style': 'A',
    'a]b': 'x',
    tags: ['Fox', 'snow'],
  },
  owl: { prompt: 'an owl', score: 0.6, guidance: '10', style: 'oil', 'art style': '', tags: [], isOld: true },
  elk: { prompt: 'an elk in SNOW', guidance: 'high', style: '007', score: null, isOld: false },
  bee: { prompt: 'a bee', score: 'n/a', guidance: '1e1', style: '7' },
};
const known = ['prompt', 'score', 'guidance', 'style', 'art style', 'tags', 'isOld', 'a]b'];

/** Returns the ids of the scenes for which the condition holds. `?` marks scenes that lack a needed value. */
function told(text: string): string {
  const condition = compileCondition(text, known);
  return Object.entries(scenes)
    .flatMap(([id, scene]) => {
      const holds = condition((name) => scene[name]);
      return holds === true ? [id] : holds === undefined ? [`?${id}`] : [];
    })
    .join(' ');
}

it.each([
  ['score >= 0.6', 'fox owl ?elk ?bee'],
  ['score>.6', 'fox ?elk ?bee'],
  ['0.6 < score', 'fox ?elk ?bee'],
  ['not score > 0.6', 'owl ?elk ?bee'],
  ['score != 0.6', 'fox ?elk ?bee'],
  // Values are compared as numbers: 7 is less than 10.
  ['guidance < 10', 'fox ?elk'],
  ['guidance = 10', 'owl ?elk bee'],
  ['guidance == 10', 'owl ?elk bee'],
  ['guidance <> 10', 'fox ?elk'],
  ['guidance <= 7', 'fox ?elk'],
  ["guidance = '10'", 'owl'],
  ["style = '7'", 'bee'],
  ['style = 7', '?fox ?owl elk bee'],
  ["style < 'j'", 'fox elk bee'],
  ["style = 'ink' or style = 'oil'", 'fox owl'],
  // `and` binds more strongly than `or`, and parentheses more strongly than both.
  ["style = 'ink' or style = 'oil' and score > 0.7", 'fox'],
  ["(style = 'ink' or style = 'oil') and score > 0.7", 'fox'],
  ["(style = 'ink' or style = 'oil') and score < 0.7", 'owl'],
  ["not (style = 'ink' or style = 'oil')", 'elk bee'],
  ["not style = 'ink' and not style = 'oil'", 'elk bee'],
  ["NOT style = 'ink' AND guidance >= 10", 'owl ?elk bee'],
  // A missing value does not matter if the other part decides.
  ["score > 0.7 or style = '007'", 'fox elk ?bee'],
  ["score > 0.7 and style = '007'", '?elk'],
  ["prompt contains 'snow'", 'elk'],
  ["prompt contains 'it''s'", 'fox'],
  ['prompt contains "it\'s"', 'fox'],
  ["tags contains 'fox'", 'fox ?elk ?bee'],
  ["tags contains 'fo'", '?elk ?bee'],
  ["[art style] = 'A'", 'fox ?elk ?bee'],
  ["[art style] = ''", 'owl ?elk ?bee'],
  ["[a]]b] = 'x'", 'fox ?owl ?elk ?bee'],
  ['isOld = true', '?fox owl ?bee'],
  ['score < guidance', 'fox owl ?elk'],
])('%s', (text, expected) => {
  expect(told(text)).toBe(expected);
});

it.each([
  ['', 'it is empty'],
  ['scor > 1', '"scor" at character 1 is no column; did you mean score?'],
  ['style = impasto', `"impasto" at character 9 is no column; for a text, write 'impasto'`],
  ['colour = 1', 'is no column; known are prompt, score, guidance, style, art style, tags, isOld, a]b'],
  ['score', 'the end at character 6 is not expected there; expected =, !=, <, <=, >, >= or contains'],
  ['score >', 'the end at character 8 is not expected there; expected a name, a number or a text in quotes'],
  [
    'score > 1 guidance',
    '"guidance" at character 11 is not expected there; expected `and`, `or` or the end of the condition',
  ],
  ['(score > 1', 'the end at character 11 is not expected there; expected )'],
  ['score > 1 && score < 2', '& at character 11 is not understood; write and'],
  ["style = 'ink", 'the quote at character 9 is not closed'],
  ['style = ‘ink’', `‘ at character 9 is a typographic quote; write ' or "`],
  ['[art style = 1', 'the [ at character 1 is not closed'],
  ['score > and', '"and" at character 9 is not expected there'],
])('refuses %s', (text, why) => {
  expect(() => compileCondition(text, known)).toThrow(why);
});

it('reads a condition of ten thousand comparisons', () => {
  const text = Array.from({ length: 10_000 }, (_, i) => `score = ${i}`).join(' or ');
  expect(compileCondition(text, known)(() => 9_999)).toBe(true);
});

it('refuses brackets that no person writes', () => {
  expect(() => compileCondition('('.repeat(100_000), known)).toThrow('brackets');
});
