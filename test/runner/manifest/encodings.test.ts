/**
 * Promise: lists in UTF-16 and Windows-1252 have the same rows as in UTF-8, and no other encoding is guessed.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import type { ListReading } from '../../../src/runner/core/expansion.ts';
import { badRows, complaint, readFileOf, shown, withFile } from './read-all.ts';

const list = 'id\tprompt\r\n1\tGrüße 🦊 夜\r\n';

function utf16(text: string, isBigEndian: boolean): Buffer {
  const bytes = Buffer.from(text, 'utf16le');
  return isBigEndian ? bytes.swap16() : bytes;
}

async function rowsOf(reading: ReturnType<typeof openManifest>): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const batch of (await reading).batches)
    rows.push(...batch.map((entry) => (entry.kind === 'row' ? entry.columns : entry.problem)));
  return rows;
}

const windows: ListReading = {
  encoding: 'windows-1252',
  trimsLines: true,
  readsSpreadsheets: true,
  findsIds: true,
};

describe.each([
  ['little-endian', false],
  ['big-endian', true],
])('UTF-16, %s,', (_, isBigEndian) => {
  const marked = utf16(`\uFEFF${list}`, isBigEndian);

  it.each([
    ['x.tsv', list, [{ id: '1', prompt: 'Grüße 🦊 夜' }]],
    ['x.txt', 'a\r夜\r', [{ prompt: 'a' }, { prompt: '夜' }]],
    ['x.jsonl', '{"prompt": "夜"}\n', [{ prompt: '夜' }]],
    ['x.json', ' [{"prompt": "夜"}]', [{ prompt: '夜' }]],
  ])('is read as %s', async (name, text, rows) => {
    const bytes = utf16(`\uFEFF${text}`, isBigEndian);
    expect(shown(await readFileOf(name, bytes))).toEqual(rows);
    expect(shown(await readFileOf(`${name}.gz`, gzipSync(bytes)))).toEqual(rows);
  });

  it('is read in whatever pieces it comes, and its bytes are reported unchanged', async () => {
    for (const size of [1, 2, 3, 5]) {
      const hash = createHash('sha256');
      const pieces = Array.from({ length: Math.ceil(marked.length / size) }, (__, at) =>
        marked.subarray(at * size, (at + 1) * size),
      );
      const reading = openManifest('-', {
        source: Readable.from(pieces),
        reading: windows,
        onBytes: (bytes) => void hash.update(bytes),
      });
      expect(await rowsOf(reading)).toEqual([{ id: '1', prompt: 'Grüße 🦊 夜' }]);
      expect(hash.digest('hex')).toBe(createHash('sha256').update(marked).digest('hex'));
    }
  });

  it('is refused if half a character is missing, or its mark', async () => {
    const half = utf16('\uFEFFid\tprompt\n1\t\uD83E\n', isBigEndian);
    for (const bytes of [half, marked.subarray(0, -1)])
      expect(await complaint(readFileOf('x.tsv', bytes))).toBe(
        'x.tsv: is in UTF-16 and damaged or truncated; save it as UTF-8',
      );
    expect(await complaint(readFileOf('x.tsv', utf16(list, isBigEndian)))).toBe(
      'x.tsv: is in UTF-16 without a byte order mark; save it as UTF-8',
    );
  });
});

describe('Windows-1252', () => {
  const bytes = Buffer.from(
    'id,prompt\n1,"Gr\xfc\xdfe, f\xfcr 5\x80 \x93M\xfcller\x94 fa\xe7ade"\n',
    'latin1',
  );

  it('is never guessed, and the refusal shows three words and the line that reads them', async () => {
    expect(badRows(await readFileOf('x.csv', bytes))).toMatchObject([
      {
        problem:
          'is not valid UTF-8; as Windows-1252 it reads "Grüße", "für", "5€": if that is right, add encoding: windows-1252 to pipeline.yaml',
      },
    ]);
  });

  it('shows no control characters', async () => {
    expect(badRows(await readFileOf('x.txt', Buffer.from('\x9d\x1b\x90x')))).toEqual([]);
    expect(badRows(await readFileOf('x.txt', Buffer.from('a\x1b[\x9d\xe9', 'latin1')))).toMatchObject([
      { problem: expect.stringContaining('reads "é":') as string },
    ]);
    expect(badRows(await readFileOf('x.txt', Buffer.of(0x9d)))).toMatchObject([
      { problem: 'is not valid UTF-8; save the list as UTF-8' },
    ]);
  });

  it('is read on request', async () => {
    await withFile('x.csv', bytes, async (path) => {
      const rows = await rowsOf(openManifest(path, { reading: windows }));
      expect(rows).toEqual([{ id: '1', prompt: 'Grüße, für 5€ “Müller” façade' }]);
    });
  });

  it('is rejected for a list in UTF-8, because it would garble the words', async () => {
    await withFile('x.csv', 'id,prompt\n1,größe\n', async (path) => {
      expect(await complaint(rowsOf(openManifest(path, { reading: windows })))).toBe(
        'x.csv: is in UTF-8, and not in Windows-1252, which would read "größe" as "grÃ¶ÃŸe"; save it in Windows-1252 as well, or leave out encoding',
      );
    });
    await withFile('x.csv', 'id,prompt\n1,size\n', async (path) => {
      expect(await rowsOf(openManifest(path, { reading: windows }))).toEqual([{ id: '1', prompt: 'size' }]);
    });
  });

  it('gives way to the byte order mark of UTF-8', async () => {
    await withFile('x.txt', '\uFEFFé', async (path) => {
      expect(await rowsOf(openManifest(path, { reading: windows }))).toEqual([{ prompt: 'é' }]);
    });
  });
});
