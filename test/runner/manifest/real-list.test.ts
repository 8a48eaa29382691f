/** Promise: a real list of 1,632 prompts with unbalanced quotes is read exactly. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readFileOf } from './read-all.ts';

const list = new URL('../../../../shared/data/parti-prompts.tsv', import.meta.url);

it.skipIf(!existsSync(list))('parti-prompts.tsv (skipped if the list is not at hand)', async () => {
  const bytes = readFileSync(list);
  const [header = '', ...lines] = bytes.toString().replace(/\n$/, '').split('\n');
  const names = header.split('\t');
  const rows = lines.map((line, index) => ({
    kind: 'row',
    line: index + 2,
    columns: Object.fromEntries(line.split('\t').map((value, at) => [names[at], value])),
  }));
  expect(rows).toHaveLength(1632);
  expect(await readFileOf('parti-prompts.tsv', bytes)).toEqual({ columns: names, entries: rows });
});
