/**
 * Promise: texts from outside are shown unchanged, except that they can neither control the terminal nor
 * break a line.
 */
import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import { cutTo, escapeControls, padTo, widthOf } from '../../src/terminal/fit-text.ts';

it.each([
  ['a harbour at dawn', 'a harbour at dawn'],
  ['夜の港 🏔️ 👩‍👩‍👧', '夜の港 🏔️ 👩‍👩‍👧'],
  ['red \u001b[31mred\u001b[0m', 'red \\x1b[31mred\\x1b[0m'],
  ['\u001b]0;title\u0007', '\\x1b]0;title\\x07'],
  ['one\r\ntwo\tthree', 'one\\r\\ntwo\\tthree'],
  ['\u009b2J', '\\x9b2J'],
  ['abc\u202etxt.exe', 'abc\\u202etxt.exe'],
  ['zero\u200bwidth', 'zero\\u200bwidth'],
  ['half \ud83d', 'half \ufffd'],
])('%j is shown as %j', (text, shown) => {
  expect(escapeControls(text)).toBe(shown);
});

it.each([
  ['a harbour at dawn', 9, 'a harbou…'],
  ['a harbour', 9, 'a harbour'],
  ['夜の港に船', 7, '夜の港…'],
  ['夜の港に船', 8, '夜の港…'],
  ['👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 4, '👩‍👩‍👧…'],
  ['abc', 1, '…'],
  ['abc', 0, ''],
  ['夜', 0, ''],
])('the text %j in %i cells is %j', (text, columns, cut) => {
  expect(cutTo(text, columns)).toBe(cut);
});

it('a text takes no more cells than there are, and as many if it is padded', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, columns) => {
      const cut = cutTo(escapeControls(text), columns);
      expect(stringWidth(cut)).toBeLessThanOrEqual(columns);
      expect(widthOf(padTo(cut, columns))).toBe(columns);
    }),
  );
});

it('a fitted text has no control characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(escapeControls(text)).not.toMatch(/\p{Cc}/u);
    }),
  );
});
