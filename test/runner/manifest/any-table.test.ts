/** Promise: a table has the same rows for any values in its cells, and however its bytes are split. */
import { stringify, type Options } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readFileOf, readStream } from './read-all.ts';
import { runs } from '../../fakes/tier.ts';

const character = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('"', '""', ',', '\t', '\n', '\r\n', '\r', ' ', '\uFEFF', '\uFFFD', '='),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 5 }) },
);
const cell = fc.array(character, { maxLength: 6 }).map((parts) => parts.join('').replaceAll('\0', ''));
const columnName = fc
  .array(fc.constantFrom('"', ',', '\t', 'é', 'a', '\n', '🌙'), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join('').trim())
  .filter((name) => name !== '');

function tableOf(value: fc.Arbitrary<string>): fc.Arbitrary<{ names: string[]; rows: string[][] }> {
  return fc.uniqueArray(columnName, { minLength: 2, maxLength: 4 }).chain((names) =>
    fc.record({
      names: fc.constant(names),
      rows: fc.array(fc.array(value, { minLength: names.length, maxLength: names.length }), { maxLength: 8 }),
    }),
  );
}

function expected(names: string[], rows: string[][]): unknown {
  let line = 1 + linesOf(names);
  const entries = rows.flatMap((cells) => {
    const columns = Object.fromEntries(names.map((name, index) => [name, cells[index]]));
    const entry = { kind: 'row', columns, line };
    line += linesOf(cells);
    // Spreadsheet programs write cleared rows as empty cells, and the reader skips them.
    return cells.every((value) => value.trim() === '') ? [] : [entry];
  });
  return { columns: names, entries };
}

const writing = fc.record({
  quoted: fc.boolean(),
  bom: fc.boolean(),
  isCrLf: fc.boolean(),
  isGzip: fc.boolean(),
});

function linesOf(cells: string[]): number {
  return cells.join('').split('\n').length;
}

function bytesOf(tokens: string[]): Buffer {
  return Buffer.concat(tokens.map((part) => Buffer.from(part, part === '\xff' ? 'latin1' : 'utf8')));
}

function optionsOf(how: { quoted: boolean; bom: boolean; isCrLf: boolean }): Options {
  const { quoted, bom } = how;
  return { quoted, bom, record_delimiter: how.isCrLf ? '\r\n' : '\n', quote_record_delimiter: true };
}

it('any table comes back from CSV', async () => {
  await fc.assert(
    fc.asyncProperty(tableOf(cell), writing, async ({ names, rows }, how) => {
      const text = stringify([names, ...rows], optionsOf(how));
      expect(await readFileOf('x.csv', how.isGzip ? gzipSync(text) : text)).toEqual(expected(names, rows));
    }),
    { numRuns: runs(300, { ms: 6 }) },
  );
});

it('any table comes back from TSV, unless a cell holds both tabs and line breaks', async () => {
  const tsvCell = cell.filter((value) => !(value.includes('\t') && value.includes('\n')));
  await fc.assert(
    fc.asyncProperty(tableOf(tsvCell), writing, async ({ names, rows }, how) => {
      fc.pre(names.every((name) => !(name.includes('\t') && name.includes('\n'))));
      const text = stringify([names, ...rows], { ...optionsOf(how), delimiter: '\t' });
      expect(await readFileOf('x.tsv', how.isGzip ? gzipSync(text) : text)).toEqual(expected(names, rows));
    }),
    { numRuns: runs(300, { ms: 6 }) },
  );
});

it('any unquoted TSV comes back exactly, quotes included', async () => {
  const isWhole = /^"(?:[^"]|"")*"$/;
  const bare = cell
    .map((value) => value.replaceAll(/[\t\r\n]/g, ''))
    // Quotes around a whole value would be removed, so such values are excluded.
    .filter((value) => !isWhole.test(value));
  const row = fc.array(bare, { minLength: 3, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 8 }), async (rows) => {
      // If a quote opens in one cell and closes in a later cell of the same line, it encloses a value with
      // tabs.
      fc.pre(rows.every((cells) => !/(?:^|\t)"(?:[^"]|"")*"(?:\t|$)/.test(cells.join('\t'))));
      // A quote that opens in the last cell of a line may close in a later line, which is ambiguous too.
      fc.pre(rows.every((cells) => !/^"(?:[^"]|"")*$/.test(cells[2] ?? '')));
      const text = [['a', 'b', 'c'], ...rows].map((cells) => `${cells.join('\t')}\n`).join('');
      expect(await readFileOf('x.tsv', text)).toEqual(expected(['a', 'b', 'c'], rows));
    }),
    { numRuns: runs(300, { ms: 6 }) },
  );
});

it('the same bytes give the same rows in pieces of any size', async () => {
  const token = fc.constantFrom(
    '"',
    '""',
    ',',
    '\t',
    '\n',
    '\r\n',
    '\r',
    'a',
    'é',
    '🌙',
    ' ',
    '\0',
    '{"a":1}',
    '\xff',
  );
  const start = fc.constantFrom(
    'id,x\n',
    'id\tx\r\n',
    'id,x\r',
    '{}\n',
    'text\n',
    '\uFEFFid,"x\n"\n',
    'id,x\r\n',
  );
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.array(token, { maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      fc.boolean(),
      async (head, tokens, sizes, isGzip) => {
        const plain = Buffer.concat([Buffer.from(head), bytesOf(tokens)]);
        const whole = isGzip ? gzipSync(plain) : plain;
        const pieces: Buffer[] = [];
        for (let at = 0, turn = 0; at < whole.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          pieces.push(whole.subarray(at, at + size));
          at += size;
        }
        expect(await readStream(...pieces)).toEqual(await readStream(whole));
      },
    ),
    { numRuns: runs(1000, { ms: 1 }) },
  );
});
