/** Promise: a folder of text files is a list. Each file is a prompt, and its name is the id. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'texts-'));
afterEach(() => rmSync(folder, { recursive: true }));

it('a folder of texts is read by name, and its fingerprint covers names and texts', async () => {
  const files = {
    'b.TXT': '\uFEFFtwo\nlines\n',
    'a.txt': 'one',
    'c.txt': ' \n',
    'd.txt': Buffer.of(0xe9),
    'e.md': 'no',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const heard: Buffer[] = [];
  const manifest = await openManifest(folder, { onBytes: (bytes) => void heard.push(bytes) });
  expect(manifest.columns).toEqual(['id', 'prompt']);
  const rows = [];
  for await (const batch of manifest.batches) rows.push(...batch);
  expect(rows).toEqual([
    { kind: 'row', line: 1, columns: { id: 'a', prompt: 'one' } },
    { kind: 'row', line: 2, columns: { id: 'b', prompt: 'two\nlines' } },
    { kind: 'bad', line: 3, problem: 'c.txt is empty' },
    { kind: 'bad', line: 4, problem: expect.stringContaining('d.txt is not valid UTF-8') as string },
  ]);
  expect(Buffer.concat(heard).toString()).toContain('a.txt\0one');
});

it('texts of a folder are read in UTF-16 and Windows-1252, each file by itself', async () => {
  mkdirSync(folder, { recursive: true });
  const wide = Buffer.from('\uFEFFGrüße', 'utf16le');
  const files = {
    'a.txt': wide,
    'b.txt': '\uFEFFé',
    'c.txt': Buffer.of(0xe9, 0x80),
    'd.txt': wide.subarray(0, -1),
    'e.txt': wide.subarray(2),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const reading = {
    encoding: 'windows-1252',
    trimsLines: true,
    readsSpreadsheets: true,
    findsIds: true,
  } as const;
  const { batches } = await openManifest(folder, { reading });
  for await (const rows of batches)
    expect(rows).toMatchObject([
      { columns: { id: 'a', prompt: 'Grüße' } },
      { columns: { id: 'b', prompt: 'é' } },
      { columns: { id: 'c', prompt: 'é€' } },
      { kind: 'bad', problem: 'd.txt is in UTF-16 and damaged or truncated; save it as UTF-8' },
      { kind: 'bad', problem: 'e.txt is in UTF-16 without a byte order mark; save it as UTF-8' },
    ]);
});
