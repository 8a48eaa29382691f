/** Promise: a message shows a value as it was written, and never a possible secret. */
import { describe, expect, it } from 'vitest';
import { redact, secretsOf, shownKey, shownValue } from '../../../src/lib/yaml/problem.ts';
import { duration, durationText, sizeText, sizeWithin } from '../../../src/lib/yaml/scalar-schemas.ts';

const none = { writtenAs: () => undefined };
const secret = 'sk-1234567890';

describe('a value', () => {
  it.each<[unknown, (string | number)[], string]>([
    [null, ['notify'], 'empty'],
    ['text', ['a'], '"text"'],
    [3, ['a'], '3'],
    [Number.NaN, ['a'], 'not a number'],
    [[], ['a'], 'an empty list'],
    [[1], ['a'], 'a list'],
    [{ a: 1 }, ['a'], 'keys and values'],
    ['x'.repeat(78), ['a'], `"${'x'.repeat(78)}"`],
    ['x'.repeat(79), ['a'], `"${'x'.repeat(78)}…`],
    [`with ${secret} in it`, ['a'], '"with … in it"'],
    // These values are secrets, because they allow access.
    ['https://hook.example/x', ['notify', 'url'], 'not valid'],
    ['postgres://me:pw@h/d', ['checkpoint'], 'not valid'],
    ['postgres://me:pw@h/d', ['store'], 'not valid'],
    ['x', ['endpoints', 0, 'environment', 'KEY'], 'not valid'],
    ['http://ann:pw%@proxy:3128', ['webhooks', 'proxy'], 'not valid'],
    ['ann:pw@proxy', ['webhooks', 'proxy'], 'not valid'],
    ['https://proxy:3128/a b', ['webhooks', 'proxy'], '"https://proxy:3128/a b"'],
    [7, ['notify', 'url'], '7'],
    // A long text in a wrong place may be a key.
    ['x'.repeat(14), ['endpoint', 'id'], `"${'x'.repeat(14)}"`],
    ['x'.repeat(15), ['endpoint', 'id'], 'not valid'],
    ['x'.repeat(15), [], 'not valid'],
    ['x'.repeat(15), ['output'], `"${'x'.repeat(15)}"`],
  ])('%j at %j is %s', (value, path, shown) => {
    expect(shownValue(value, path, none, [secret])).toBe(shown);
  });

  it('from the environment is shown as it stands in the file', () => {
    const yaml = { writtenAs: () => `\${A} ${secret}` };
    expect(shownValue('its value', ['a'], yaml, [secret])).toBe('"${A} …", from the environment');
    expect(shownValue('its value', ['notify'], yaml, [])).toBe('not valid');
    const address = { writtenAs: () => 'http://ann:pw@${HOST}' };
    expect(shownValue('http://ann:pw@proxy/x', ['webhooks', 'proxy'], address, [])).toBe('not valid');
  });
});

it.each([
  ['concurrency', 'the key "concurrency"'],
  ['base-Url_', 'the key "base-Url_"'],
  ['<<', 'the key "<<"'],
  ['a'.repeat(24), `the key "${'a'.repeat(24)}"`],
  ['a'.repeat(25), 'this key'],
  ['sk1234', 'this key'],
  ['', 'this key'],
])('the key %j is shown as %s', (key, shown) => {
  expect(shownKey(key)).toBe(shown);
});

it('secrets are found wherever the file or the environment has them', () => {
  const env = { NIGHTRENDER_API_KEY: 'from-the-environment' };
  expect(secretsOf({ endpoint: { apiKey: secret } }, env)).toEqual(['from-the-environment', secret]);
  expect(secretsOf({ endpoint: { apiKey: { a: [secret, 1234567, null, 'short'] } } }, {})).toEqual([
    secret,
    '1234567',
  ]);
  for (const value of [undefined, null, 'text', { endpoint: null }, { endpoint: {} }])
    expect(secretsOf(value, { NIGHTRENDER_API_KEY: '12345' })).toEqual([]);
  expect(secretsOf({}, { NIGHTRENDER_API_KEY: '123456' })).toEqual(['123456']);
  expect(redact('a b a', ['a', 'b'])).toBe('… … …');
});

describe('durations and sizes', () => {
  it.each([
    ['90s', 90_000],
    [' 1.5 h ', 5_400_000],
    ['0s', 0],
    ['20d', 1_728_000_000],
    ['20.1d', undefined],
    ['5', undefined],
    ['5 weeks', undefined],
    ['-5s', undefined],
  ])('%s is %s ms', (text, ms) => {
    expect(duration.safeParse(text).data).toBe(ms);
  });

  it.each([
    ['64MB', 64e6],
    ['1KiB', 1_024],
    ['1KB', 1_000],
    ['999B', undefined],
    ['2GiB', undefined],
    ['1mb', undefined],
  ])('%s is %s bytes', (text, bytes) => {
    expect(sizeWithin('1kB', '1GiB').safeParse(text).data).toBe(bytes);
  });

  it('are written as people write them', () => {
    expect([0, 1, 90_000, 600_000, 86_400_000, 172_800_000, 129_600_000].map(durationText)).toEqual([
      '0h',
      '1ms',
      '90s',
      '10m',
      '24h',
      '2d',
      '36h',
    ]);
    expect([8e9, 1_000, 128 * 2 ** 20, 1_024, 1_025].map(sizeText)).toEqual([
      '8GB',
      '1kB',
      '128MiB',
      '1KiB',
      '1025B',
    ]);
  });
});
