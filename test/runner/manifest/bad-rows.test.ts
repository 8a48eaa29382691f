/** Promise: every bad row is reported with its exact line and reason, and the other rows are read. */
import { describe, expect, it } from 'vitest';
import { rest } from '../../fakes/tier.ts';
import { badRows, readFileOf, readStream, shown } from './read-all.ts';

const notUtf8 = (word: string): string =>
  `is not valid UTF-8; as Windows-1252 it reads "${word}": if that is right, add encoding: windows-1252 to pipeline.yaml`;
const mebibyte = 1024 * 1024;
const a = { id: 'a', scene: 'x' };
const z = { id: 'z', scene: 'y' };

describe('bad rows of CSV and TSV are reported:', () => {
  it('wrong column counts, with the id if there is one', async () => {
    const read = await readFileOf('x.csv', 'scene,id\nx,a\nx,b,c\nx\n,,\n"1\n2",b,c\ny,z\n');
    expect(shown(read)).toEqual([
      a,
      '3: has 3 columns; the header has 2 (put texts with commas in quotes)',
      '4: has 1 column; the header has 2',
      '6: has 3 columns; the header has 2 (its quotes join lines 6 to 7)',
      z,
    ]);
    expect(badRows(read)[0]).toEqual({
      kind: 'bad',
      line: 3,
      problem: 'has 3 columns; the header has 2 (put texts with commas in quotes)',
      id: 'b',
    });
    expect(badRows(read)[1]).not.toHaveProperty('id');
  });

  it('invalid UTF-8, also within a row of several lines', async () => {
    const bytes = Buffer.from('id,scene\na,x\nb,caf\xe9\nc,"1\n\xff\n3"\nz,y\n\xe9,k\n', 'latin1');
    const read = await readFileOf('x.csv', bytes);
    expect(read.entries).toEqual([
      { kind: 'row', line: 2, columns: a },
      { kind: 'bad', line: 3, problem: notUtf8('café'), id: 'b' },
      { kind: 'bad', line: 4, problem: `${notUtf8('ÿ')} (in line 5)`, id: 'c' },
      { kind: 'row', line: 7, columns: z },
      { kind: 'bad', line: 8, problem: notUtf8('é') },
    ]);
  });

  it('NUL characters', async () => {
    const expected = [a, '3: contains a NUL character', z];
    expect(shown(await readFileOf('x.csv', 'id,scene\na,x\nb,\0\nz,y\n'))).toEqual(expected);
    expect(shown(await readFileOf('x.tsv', 'id\tscene\na\tx\n\0\nz\ty\n'))).toEqual(expected);
  });

  it('a quote that is never closed, without losing the rows after it', async () => {
    const read = await readFileOf('x.csv', 'id,scene\na,x\nb,"open\nc,d\nz,y\n');
    expect(shown(read)).toEqual([
      a,
      '3: has a quote that is never closed (the quote opens at line 3)',
      { id: 'c', scene: 'd' },
      z,
    ]);
  });

  it('the line where the quote opened, in a row that began further up', async () => {
    const read = await readFileOf('x.csv', 'id,scene,n\na,x,1\n"b\nb","open,2\nz,y,3\n');
    expect(shown(read)).toEqual([
      { ...a, n: '1' },
      '3: has a quote that is never closed (the quote opens at line 4)',
      { ...z, n: '3' },
    ]);
  });

  it('a quote that the next quoted value seems to close, and whatever may belong to it', async () => {
    const read = await readFileOf('x.csv', 'id,scene\nb,"open\na,x\nc,"d"\ne,"f\ng" h,i\nz,y\n');
    expect(shown(read)).toEqual([
      '2: has text after the quote that closes a value (the quote opens at line 2)',
      a,
      { id: 'c', scene: 'd' },
      '5: has text after the quote that closes a value (the quote opens at line 5)',
      '6: has a quote that may belong to the one at line 5',
      z,
    ]);
  });

  it('text after a closing quote', async () => {
    expect(shown(await readFileOf('x.csv', 'id,scene\na,x\nb,"c" d\nz,y\n'))).toEqual([
      a,
      '3: has text after the quote that closes a value (the quote opens at line 3)',
      z,
    ]);
  });

  rest.it('a quote that is closed too late, and too long lines, at any length', async () => {
    const filler = 'c,d\n'.repeat(mebibyte / 4);
    const open = await readFileOf('x.csv', `id,scene\nb,"open\n${filler}e,"f"\n`);
    expect(badRows(open)).toEqual([
      {
        kind: 'bad',
        line: 2,
        problem: 'has a quote that is not closed within 1 MiB (the quote opens at line 2)',
        isOpen: true,
      },
    ]);
    expect(open.entries).toHaveLength(mebibyte / 4 + 2);
    expect(open.entries.at(-1)).toEqual({
      kind: 'row',
      line: mebibyte / 4 + 3,
      columns: { id: 'e', scene: 'f' },
    });
  });
});

