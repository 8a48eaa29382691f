/** Promise: a value of a typed column is read exactly as that type, or its row is bad. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { typedColumn } from '../../../src/runner/core/expansion.ts';

it.each([
  ['30', 30],
  [' 30 ', 30],
  ['-1.50', -1.5],
  ['1e3', 1000],
  ['1.5E-7', 1.5e-7],
  ['0', 0],
  ['-0', 0],
  ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ['0.1', 0.1],
  ['', null],
  ['  ', null],
  [null, null],
  [7.25, 7.25],
])('the number %j is %j', (given, value) => {
  expect(typedColumn(given, 'number')).toEqual({ value });
});

it.each([
  '030',
  '+5',
  '.5',
  '5.',
  '0x10',
  'NaN',
  'Infinity',
  '1,5',
  '1 000',
  '1_000',
  '30 steps',
  'true',
  '9007199254740993',
  '18446744073709551615',
  '0.12345678901234567890',
  '1e400',
])('no number: %s', (given) => {
  expect(typedColumn(given, 'number')).toEqual({ expected: expect.stringMatching(/^a number /) as string });
});

it.each([[true], [[1]], [{ a: 1 }]])('no number: the value %j', (given) => {
  expect(typedColumn(given, 'number')).toHaveProperty('expected');
});

it('a number as this program writes it is read as it was', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      fc.pre(!Number.isInteger(number) || Number.isSafeInteger(number) || String(number).includes('e'));
      expect(typedColumn(String(number), 'number')).toEqual({ value: number + 0 });
    }),
  );
});

it.each([
  ['true', true],
  ['FALSE', false],
  [' True ', true],
  [false, false],
  ['', null],
])('the boolean %j is %j', (given, value) => {
  expect(typedColumn(given, 'boolean')).toEqual({ value });
});

it.each(['yes', '1', 0, 'on', []])('no boolean: %j', (given) => {
  expect(typedColumn(given, 'boolean')).toEqual({ expected: 'true or false' });
});

it.each([
  ['{"a": [1, "2"]}', { a: [1, '2'] }],
  ['"text"', 'text'],
  ['12', 12],
  ['null', null],
  ['', null],
  [{ a: 1 }, { a: 1 }],
])('the JSON %j is %j', (given, value) => {
  expect(typedColumn(given, 'json')).toEqual({ value });
});

it.each([
  ['{a: 1}', 'is not valid JSON'],
  ['oil', 'is not valid JSON'],
  ['{"seed": 18446744073709551615}', 'holds 18446744073709551615, which would lose digits'],
  ['['.repeat(200) + ']'.repeat(200), 'is nested more than 100 levels deep'],
])('no JSON: %s', (given, why) => {
  expect(typedColumn(given, 'json')).toEqual({ expected: expect.stringContaining(why) as string });
});
