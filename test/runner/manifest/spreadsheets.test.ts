/**
 * Promise: tables of spreadsheet programs are read: other separators, a line `sep=`, and empty values at the
 * ends.
 */
import { type ListReading, plainReading } from '../../../src/runner/core/expansion.ts';
import { describe, expect, it } from 'vitest';
import { sceneRules } from '../../../src/runner/core/scene.ts';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import { collect, complaint, readFileOf, readStream, shown, withFile } from './read-all.ts';

const ab = [
  { id: 'a', prompt: 'ein Hügel, im Morgenlicht' },
  { id: 'b', prompt: 'ein See' },
];

describe('the separator of values', () => {
  it.each([
    ['semicolons', 'x.csv', 'id;prompt\na;ein Hügel, im Morgenlicht\nb;ein See\n'],
    ['tabs', 'x.csv', 'id\tprompt\na\tein Hügel, im Morgenlicht\nb\tein See\n'],
    ['commas in a .tsv', 'x.tsv', 'id,prompt\na,"ein Hügel, im Morgenlicht"\nb,ein See\n'],
    ['tabs in a .txt', 'x.txt', 'id\tprompt\na\tein Hügel, im Morgenlicht\nb\tein See\n'],
    ['a line that says so', 'x.csv', 'sep=;\nid;prompt\na;ein Hügel, im Morgenlicht\nb;ein See\n'],
    ['quotes', 'x.csv', '"id";"prompt"\r\n"a";"ein Hügel, im Morgenlicht"\r\n"b";"ein See"\r\n'],
  ])('is found: %s', async (_, name, text) => {
    expect(shown(await readFileOf(name, text))).toEqual(ab);
  });

  it('is found in standard input', async () => {
    expect(shown(await readStream('id;prompt\na;ein Hügel, im Morgenlicht\nb;ein See\n'))).toEqual(ab);
    expect(shown(await readStream('sep=;\nNr;Text\na;b\n'))).toEqual([{ Nr: 'a', Text: 'b' }]);
  });

  it('is the one of the rows, if a name of the header has a comma', async () => {
    const read = await readFileOf('x.csv', 'Nr;Bild, deutsch;Seed\n1;ein See;7\n2;ein Hügel, grün;8\n');
    expect(read.columns).toEqual(['Nr', 'Bild, deutsch', 'Seed']);
    expect(shown(read)[1]).toEqual({ Nr: '2', 'Bild, deutsch': 'ein Hügel, grün', Seed: '8' });
  });

  it('stays the comma, whatever prompts have in them', async () => {
    const one = await readFileOf('x.csv', 'prompt\na hill; a lake\na boat; a bridge\n');
    expect(shown(one)).toEqual([{ prompt: 'a hill; a lake' }, { prompt: 'a boat; a bridge' }]);
    const two = await readFileOf('x.csv', 'prompt,note; more\na hill; a lake,x\n');
    expect(two.columns).toEqual(['prompt', 'note; more']);
  });

  it('is the comma as before in a batch that began earlier, unless the header was refused', async () => {
    const text = 'Nr;Bild, deutsch\n1;ein See\n';
    expect((await readBy(3, 'x.csv', text)).columns).toEqual(['Nr;Bild', 'deutsch']);
    expect((await readBy(3, 'x.csv', 'Nr;Bild\n1;ein See\n')).columns).toEqual(['Nr', 'Bild']);
  });
});

it('a line sep= of a .txt is a prompt', async () => {
  expect(shown(await readFileOf('x.txt', 'sep=;\na hill\n'))).toEqual([
    { prompt: 'sep=;' },
    { prompt: 'a hill' },
  ]);
});

describe('empty values', () => {
  it('beyond the header are ignored, and so are rows with only empty values', async () => {
    const read = await readFileOf('x.csv', 'id,prompt,,\na,a hill,,\nb,a lake\n,,,\nc,a boat,,x\n');
    expect(read.columns).toEqual(['id', 'prompt']);
    expect(shown(read)).toEqual([
      { id: 'a', prompt: 'a hill' },
      { id: 'b', prompt: 'a lake' },
      '5: has 4 columns; the header has 2 (put texts with commas in quotes)',
    ]);
  });

  it('make a row bad as before in a batch that began earlier', async () => {
    const read = await readBy(3, 'x.csv', 'id,prompt\na,a hill,\n,\n');
    expect(shown(read)).toEqual([
      '2: has 3 columns; the header has 2 (remove the empty values at its end: only batches that began with this version or later ignore them)',
      { id: '', prompt: '' },
    ]);
    expect(await complaint(readBy(3, 'x.csv', 'id,prompt,\na,a hill,\n'))).toContain('no name for column 3');
  });
});

it('a list without a header has the columns that are given', async () => {
  const reading = { ...plainReading, header: ['id', 'prompt'] };
  const read = await withFile('x.csv', 'a;a hill\nb;a lake;x\nc;a boat\n', async (path) =>
    collect(await openManifest(path, { reading })),
  );
  expect(read.columns).toEqual(['id', 'prompt']);
  expect(shown(read)).toEqual([
    { id: 'a', prompt: 'a hill' },
    '2: has 3 columns; `header` has 2 (put texts with semicolons in quotes)',
    { id: 'c', prompt: 'a boat' },
  ]);
});

function readBy(rules: keyof typeof sceneRules, name: string, text: string) {
  const reading: ListReading = sceneRules[rules];
  return withFile(name, text, async (path) => collect(await openManifest(path, { reading })));
}
