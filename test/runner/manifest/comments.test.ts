/**
 * Promise: `comments` skips comments and nothing else. Without it, a note mentions lines that look like
 * comments.
 */
import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { openManifest, type ManifestEntry } from '../../../src/runner/manifest/read-manifest.ts';
import { runs } from '../../fakes/tier.ts';
import { withFile } from './read-all.ts';

interface Read {
  rows: unknown[];
  lines: number[];
  notes: string[];
}

async function collect(manifest: Awaited<ReturnType<typeof openManifest>>): Promise<Read> {
  const entries: ManifestEntry[] = [];
  for await (const batch of manifest.batches) entries.push(...batch);
  return {
    rows: entries.map((entry) => (entry.kind === 'row' ? Object.values(entry.columns) : entry.problem)),
    lines: entries.map(({ line }) => line),
    notes: manifest.notes,
  };
}

const readingOf = (comments: string | undefined) => ({
  comments,
  trimsLines: true,
  readsSpreadsheets: true,
  findsIds: true,
});

function read(name: string, text: string, comments?: string): Promise<Read> {
  const reading = readingOf(comments);
  return withFile(name, text, async (path) => collect(await openManifest(path, { reading })));
}

async function readPieces(pieces: string[], comments: string): Promise<Read> {
  const source = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  return collect(await openManifest('-', { source, reading: readingOf(comments) }));
}

it('lines of a text that begin with the sign and white space are left out, and no others', async () => {
  const text = '# mine\nan owl\r\n#\n#\ttab\n#️⃣ keys\n#hashtag\n a # b\n#\r\n';
  const { rows, lines, notes } = await read('a.txt', text, '#');
  expect(rows).toEqual([['an owl'], ['#️⃣ keys'], ['#hashtag'], ['a # b']]);
  expect(lines).toEqual([2, 5, 6, 7]);
  expect(notes).toEqual([]);
  expect((await read('a.txt', '// no\n# yes\n//no\n', '//')).rows).toEqual([['# yes'], ['//no']]);
});

it('comments of CSV and TSV are left out around records, never within a quoted value', async () => {
  const csv = [
    `# don't "do this`,
    'id,scene',
    'a,x',
    '# "',
    'b,"first',
    '# a heading',
    '# another ""quoted"" one',
    'last"',
    '# a, b',
    'c,z',
    '# "never closed',
  ];
  const { rows, lines } = await read('a.csv', csv.join('\n'), '#');
  const heading = 'first\n# a heading\n# another "quoted" one\nlast';
  expect(rows).toEqual([
    ['a', 'x'],
    ['b', heading],
    ['c', 'z'],
  ]);
  expect(lines).toEqual([3, 5, 10]);
  const tsv = `# "x\nid\tscene\n# y "\na\t"open\n# z\nb\tx\n`;
  expect((await read('a.tsv', tsv, '#')).rows).toEqual([
    ['a', '"open'],
    ['b', 'x'],
  ]);
});

it('a quote that is never closed costs its row, and comments after it stay comments', async () => {
  const { rows } = await read('a.csv', 'id,scene\na,x\nb,"open\n# one\nc,z\n# two\n', '#');
  expect(rows).toEqual([
    ['a', 'x'],
    'has a quote that is never closed (the quote opens at line 3)',
    ['c', 'z'],
  ]);
});

it('a list of a million bytes in one value with headings is read in a moment', async () => {
  const long = '# a heading\n'.repeat(80_000);
  const { rows } = await read('a.csv', `id,scene\na,"${long}"\n# comment\nb,x\n`, '#');
  expect(rows).toEqual([
    ['a', long],
    ['b', 'x'],
  ]);
}, 10_000);

it('comments do not decide the format of standard input', async () => {
  expect((await readPieces(['# a\n# b,', ' c\n', 'id,scene\na,x\n'], '#')).rows).toEqual([['a', 'x']]);
  expect((await readPieces(['# a\n', '{"prompt":"x"}\n# b\n'], '#')).rows).toEqual([['x']]);
});

it('any table comes back with comments between its records, in pieces of any size', async () => {
  const part = fc.constantFrom('"', ',', '\n', '# ', '\n# x', 'a', '#', '\r\n#\t"');
  const cell = fc.array(part, { maxLength: 5 }).map((parts) => parts.join(''));
  const comment = fc.constantFrom('', '# "\n', '#\n# a,"b\n', '#\t"a",\r\n');
  const record = fc.record({ cells: fc.tuple(cell, cell), comment });
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      async (records, size) => {
        const lines = records.map(
          ({ cells, comment: before }) => before + stringify([cells], { quoted: true }),
        );
        const text = `id,scene\n${lines.join('')}`;
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const rows = records
          .map(({ cells }) => cells)
          .filter((cells) => cells.some((value) => value.trim() !== ''));
        expect((await readPieces(pieces, '#')).rows).toEqual(rows);
      },
    ),
    { numRuns: runs(300, { ms: 3 }) },
  );
});

it('without `comments` lines that look like comments are rows, and a note counts them', async () => {
  const text = await read('a.txt', '# one\nan owl\n#️⃣\n#tag\n# two\n');
  expect(text.rows).toHaveLength(5);
  expect(text.notes).toEqual([
    `2 lines begin with "# " (line 1, line 5), read like any other line; comments: '#' in pipeline.yaml leaves such lines out`,
  ]);
  expect((await read('a.txt', '# a\n'.repeat(1500))).notes).toEqual([
    `1,500 lines begin with "# " (line 1, line 2, line 3, …), read like any other line; comments: '#' in pipeline.yaml leaves such lines out`,
  ]);
  const csv = await read('a.csv', 'id,scene\n# a,x\n"# b",y\n# c\nd,"\n# e\n"\n');
  expect(csv.notes).toEqual([expect.stringContaining('2 lines begin with "# " (line 2, line 4)')]);
  expect(csv.rows[2]).toBe(
    `has 1 column; the header has 2 (comments: '#' in pipeline.yaml leaves out lines that begin with "# ")`,
  );
  expect((await read('a.csv', 'id,scene\n# a,x\n', '//')).notes).toEqual([]);
});