describe('lines of a list', () => {
  it.each([0, 1, mebibyte, 5 * mebibyte])('are never longer than 1 MiB, by %d bytes', async (beyond) => {
    const text = `a\n${'x'.repeat(mebibyte + beyond)}\nz`;
    const expected = beyond === 0 ? { prompt: 'x'.repeat(mebibyte) } : '2: is longer than 1 MiB';
    expect(shown(await readFileOf('x.txt', text))).toEqual([{ prompt: 'a' }, expected, { prompt: 'z' }]);
    expect(shown(await readStream(text))).toEqual([{ prompt: 'a' }, expected, { prompt: 'z' }]);
  });

  it('are too long also at the end, at the start and without any line break', async () => {
    const long = 'x'.repeat(2 * mebibyte);
    expect(shown(await readFileOf('x.txt', long))).toEqual(['1: is longer than 1 MiB']);
    expect(shown(await readFileOf('x.csv', `id,scene\na,x\n${long}`))).toEqual([
      a,
      '3: is longer than 1 MiB',
    ]);
    expect(shown(await readFileOf('x.txt', `${long}\ny`))).toEqual([
      '1: is longer than 1 MiB',
      { prompt: 'y' },
    ]);
  });

  it('of plain text are UTF-8 without NUL', async () => {
    expect(shown(await readFileOf('x.txt', Buffer.from('a\n\xff\n\0\nz', 'latin1')))).toEqual([
      { prompt: 'a' },
      `2: ${notUtf8('ÿ')}`,
      '3: contains a NUL character',
      { prompt: 'z' },
    ]);
  });
});

describe('bad rows of JSON Lines are reported:', () => {
  it('malformed JSON, with the reason', async () => {
    const read = await readFileOf('x.jsonl', '{"a":1}\n{"a":1,}\n{"a"\n{"a":2}{"a":3}\n{"a":4}\n');
    expect(shown(read)).toEqual([
      { a: 1 },
      expect.stringMatching(/^2: is not valid JSON: Expected double-quoted property name/),
      expect.stringMatching(/^3: is not valid JSON: Expected ':' after property name/),
      expect.stringMatching(/^4: is not valid JSON: Unexpected non-whitespace character/),
      { a: 4 },
    ]);
  });

  it.each([
    ['[{"a":1}]', 'an array'],
    ['null', 'null'],
    ['"x"', 'a string'],
    ['7', 'a number'],
  ])('%s is not an object', async (text, name) => {
    expect(shown(await readFileOf('x.jsonl', text))).toEqual([`1: is not a JSON object but ${name}`]);
  });

  it.each(['9007199254740993', '-9007199254740992', '12345678901234567890', '1e400', '-1E+999'])(
    'the number %s, which would be changed',
    async (number) => {
      const read = await readFileOf('x.jsonl', `{"id":"a"}\n{"id":"b","deep":[{"seed":${number}}]}\n`);
      const problem = `holds ${number}, which would lose digits; write it in quotes`;
      expect(read.entries).toEqual([
        { kind: 'row', line: 1, columns: { id: 'a' } },
        { kind: 'bad', line: 2, problem, id: 'b' },
      ]);
    },
  );

  it.each([
    '"9007199254740993"',
    '"a \\"9007199254740993"',
    '0.12345678901234567890',
    '"\\\\",1e20',
    '1e-400',
  ])('no number within %s', async (value) => {
    expect(badRows(await readFileOf('x.jsonl', `{"a":[${value}]}`))).toEqual([]);
  });
});
