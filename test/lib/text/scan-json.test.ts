/**
 * Promise: the scanner accepts exactly what `JSON.parse` accepts, finds members as they are written, and does
 * not block the event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  isEmptyObject,
  scanJson,
  type ScannedJson,
  valueOrBeginning,
} from '../../../src/lib/text/scan-json.ts';
import { hostileJson } from '../../protocol/hostile-json.ts';

const limits = { maxDepth: 1_000, maxValues: 1_000_000 };
const names = ['output', 'error', 'a'];

const scan = (json: string | Buffer, given = limits): Promise<ScannedJson> =>
  scanJson(Buffer.from(json), names, given);

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

const kindOf = (value: unknown): 'object' | 'other' =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? 'object' : 'other';

/** Random sequences of characters that JSON consists of, so many are nearly valid JSON. */
const soup = fc
  .array(
    fc.constantFrom(
      ...'{}[]:,"\\ \n\t0123456789.eE+-truefalsn/bu'.split(''),
      'true',
      'null',
      '"a":',
      '\\u00e9',
      '\u0001',
      'Ä',
      '🎨',
      '\u2028',
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(''));

/** JSON with something inserted or removed at a random place. */
const nearly = fc.tuple(hostileJson, soup, fc.nat(), fc.nat(3)).map(([value, put, at, left]) => {
  const text = JSON.stringify(value);
  const where = at % (text.length + 1);
  return text.slice(0, where) + put.slice(0, 2) + text.slice(where + left);
});

it.each([
  ['what is nearly JSON', nearly],
  ['JSON', hostileJson.map((value) => JSON.stringify(value, null, ' '))],
  ['pieces of JSON', soup],
  ['numbers', fc.stringMatching(/^[-+0-9.eE]{1,8}$/)],
])('accepts the same JSON as `JSON.parse`: %s', async (_, texts) => {
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const read = parsed(text);
      const { kind } = await scan(text);
      expect(kind).toBe(read === undefined ? 'invalid' : kindOf(read.value));
    }),
    { numRuns: 1_000 },
  );
});

it('finds the last of each requested member, as it is written', async () => {
  const member = fc.tuple(
    fc.constantFrom(
      'output',
      'error',
      'a',
      'b',
      'out',
      '__proto__',
      String.raw`\u006futput`,
      String.raw`\"a`,
    ),
    hostileJson,
    fc.constantFrom('', ' ', '\n'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(member, { maxLength: 6 }), async (members) => {
      const inner = members.map(
        ([name, value, space]) => `"${name}"${space}:${space}${JSON.stringify(value)}${space}`,
      );
      const text = `\t{${inner.join(',')}}\n`;
      const scanned = await scan(text);
      if (scanned.kind !== 'object') throw new Error(scanned.kind);
      const value = JSON.parse(text) as Record<string, unknown>;
      const found = Object.fromEntries(
        [...scanned.members].map(([name, json]) => [name, JSON.parse(String(json))]),
      );
      expect(found).toEqual(
        Object.fromEntries(
          names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
        ),
      );
      expect(scanned.hasOthers).toBe(Object.keys(value).some((name) => !names.includes(name)));
    }),
  );
});

it('keeps long integers, and other values that can be written in more than one way', async () => {
  const scanned = await scan(
    '{"output": {"seed" : 18446744073709551615, "x":1.0} ,"a":-0,"error":"\\u00e9"}',
  );
  expect(scanned).toMatchObject({ kind: 'object', hasOthers: false });
  const { members } = scanned as Extract<ScannedJson, { kind: 'object' }>;
  expect([...members].map(([name, json]) => [name, String(json)])).toEqual([
    ['output', '{"seed" : 18446744073709551615, "x":1.0}'],
    ['a', '-0'],
    ['error', String.raw`"\u00e9"`],
  ]);
});

it('judges bytes that are no UTF-8, or begin with a byte order mark, as a decoder does', async () => {
  expect((await scan(Buffer.from([0x22, 0xff, 0x22]))).kind).toBe('not UTF-8');
  expect((await scan(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).kind).toBe('not UTF-8');
  expect((await scan('\ufeff{"a":1}')).kind).toBe('object');
  expect((await scan('{"a":1}\ufeff')).kind).toBe('invalid');
});

it('reads no further than its limits', async () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  expect((await scan(deep(1_000))).kind).toBe('other');
  expect((await scan(deep(1_001))).kind).toBe('deep');
  expect((await scan('['.repeat(5_000_000))).kind).toBe('deep');
  const few = { maxDepth: 10, maxValues: 5 };
  expect((await scan('{"a":[1,"x",null]}', few)).kind).toBe('object');
  expect((await scan('{"a":[1,"x",null,{}]}', few)).kind).toBe('many');
});

it.each([
  ['objects', `{"output":[${'{},'.repeat(2_000_000)}1]}`],
  ['a text', `{"output":"${'x'.repeat(6_000_000)}"}`],
  ['a number', `{"output":${'1'.repeat(6_000_000)}}`],
  ['names', `{${'"x":1,'.repeat(1_000_000)}"output":2}`],
  ['space', `{"output":1${' '.repeat(6_000_000)}}`],
])('lets other work run while it reads 6 MB of %s', async (_, text) => {
  let turns = 0;
  const reading = { isOver: false };
  const counting = (async () => {
    for (; !reading.isOver; turns += 1) await nextTurn();
  })();
  const scanned = await scan(text, { maxDepth: 10, maxValues: 10_000_000 });
  reading.isOver = true;
  await counting;
  expect(scanned.kind).toBe('object');
  expect(turns).toBeGreaterThan(20);
});

it('shows the beginning of a long value, and a short one as it is', () => {
  expect(valueOrBeginning(Buffer.from('{"a":[1]}'))).toEqual({ a: [1] });
  expect(valueOrBeginning(Buffer.from(`[${'1,'.repeat(100_000)}1]`))).toMatch(/^\[1,1,1/);
  for (const shift of ['', 'x', 'xx', 'xxx', 'xxxx', 'xxxxx']) {
    const text = valueOrBeginning(Buffer.from(`"${shift}${String.raw`\u00e9`.repeat(50_000)}"`)) as string;
    expect(text).toMatch(/^x*é+$/);
    expect(text.length).toBeGreaterThan(10_000);
  }
});

it('knows an object without members, whatever space is in it', () => {
  const all = ['{}', '{ \n\t }', '{ "a":1}', '[]', '1'];
  expect(all.filter((json) => isEmptyObject(Buffer.from(json)))).toEqual(['{}', '{ \n\t }']);
});
