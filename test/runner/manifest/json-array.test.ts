/**
 * Promise: a JSON array has the same rows as JSON Lines of its objects, however its bytes are split. An array
 * without its end is rejected.
 */
import * as fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { badRows, complaint, readFileOf, readStream, shown } from './read-all.ts';
import { runs } from '../../fakes/tier.ts';

const row = fc.dictionary(
  fc.string({ maxLength: 6 }).filter((key) => key !== '__proto__'),
  fc.jsonValue({ maxDepth: 3 }),
);

it('an array gives the same as JSON Lines of the same objects', async () => {
  const cases = fc.record({
    rows: fc.array(row, { maxLength: 6 }),
    indent: fc.constantFrom(0, 2, '\t'),
    lineBreak: fc.constantFrom('\n', '\r\n'),
    isGzip: fc.boolean(),
    cuts: fc.array(fc.nat(300), { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ rows, indent, lineBreak, isGzip, cuts }) => {
      const text = `\uFEFF ${JSON.stringify(rows, null, indent).replaceAll('\n', lineBreak)}${lineBreak}`;
      const bytes = isGzip ? gzipSync(text) : Buffer.from(text);
      const lines = await readFileOf('x.jsonl', `{}\n${rows.map((each) => JSON.stringify(each)).join('\n')}`);
      const expected = withoutLines(shown(lines).slice(1));
      expect(withoutLines(shown(await readStream(...pieces(bytes, cuts))))).toEqual(expected);
      expect(withoutLines(shown(await readFileOf('x.json', bytes)))).toEqual(expected);
    }),
    { numRuns: runs(60, { ms: 16 }) },
  );
});

it('reports the line in which each element begins, whatever strings contain', async () => {
  const text = '[\n{"a": "]}\\"\\\\",\n "b": 1}, {"c": [\n{}]}\n\n,{"d":"\\u005d"}]\n';
  expect(await readFileOf('x.json', text)).toEqual({
    columns: undefined,
    entries: [
      { kind: 'row', line: 2, columns: { a: ']}"\\', b: 1 } },
      { kind: 'row', line: 3, columns: { c: [{}] } },
      { kind: 'row', line: 6, columns: { d: ']' } },
    ],
  });
});

it('names every element that is no good row, and reads the others', async () => {
  const elements = ['{"a": tru}', '[1]', '7', 'null', '{"n": 9007199254740993}', '{"a":1} {"b":2}', ''];
  const read = await readFileOf('x.json', `[${elements.join(',\n')}\n,{"good": 1}]`);
  expect(shown(read)).toEqual([
    expect.stringMatching(/^1: is not valid JSON: /),
    '2: is not a JSON object but an array',
    '3: is not a JSON object but a number',
    '4: is not a JSON object but null',
    expect.stringContaining('5: holds 9007199254740993, which would lose digits'),
    expect.stringMatching(/^6: is not valid JSON: /),
    '8: has no element: there is a comma too many',
    { good: 1 },
  ]);
});

it('a string is a prompt', async () => {
  expect(await readFileOf('x.json', '["a \\"red\\" fox",\n "[sea]"]')).toEqual({
    columns: undefined,
    entries: [
      { kind: 'row', line: 1, columns: { prompt: 'a "red" fox' } },
      { kind: 'row', line: 2, columns: { prompt: '[sea]' } },
    ],
  });
});

it('the last of a repeated key counts, as in JSON Lines', async () => {
  const object = '{"a": 1, "a": 2}';
  expect(shown(await readFileOf('x.json', `[${object}]`))).toEqual(
    shown(await readFileOf('x.jsonl', object)),
  );
});

it('reads on after an element without an end, invalid UTF-8, and white space between elements', async () => {
  const long = `{"a": "${'x'.repeat(1024 * 1024)}"}`;
  const bytes = Buffer.concat([
    Buffer.from(`[${long},\n`),
    Buffer.from('{"a": "\xe9"},', 'latin1'),
    Buffer.from(`{"a": "\0"}, ${' '.repeat(2 * 1024 * 1024)} {"good": 1},]`),
  ]);
  expect(badRows(await readFileOf('x.json', bytes))).toEqual([
    { kind: 'bad', line: 1, problem: 'is longer than 1 MiB' },
    { kind: 'bad', line: 2, problem: expect.stringContaining('add encoding: windows-1252') as string },
    { kind: 'bad', line: 2, problem: 'contains a NUL character' },
    { kind: 'bad', line: 2, problem: 'has no element: there is a comma too many' },
  ]);
});

it('an array may be empty of elements', async () => {
  expect(await readFileOf('x.json', ' [ \n ] ')).toEqual({ columns: undefined, entries: [] });
});

describe('an array is refused as a whole if', () => {
  it.each([
    [
      'it is cut',
      '[{"a": 1},\n{"b"',
      '2: ends within its array; rows may be missing: the element at line 2 is incomplete',
    ],
    ['it is cut between elements', '[{"a": 1},\n', '2: ends within its array; rows may be missing'],
    [
      'a quote is never closed',
      '[{"a": "1},\n{"b":1}]',
      '2: ends within its array; rows may be missing: the element at line 1 is incomplete',
    ],
    [
      'a bracket is never closed',
      '[{"a": {},\n{"b":1}]',
      '2: ends within its array; rows may be missing: the element at line 1 is incomplete',
    ],
    ['something follows it', '[{"a": 1}]\n[{"b": 1}]', '2: continues after the end of its array'],
    ['it is something else', '\n"x"', '2: is not a JSON array of objects, [{…}, {…}], or prompts'],
    ['it is empty', ' \n', ' is empty'],
  ])('%s', async (_name, text, problem) => {
    expect(await complaint(readFileOf('x.json', text))).toBe(`x.json:${problem}`);
    expect(await complaint(readFileOf('x.json.gz', gzipSync(text)))).toBe(`x.json.gz:${problem}`);
  });
});

it('an array of standard input is distinguished from prompts that begin with a bracket', async () => {
  expect(shown(await readStream(' \n[\n', '{"a": 1}]'))).toEqual([{ a: 1 }]);
  expect(shown(await readStream('[', ']'))).toEqual([]);
  expect(shown(await readStream('[oil] a hill\n[[blurry]] sea\n'))).toEqual([
    { prompt: '[oil] a hill' },
    { prompt: '[[blurry]] sea' },
  ]);
});

function withoutLines(rows: unknown[]): unknown[] {
  return rows.map((each) => (typeof each === 'string' ? each.replace(/^\d+: /, '') : each));
}

function pieces(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].toSorted(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}
