/** Promise: a folder of texts is a list: each file is a prompt, and its name the id. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'texts-'));
afterEach(() => rmSync(folder, { recursive: true }));

it('reads the texts by name, and tells of bytes that change', async () => {
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
