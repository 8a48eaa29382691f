/**
 * Promise: `manifest` accepts patterns and folders of Parquet files, and never reads files that the batch
 * itself wrote.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { linesOf, tempFolder } from './pipeline-file.ts';

function folderOf(files: string[]): string {
  const folder = tempFolder();
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), 'x');
  }
  return folder;
}

/** Returns the lists that this `manifest` matches, as paths relative to the folder of pipeline.yaml. */
function listsOf(folder: string, manifest: string): string[] {
  const file = join(folder, 'pipeline.yaml');
  writeFileSync(file, `manifest: ${manifest}\nendpoint: {baseUrl: local, id: x}\noutput: {dir: out}\n`);
  return readConfig(file, [], {}).manifestFiles.map(({ path }) => relative(folder, path));
}

const lists = [
  'lists/b.txt',
  'lists/a.txt',
  'lists/c.csv',
  'lists/.hidden.txt',
  'lists/deep/er/d.txt',
  'z.txt',
];

describe('a pattern', () => {
  it.each([
    ['lists/*.txt', ['lists/a.txt', 'lists/b.txt']],
    ['lists/?.txt', ['lists/a.txt', 'lists/b.txt']],
    ["'lists/[!a].*'", ['lists/b.txt', 'lists/c.csv']],
    ["'lists/[b-c].*'", ['lists/b.txt', 'lists/c.csv']],
    ["'**/*.txt'", ['lists/a.txt', 'lists/b.txt', 'lists/deep/er/d.txt', 'z.txt']],
    ['lists/**', ['lists/a.txt', 'lists/b.txt', 'lists/c.csv', 'lists/deep/er/d.txt']],
    ['lists/**/d.txt', ['lists/deep/er/d.txt']],
    ["'*/[a]*.txt'", ['lists/a.txt']],
    ['[lists/b.txt, lists/*.txt, z.txt]', ['lists/b.txt', 'lists/a.txt', 'z.txt']],
    ["[lists/b.txt, 'lists/b*']", ['lists/b.txt']],
    // A pattern without matches stays as it is. The reader of the list reports it as missing.
    ["'lists/*.tsv'", ['lists/*.tsv']],
    ["'lists/[z-a].txt'", ['lists/[z-a].txt']],
  ])('%s', (manifest, expected) => {
    expect(listsOf(folderOf(lists), manifest)).toEqual(expected);
  });

  it('is a path if a file of that name exists', () => {
    expect(listsOf(folderOf(['a[1].txt', 'a1.txt']), "'a[1].txt'")).toEqual(['a[1].txt']);
  });

  it('follows no links to folders, which may lead in a circle', () => {
    const folder = folderOf(lists);
    symlinkSync(folder, join(folder, 'lists/again'));
    expect(listsOf(folder, "'**/d.txt'")).toEqual(['lists/deep/er/d.txt']);
  });

  it('leaves out files that the batch has written', () => {
    const folder = folderOf(['a.csv', 'out/report/results.csv', 'out/images/a.csv', 'out/list.csv']);
    expect(listsOf(folder, "'**/*.csv'")).toEqual(['a.csv', 'out/list.csv']);
  });
});

it('a folder of Parquet files means all of them; a folder with a .txt is a folder of texts', () => {
  const shards = [
    'data/part-1.parquet',
    'data/part-0.PARQUET',
    'data/_SUCCESS',
    'texts/a.txt',
    'texts/b.parquet',
  ];
  const folder = folderOf(shards);
  expect(listsOf(folder, 'data')).toEqual(['data/part-0.PARQUET', 'data/part-1.parquet']);
  expect(listsOf(folder, '[data, texts]')).toEqual(['data/part-0.PARQUET', 'data/part-1.parquet', 'texts']);
});

describe('an address', () => {
  it.each([
    [
      'https://example.com/my/birds.csv',
      '`curl -LO https://example.com/my/birds.csv`, and write manifest: birds.csv',
    ],
    [
      'https://example.com/export?format=csv&id=1',
      "`curl -Lo list.csv 'https://example.com/export?format=csv&id=1'`, and write manifest: list.csv",
    ],
    [
      'HTTP://example.com/birds.csv?raw=1',
      "`curl -LO 'HTTP://example.com/birds.csv?raw=1'`, and write manifest: birds.csv",
    ],
    ['s3://bucket/birds.csv', '`aws s3 cp s3://bucket/birds.csv birds.csv`, and write manifest: birds.csv'],
  ])('%s is refused with the command that downloads it', (url, command) => {
    const folder = folderOf([]);
    const file = join(folder, 'pipeline.yaml');
    writeFileSync(
      file,
      `manifest: [a.csv, '${url}']\nendpoint: {baseUrl: local, id: x}\noutput: {dir: out}\n`,
    );
    const text = `${url} is a URL, and a list must be a file. Download it, ${command}`;
    expect(linesOf(file, () => readConfig(file, [], {}))).toEqual([`1:19: ${text}`]);
    const option = { path: ['manifest'], value: join('/home/ann', url), from: '--manifest' };
    expect(linesOf(file, () => readConfig(file, [option], {}))).toEqual([`--manifest: ${text}`]);
  });
});
