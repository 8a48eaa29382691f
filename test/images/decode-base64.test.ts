/** Base64 comes back as the bytes it was made of, or is refused: never as other bytes. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase64 } from '../../src/images/decode-base64.ts';

const someBytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

test('any bytes come back, also from a data URI and with white space anywhere', () => {
  const prefix = fc.constantFrom('', 'data:image/png;base64,', 'DATA:image/webp;name=a b;Base64 ,');
  fc.assert(
    fc.property(someBytes, prefix, space, fc.nat(), (bytes, start, gap, place) => {
      const text = bytes.toString('base64');
      const at = place % (text.length + 1);
      expect(bytesOf(`${start}${text.slice(0, at)}${gap}${text.slice(at)}`)).toEqual(bytes);
    }),
  );
});

test('a text of another length is refused', () => {
  fc.assert(
    fc.property(someBytes, fc.nat(), fc.integer({ min: 1, max: 3 }), (bytes, place, count) => {
      const text = bytes.toString('base64');
      const at = place % text.length;
      expect(bytesOf(text.slice(0, at) + text.slice(at + count))).not.toEqual(bytes);
      expect(bytesOf(text.slice(0, -count))).toBeUndefined();
      expect(bytesOf(`${text.slice(0, at)}${'A'.repeat(count)}${text.slice(at)}`)).toBeUndefined();
    }),
  );
});

test('a character of another alphabet is refused', () => {
  const strange = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 1 })
    .filter((character) => !alphabet.includes(character) && !/[\s=]/u.test(character));
  fc.assert(
    fc.property(someBytes, fc.nat(), strange, (bytes, place, character) => {
      const text = bytes.toString('base64');
      const at = place % text.length;
      expect(bytesOf(text.slice(0, at) + character + text.slice(at + 1))).toBeUndefined();
      expect(bytesOf(text.slice(0, at) + character + text.slice(at))).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test('padding that is missing, too much or in the middle is refused', () => {
  fc.assert(
    fc.property(someBytes, fc.nat(), fc.integer({ min: 1, max: 4 }), (bytes, place, count) => {
      const text = bytes.toString('base64');
      const bare = text.replace(/=+$/, '');
      if (bare !== text) expect(bytesOf(bare)).toBeUndefined();
      expect(bytesOf(text + '='.repeat(count))).toBeUndefined();
      const at = place % bare.length;
      expect(bytesOf(bare.slice(0, at) + '='.repeat(count) + bare.slice(at))).not.toEqual(bytes);
    }),
  );
});

test('any text is refused or is all read: nothing of it is passed over', () => {
  const nearly = fc
    .array(fc.constantFrom(...alphabet.split(''), '=', '=', '-', '_', '.', '\n', 'Ł'), { maxLength: 24 })
    .map((characters) => characters.join(''));
  fc.assert(
    fc.property(fc.oneof(nearly, fc.string({ unit: 'binary' })), (text) => {
      const bytes = bytesOf(text);
      if (bytes === undefined) return;
      // The last character before padding may carry bits that mean nothing.
      const bare = text.replaceAll(/\s/g, '').replace(/^data:[^,]*,/i, '');
      const again = bytes.toString('base64');
      expect(again.length).toBe(bare.length);
      expect(again.replace(/.=*$/, '')).toBe(bare.replace(/.=*$/, ''));
    }),
    { numRuns: 2000 },
  );
});

function bytesOf(text: string): Buffer | undefined {
  const decoded = decodeBase64(text);
  return 'bytes' in decoded ? decoded.bytes : undefined;
}
