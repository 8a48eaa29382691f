/** Promise: every manifest format that common programs write is read with exact texts and line numbers. */
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import { badRows, readFileOf, readStream, shown, withFile } from './read-all.ts';

describe('CSV', () => {
  it('keeps values as they are: spaces, quotes, commas, line breaks, Unicode', async () => {
    const text = 'id, scene ,mood\na,  two  cats ,""\nb,"a ""red"" fox,\nin snow",夜🌙\n';
    expect(await readFileOf('x.csv', text)).toEqual({
      columns: ['id', 'scene', 'mood'],
      entries: [
        { kind: 'row', line: 2, columns: { id: 'a', scene: '  two  cats ', mood: '' } },
        { kind: 'row', line: 3, columns: { id: 'b', scene: 'a "red" fox,\nin snow', mood: '夜🌙' } },
      ],
    });
  });

  it('counts every line, also blank ones and those within quotes', async () => {
    const { entries } = await readFileOf('x.csv', '\n\nid,scene\n\na,"1\n\n2"\n  \nb,x\n\n,\nc,y');
    expect(entries.map((entry) => entry.line)).toEqual([5, 9, 12]);
  });

  it.each([
    ['line feeds', '\n'],
    ['CR LF', '\r\n'],
    ['carriage returns alone', '\r'],
  ])('reads lines that end with %s, after a byte-order mark', async (_name, lineBreak) => {
    const read = await readFileOf(
      'x.csv',
      `\uFEFFid,scene\na,x${'\n'.repeat(0)}\nb,"y"\n`.replaceAll('\n', lineBreak),
    );
    expect(read).toEqual({
      columns: ['id', 'scene'],
      entries: [
        { kind: 'row', line: 2, columns: { id: 'a', scene: 'x' } },
        { kind: 'row', line: 3, columns: { id: 'b', scene: 'y' } },
      ],
    });
  });

  it('keeps the kind of line break within quotes, and carriage returns within values', async () => {
    expect(shown(await readFileOf('x.csv', 'id,scene\r\na,"1\r\n2\n3"\r\nb,4\r5\r\n'))).toEqual([
      { id: 'a', scene: '1\r\n2\n3' },
      { id: 'b', scene: '4\r5' },
    ]);
    expect(shown(await readFileOf('x.csv', 'id,scene\ra,"1\r\n2"\rb,3\r'))).toEqual([
      { id: 'a', scene: '1\r\n2' },
      { id: 'b', scene: '3' },
    ]);
  });

  it('takes a quote within a value as text', async () => {
    expect(shown(await readFileOf('x.csv', 'id,scene\na,a 12" record\nb,a sign: "open"\n'))).toEqual([
      { id: 'a', scene: 'a 12" record' },
      { id: 'b', scene: 'a sign: "open"' },
    ]);
  });

  it('keeps a replacement character that the file itself holds', async () => {
    expect(shown(await readFileOf('x.csv', 'id,scene\na,\uFFFD\n'))).toEqual([{ id: 'a', scene: '\uFFFD' }]);
  });

  it('may have only a header', async () => {
    expect(await readFileOf('x.csv', 'id,scene')).toEqual({ columns: ['id', 'scene'], entries: [] });
  });
});

describe('TSV', () => {
  it('takes quotes as text, unless they enclose a whole value', async () => {
    const text = 'id\tscene\na\t"G I" on a wall\nb\t"a ""b"" c"\nc\t"half\nd\t"tab\there"\ne\t"x" "y"\n';
    expect(shown(await readFileOf('x.tsv', text))).toEqual([
      { id: 'a', scene: '"G I" on a wall' },
      { id: 'b', scene: 'a "b" c' },
      { id: 'c', scene: '"half' },
      { id: 'd', scene: 'tab\there' },
      { id: 'e', scene: '"x" "y"' },
    ]);
  });

  it('reads quoted line breaks, and mixes of text quotes and quoted values', async () => {
    const text = 'id\tscene\tnote\r\na\t"1\r\n2"\t"n" of it\r\n\t\t\r\nb\t"q" of it\t"n"\r\n';
    expect(await readFileOf('x.tsv', text)).toMatchObject({
      entries: [
        { line: 2, columns: { id: 'a', scene: '1\r\n2', note: '"n" of it' } },
        { line: 5, columns: { id: 'b', scene: '"q" of it', note: 'n' } },
      ],
    });
  });

  it('reads quotes around tabs beside a quote that is text', async () => {
    expect(shown(await readFileOf('x.tsv', 'id\tscene\n"c" ""d\t"e\tf"\n'))).toEqual([
      { id: '"c" ""d', scene: 'e\tf' },
    ]);
  });

  it('does not let two text quotes swallow the rows between them', async () => {
    expect(shown(await readFileOf('x.tsv', 'scene\tsize\n"tall\tbig\nwide\tsmall\n5"\t-\n'))).toEqual([
      { scene: '"tall', size: 'big' },
      { scene: 'wide', size: 'small' },
      { scene: '5"', size: '-' },
    ]);
  });
});

