/**
 * Promise: a JSON object is read in the only way that its content allows: rows by id, a list in a key, a
 * single row, or JSON Lines.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { complaint, readFileOf, readStream, shown } from './read-all.ts';
import { runs } from '../../fakes/tier.ts';

const row = (line: number, columns: unknown) => ({ kind: 'row', line, columns });

describe('a JSON object with rows by id', () => {
  it.each([
    [
      'objects',
      '{"b1": {"prompt": "a"},\n\n"b2": {"prompt": "b", "n": [1]}}',
      [
        { id: 'b1', prompt: 'a' },
        { id: 'b2', prompt: 'b', n: [1] },
      ],
    ],
    [
      'texts',
      '{ "0001": "an \\"owl\\"",\n "__proto__": "a, {b}\\\\" }',
      [
        { id: '0001', prompt: 'an "owl"' },
        { id: '__proto__', prompt: 'a, {b}\\' },
      ],
    ],
    ['a row with an id of its own', '{"b1": {"id": "own", "prompt": "a"}}', [{ id: 'own', prompt: 'a' }]],
    [
      'repeated keys',
      '{"a": "x", "a": "y"}',
      [
        { id: 'a', prompt: 'x' },
        { id: 'a', prompt: 'y' },
      ],
    ],
    ['nothing', ' {\n} ', []],
    [
      'an empty list beside the one that is meant',
      '{"errors": [], "items": ["an owl"]}',
      [{ prompt: 'an owl' }],
    ],
    [
      'texts that tell of the list alone',
      '{"title": "My set", "author": "Ann"}',
      [{ title: 'My set', author: 'Ann' }],
    ],
  ])('%s', async (_name, text, rows) => {
    expect(shown(await readFileOf('x.json', text))).toEqual(rows);
  });

  it('reports the line of each row, and names every bad row by its id', async () => {
    const text = `{"a": {"prompt": "x"},\n"b": null,\n\n"c": {"n": 9007199254740993},"d": {tru},\n"e": {"x": "${'y'.repeat(2 ** 20)}"},}`;
    const { entries } = await readFileOf('x.json', text);
    const bad = (line: number, problem: string) => ({
      kind: 'bad',
      line,
      problem: expect.stringContaining(problem) as string,
    });
    expect(entries).toEqual([
      row(1, { id: 'a', prompt: 'x' }),
      { ...bad(2, 'is not a JSON object but null'), id: 'b' },
      { ...bad(4, 'would lose digits'), id: 'c' },
      bad(4, 'is not valid JSON'),
      bad(5, 'is longer than 1 MiB'),
      bad(5, 'there is a comma too many'),
    ]);
  });

  it('gives every row in its order, in chunks of any size', async () => {
    const rows = fc.array(fc.tuple(fc.string(), fc.string({ minLength: 1, unit: 'grapheme' })), {
      minLength: 2,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(rows, fc.nat(40), async (members, at) => {
        const text = `{\n${members.map(([id, prompt]) => `${JSON.stringify(`x${id}`)}: ${JSON.stringify({ prompt })}`).join(' ,')}}`;
        const bytes = Buffer.from(text);
        const read = await readStream(bytes.subarray(0, at), bytes.subarray(at));
        expect(shown(read)).toEqual(members.map(([id, prompt]) => ({ id: `x${id}`, prompt })));
      }),
      { numRuns: runs(40, { ms: 8 }) },
    );
  });
});

it.each([
  ['alone', '{"prompts": ["a",\n{"prompt": "b"}]}'],
  [
    'beside others',
    '{"id": 7, "description": "x", "defaults": {"steps": 3}, "it": ["a",\n{"prompt": "b"}], "n": null}',
  ],
])('reads a list in a JSON object %s, with the lines of its rows', async (_name, text) => {
  expect((await readFileOf('x.json', text)).entries).toEqual([
    row(1, { prompt: 'a' }),
    row(2, { prompt: 'b' }),
  ]);
});

it('reads a long list in a JSON object in batches', async () => {
  const prompts = Array.from({ length: 20_000 }, (_, index) => `prompt ${index}, of a long list`);
  const { entries } = await readFileOf('x.json', JSON.stringify({ version: 1, prompts }, null, 1));
  expect(entries).toHaveLength(20_000);
  expect(entries.at(-1)).toEqual(row(20_003, { prompt: prompts.at(-1) }));
});

it.each([
  '{"id": "a", "caption": "an owl"}',
  '{"prompt": "an owl", "size": [512, 512]}',
  '{"file": "a.png", "n": 3}',
])('an object without rows is one row: %s', async (text) => {
  expect((await readFileOf('x.json', `\n${text}`)).entries).toEqual([row(2, JSON.parse(text))]);
});

it('reads a .json of JSON Lines line by line', async () => {
  const text = '{"id": 1, "prompt": "a"}\n\n{"id": 2, "prompt": "b"}\n{"id": \n';
  expect(shown(await readFileOf('x.json', text))).toEqual([
    { id: 1, prompt: 'a' },
    { id: 2, prompt: 'b' },
    expect.stringMatching(/^4: is not valid JSON/),
  ]);
});

it.each([
  [
    'several lists',
    '{"good": ["a"], "bad": ["b"]}',
    ' has several lists: good, bad; take one out of it: jq .NAME OLD > NEW.json',
  ],
  [
    'rows by id and others',
    '{"version": "1", "a": {"prompt": "x"}}',
    ` has rows by id and other values; write all of them as rows: jq 'map_values(if type == "object" then . elif type == "string" then {prompt: .} else empty end)' OLD > NEW.json`,
  ],
  [
    'rows by id and a list',
    '{"a": {"prompt": "x"}, "b": ["y"]}',
    ` has rows by id and other values; write all of them as rows: jq 'map_values(if type == "object" then . elif type == "string" then {prompt: .} else empty end)' OLD > NEW.json`,
  ],
  [
    'objects of several lines',
    '{\n"prompt": "a"}\n{"prompt": "b"}',
    '3: continues after the end of its object; write one object a line: jq -c . OLD > NEW.jsonl',
  ],
  [
    'a cut',
    '{"a": "x",\n"b": {"pro',
    '2: ends within its object; rows may be missing: the element at line 2 is incomplete',
  ],
  [
    'too much',
    `{"a": "${'x'.repeat(64 * 1024 * 1024)}"}`,
    " is an object of more than 64 MiB; make a list of its rows (jq -c 'to_entries[] | {id: .key} + .value' OLD > NEW.jsonl), or take the list out of it (jq .NAME OLD > NEW.json)",
  ],
])('an object is refused for %s', async (_name, text, problem) => {
  expect(await complaint(readFileOf('x.json', text))).toBe(`x.json:${problem}`);
});

it('an object of standard input is one if its first line is a brace, else a line of JSON Lines', async () => {
  expect(shown(await readStream('{', '\r\n "a": "x",\n"b": "y"}'))).toEqual([
    { id: 'a', prompt: 'x' },
    { id: 'b', prompt: 'y' },
  ]);
  expect(shown(await readStream('{"a": "x", "b": "y"}'))).toEqual([{ a: 'x', b: 'y' }]);
});
