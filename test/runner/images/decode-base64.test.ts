/**
 * Promise: base64 is decoded to exactly the original bytes or rejected. It is never decoded to other bytes.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase64 } from '../../../src/runner/images/decoding.ts';
import { runs } from '../../fakes/tier.ts';

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
      const at = place % text.replace(/=+$/, '').length;
      expect(bytesOf(text.slice(0, at) + text.slice(at + count))).not.toEqual(bytes);
      // If only padding was removed, the text is still complete.
      const cut = bytesOf(text.slice(0, -count));
      if (cut !== undefined) expect(bytes.subarray(0, cut.length)).toEqual(cut);
      expect(bytesOf(`${text.slice(0, at)}${'A'.repeat(count)}${text.slice(at)}`)).not.toEqual(bytes);
    }),
  );
});

test('a character of another alphabet is refused', () => {
  const strange = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 1 })
    .filter((character) => !alphabet.includes(character) && !/[\s=_-]/u.test(character));
  fc.assert(
    fc.property(someBytes, fc.nat(), strange, (bytes, place, character) => {
      const text = bytes.toString('base64');
      const at = place % text.length;
      expect(bytesOf(text.slice(0, at) + character + text.slice(at + 1))).toBeUndefined();
      expect(bytesOf(text.slice(0, at) + character + text.slice(at))).toBeUndefined();
    }),
    { numRuns: runs(500, { ms: 0.5 }) },
  );
});

test('padding may be missing, and the alphabet may be the one for URLs, but not both alphabets at once', () => {
  fc.assert(
    fc.property(someBytes, (bytes) => {
      expect(bytesOf(bytes.toString('base64').replace(/=+$/, ''))).toEqual(bytes);
      expect(bytesOf(bytes.toString('base64url'))).toEqual(bytes);
      const padding = '='.repeat((3 - (bytes.length % 3)) % 3);
      expect(bytesOf(bytes.toString('base64url') + padding)).toEqual(bytes);
    }),
  );
  expect(bytesOf('ab+c-def')).toBeUndefined();
  expect(decodeBase64('ab+c-def')).toMatchObject({
    problem: expect.stringContaining('character 5') as string,
  });
  expect(bytesOf('QUJDR'), 'one character beyond').toBeUndefined();
  expect(bytesOf('QUJDRR'), 'cut within a byte').toBeUndefined();
});

test('padding that is too much or in the middle is refused', () => {
  fc.assert(
    fc.property(someBytes, fc.nat(), fc.integer({ min: 1, max: 4 }), (bytes, place, count) => {
      const text = bytes.toString('base64');
      const bare = text.replace(/=+$/, '');
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
      // The last character before the padding may have unused bits of any value.
      const bare = text.replaceAll(/\s/g, '').replace(/^data:[^,]*,/i, '');
      const again = bytes.toString('base64url');
      const unpadded = bare.replaceAll('+', '-').replaceAll('/', '_').replace(/=*$/, '');
      expect(again.length).toBe(unpadded.length);
      expect(again.slice(0, -1)).toBe(unpadded.slice(0, -1));
    }),
    { numRuns: runs(2000, { ms: 0.1 }) },
  );
});

function bytesOf(text: string): Buffer | undefined {
  const decoded = decodeBase64(text);
  return 'bytes' in decoded ? decoded.bytes : undefined;
}
