/** Promise: equal values have the same canonical JSON, and JSON that would lose information is detected. */
import { expect, it } from 'vitest';
import {
  canonicalJson,
  readExactJson,
  valueAt,
  whyNotKept,
  type JsonValue,
} from '../../../src/lib/text/json.ts';

it.each<[JsonValue, JsonValue]>([
  [
    { a: 1, b: { c: 2, d: 3 } },
    { b: { d: 3, c: 2 }, a: 1 },
  ],
  [[{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
  [
    { a: [1, { x: null, y: 'z' }], b: 2 },
    { a: [1, { y: 'z', x: null }], b: 2 },
  ],
  [
    { 1: 'a', 10: 'b', 9: 'c', a: 'd' },
    { a: 'd', 9: 'c', 10: 'b', 1: 'a' },
  ],
])('%j is spelled as %j', (one, other) => {
  expect(canonicalJson(other)).toBe(canonicalJson(one));
  expect(JSON.parse(canonicalJson(other))).toEqual(one);
});

it('canonical JSON has keys in code unit order, and leaves lists in theirs', () => {
  expect(canonicalJson({ b: [2, 1], a: { é: 1, Z: true, a: null } })).toBe(
    '{"a":{"Z":true,"a":null,"é":1},"b":[2,1]}',
  );
  expect(['x', 1, null, false].map(canonicalJson)).toEqual(['"x"', '1', 'null', 'false']);
});

it.each([
  [{ a: { b: 1 } }, ['a', 'b'], 1],
  [[{ a: [{ b: [1] }] }], ['a', 'b'], 1],
  [{ a: [1, 2] }, ['a'], [1, 2]],
  [[{ a: 1 }, { a: 2 }], ['a'], undefined],
  [{ a: 1 }, ['b'], undefined],
  [{ a: 1 }, ['toString'], undefined],
  [{ a: null }, ['a', 'b'], undefined],
  ['text', ['length'], undefined],
  [[], [], []],
])('the canonical JSON of %j, %j is %j', (value, keys, found) => {
  expect(valueAt(value, keys)).toEqual(found);
});

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

it.each([
  '{"seed": 9007199254740991, "text": "12345678901234567890", "small": 1e-400}',
  '{"text": "\\"12345678901234567890"}',
  '{"many": [12.345678901234567890, 1e300, -0.1234567890123456]}',
  nested(100),
  // Many lists side by side, and brackets within a text.
  `[${Array(300).fill('[]').join()}, "${'['.repeat(300)}"]`,
  `[${Array(300).fill('{}').join()}]`,
])('JSON that is kept without loss: %.60s', (json) => {
  expect(whyNotKept(json)).toBeUndefined();
  expect(readExactJson(json)).toEqual({ value: JSON.parse(json) as JsonValue });
});

it.each([
  ['{"seed": 9007199254740993}', 'holds 9007199254740993, which would lose digits; write it in quotes'],
  ['[-9007199254740993, 1, 1e400]', 'holds -9007199254740993, 1e400, which would lose digits'],
  [nested(101), 'is nested more than 100 levels deep'],
  [`{"a":`.repeat(101) + '1' + '}'.repeat(101), 'is nested more than 100 levels deep'],
])('JSON that would lose information: %.60s', (json, problem) => {
  expect(readExactJson(json)).toMatchObject({ problem: expect.stringContaining(problem) as string });
});

it('says why a text is not JSON', () => {
  expect(readExactJson('{a}')).toEqual({
    problem: expect.stringMatching(/^is not valid JSON: .+/) as string,
  });
});