describe('JSON Lines', () => {
  it('keeps types, nesting and the largest exact numbers', async () => {
    const row = {
      id: 7,
      scene: 'x "y" 99999999999999999999',
      seed: 9007199254740991,
      at: [1.5, null, { a: true }],
      e: 1e21,
    };
    const text = `\uFEFF${JSON.stringify(row)}\r\n\n  {"b":-9007199254740991}`;
    expect(await readFileOf('x.jsonl', text)).toEqual({
      columns: undefined,
      entries: [
        { kind: 'row', line: 1, columns: row },
        { kind: 'row', line: 3, columns: { b: -9007199254740991 } },
      ],
    });
  });
});

describe('plain text', () => {
  it('has exactly one prompt on each line', async () => {
    expect(await readFileOf('x.txt', 'a "cat", \t{1}\r\n\r\n  \n two ')).toEqual({
      columns: ['prompt'],
      entries: [
        { kind: 'row', line: 1, columns: { prompt: 'a "cat", \t{1}' } },
        { kind: 'row', line: 4, columns: { prompt: ' two ' } },
      ],
    });
  });
});

describe('the format of a list', () => {
  const csv = 'id,scene\na,b\n';
  const row = [{ id: 'a', scene: 'b' }];

  it.each([
    ['x.csv', csv, row],
    ['X.TSV', 'id\tscene\na\tb\n', row],
    ['x.jsonl', '{"id":"a","scene":"b"}', row],
    ['x.ndjson', '{"id":"a","scene":"b"}', row],
    ['x.txt', 'id,scene', [{ prompt: 'id,scene' }]],
  ])('is detected by the ending: %s, gzipped or not, whatever .gz says', async (name, text, expected) => {
    expect(shown(await readFileOf(name, text))).toEqual(expected);
    expect(shown(await readFileOf(`${name}.gz`, gzipSync(text)))).toEqual(expected);
    expect(shown(await readFileOf(name, gzipSync(text)))).toEqual(expected);
    expect(shown(await readFileOf(`${name}.gz`, text))).toEqual(expected);
  });

  it.each([
    ['{', '\n  {"a":1}', [{ a: 1 }]],
    ['a tab', 'a, id\tb\n1\t2', [{ 'a, id': '1', b: '2' }]],
    ['a header with id', 'n,ID\n1,2', [{ n: '1', ID: '2' }]],
    ['a header with prompt', '\n\n "Prompt" , n\n1,2', [{ '"Prompt"': '1', n: '2' }]],
    ['a header of one column', 'scene\nx', [{ scene: 'x' }]],
    [
      'a prompt with commas',
      'a cat, in a scene, at night\nx',
      [{ prompt: 'a cat, in a scene, at night' }, { prompt: 'x' }],
    ],
  ])('of standard input is detected by its first line: %s', async (_name, text, expected) => {
    expect(shown(await readStream(text))).toEqual(expected);
    expect(shown(await readStream(gzipSync(text)))).toEqual(expected);
  });

  it('is named for people', async () => {
    expect((await openManifest('-', { source: Readable.from([Buffer.from('x')]) })).path).toBe(
      'standard input',
    );
    await withFile('x.csv', csv, async (path) => expect((await openManifest(path)).path).toBe(path));
  });
});

it('reads gzip files of several members, as appending makes them', async () => {
  const bytes = Buffer.concat([gzipSync('a\nb'), gzipSync('c\nd\n')]);
  expect(shown(await readFileOf('x.txt.gz', bytes))).toEqual([
    { prompt: 'a' },
    { prompt: 'bc' },
    { prompt: 'd' },
  ]);
});

it('reads no further than it is asked to, and lets go of the source', async () => {
  let pulled = 0;
  const endless = (function* lines() {
    yield Buffer.from('id,scene\n');
    for (;;) yield Buffer.from(`${++pulled},x\n`.repeat(1000));
  })();
  const source = Readable.from(endless, { highWaterMark: 1 });
  let rows = 0;
  for await (const batch of (await openManifest('-', { source })).batches) {
    rows += batch.length;
    if (rows >= 5000) break;
  }
  expect(pulled).toBeLessThan(12);
  expect(source.destroyed).toBe(true);
});

it('good rows are not reported', async () => {
  expect(badRows(await readStream('id,scene\na,b\n'))).toEqual([]);
});
