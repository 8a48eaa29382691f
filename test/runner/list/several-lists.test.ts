/**
 * Promise: with several lists, each row says which list it comes from. This causes no scene to be rendered
 * again.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, it, onTestFinished } from 'vitest';
import { readScenes } from '../../../src/runner/list/read-scenes.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { newestRules, type RulesVersion, type Scene } from '../../../src/runner/core/scene.ts';
import { readList } from '../../fakes/world.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { listOptions } from './list-options.ts';

interface Read {
  scenes: Scene[];
  columns: string[];
  remarks: string[];
}

async function read(
  files: Record<string, string | Uint8Array>,
  manifest: string,
  { more = '', rules = newestRules }: { more?: string; rules?: RulesVersion } = {},
): Promise<Read> {
  const folder = tempFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const file = join(folder, 'pipeline.yaml');
  writeFileSync(
    file,
    `manifest: ${manifest}\nendpoint: {baseUrl: local, id: x}\noutput: {dir: out}\n${more}\n`,
  );
  const seen = (text: string): string =>
    text.replaceAll(`${relative('', folder)}/`, '').replaceAll(relative('', folder), '.');
  const config = readConfig(file, [], {});
  const reading = readScenes(config, listOptions({ stdin: Readable.from(['an ape\n']), rules }));
  const { list, columns, remarks } = await reading.catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    throw new Error(error.problems.map(({ where, text }) => seen(`${where}: ${text}`)).join('\n'));
  });
  onTestFinished(() => list.close());
  // Remarks about ids are tested in list-rules.test.ts.
  const own = remarks.map(seen).filter((text) => !text.startsWith('rows without an id'));
  return { scenes: readList(list), columns, remarks: own };
}

const lists = { 'lists/birds.txt': 'an owl\na heron\n', 'lists/fish.txt': 'a trout\n' };

it('rows of several lists have the column `source`; ids and inputs stay', async () => {
  const several = await read(lists, 'lists/*.txt');
  const before = await read(lists, '[lists/birds.txt, lists/fish.txt]', { rules: 3 });
  expect(several.columns).toEqual(['prompt', 'source']);
  expect(before.columns).toEqual(['prompt']);
  expect(several.scenes.map(({ columns }) => columns['source'])).toEqual([
    'lists/birds.txt',
    'lists/birds.txt',
    'lists/fish.txt',
  ]);
  const known = ({ scenes }: Read) => scenes.map(({ id, fingerprint, input }) => [id, fingerprint, input]);
  expect(known(several)).toEqual(known(before));
  expect(several.remarks).toEqual(['2 lists are read: lists/birds.txt, lists/fish.txt']);
});

it.each([
  ['one list', { 'a.csv': 'prompt\nx\n' }, 'a.csv', [undefined]],
  ['standard input as well', { 'a.csv': 'prompt\nx\n' }, "[a.csv, '-']", ['a.csv', 'standard input']],
  [
    'a list that has such a column',
    { 'a.csv': 'prompt,source\nx,mine\n', 'b.jsonl': '{"prompt":"y","source":7}\n{"prompt":"z"}\n' },
    '[a.csv, b.jsonl]',
    ['mine', 7, 'b.jsonl'],
  ],
])('%s', async (_, files, manifest, sources) => {
  const { scenes } = await read(files, manifest);
  expect(scenes.map(({ columns }) => columns['source'])).toEqual(sources);
});

it('`{{ source }}` is sent as any other column, unless a batch began without it', async () => {
  const more = `input: {prompt: '{{ prompt }} ({{ source }})'}`;
  const { scenes } = await read(lists, 'lists/*.txt', { more });
  expect(scenes.map(({ input }) => input['prompt'])).toContain('a trout (lists/fish.txt)');
  await expect(read(lists, 'lists/*.txt', { more, rules: 3 })).rejects.toThrow(/there is no column "source"/);
});

it('a list of `scenes` may be called source', async () => {
  const more = `input: {prompt: '{{ prompt }} {{ source }}'}\nscenes: {matrix: {source: [a, b]}}`;
  const { scenes } = await read(lists, 'lists/*.txt', { more });
  expect(new Set(scenes.map(({ columns }) => columns['source']))).toEqual(new Set(['a', 'b']));
});

it('Parquet files of a folder are one list after the other', async () => {
  const shard = (...data: string[]): Uint8Array =>
    new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'prompt', data, type: 'STRING' }] }));
  const files = { 'data/part-1.parquet': shard('sea'), 'data/part-0.parquet': shard('hills', 'sky') };
  const { scenes } = await read(files, 'data');
  expect(scenes.map(({ columns }) => [columns['prompt'], columns['source']])).toEqual([
    ['hills', 'data/part-0.parquet'],
    ['sky', 'data/part-0.parquet'],
    ['sea', 'data/part-1.parquet'],
  ]);
});

it.each([
  ["'lists/*.tsv'", 'lists/*.tsv: matches no file; lists has birds.txt, fish.txt'],
  ["'list/*.txt'", 'list/*.txt: matches no file: there is no folder list; did you mean lists?'],
])('a pattern that matches nothing: %s', async (pattern, text) => {
  await expect(read(lists, pattern)).rejects.toThrow(`pipeline.yaml:1:11: ${text}`);
});

it('a problem of a list is reported where pipeline.yaml names the list', async () => {
  const files = { ...lists, 'lists/empty.txt': '' };
  await expect(read(files, "['lists/f*', lists/*.txt, 'lists/b*']")).rejects.toThrow(
    'pipeline.yaml:1:24: lists/empty.txt: is empty',
  );
});

it('a folder of texts that looks like a folder of lists is mentioned', async () => {
  const lines = (count: number): string => Array.from({ length: count }, (_, n) => `line ${n}`).join('\n');
  const files = { 'tales/a.txt': lines(20), 'tales/b.txt': lines(21), 'tales/c.txt': lines(22) };
  const folder = await read(files, 'tales');
  expect(folder.scenes.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  expect(folder.remarks).toEqual([
    'tales: each file is one prompt, but b.txt (and 1 more) has more than 20 lines; manifest: tales/*.txt makes each line a prompt',
  ]);
  expect((await read(files, 'tales/*.txt')).scenes).toHaveLength(63);
  expect((await read({ 'tales/a.txt': lines(20) }, 'tales')).remarks).toEqual([]);
});

it('comments are left out of lists and of files of values, and repeated values of a file are merged', async () => {
  const files = { 'a.txt': '# mine\nan owl\n', 'styles.csv': '# s\nstyle\noil\nink\n# t\noil\nink\nOil\n' };
  const more = `input: {prompt: '{{ prompt }}, {{ style }}'}\nscenes: {matrix: {style: {file: styles.csv}}}`;
  const { scenes, remarks } = await read(files, 'a.txt', { more: `${more}\ncomments: '#'` });
  expect(scenes.map(({ input }) => input['prompt'])).toEqual(['an owl, oil', 'an owl, ink', 'an owl, Oil']);
  expect(remarks).toEqual(['styles.csv: 2 repeated values are left out']);
  const without = await read({ ...files, 'styles.csv': 'style\noil\n# t\noil\n' }, 'a.txt', { more });
  expect(without.scenes).toHaveLength(4);
  expect(without.remarks).toEqual([
    expect.stringContaining('styles.csv: 1 line begins with "# " (line 3)'),
    'styles.csv: 1 repeated value is left out',
    expect.stringContaining('a.txt: 1 line begins with "# " (line 1)'),
  ]);
});

it('a comment that is read as the header is recognized as a comment', async () => {
  await expect(read({ 'a.csv': '# birds, mine\nid,prompt\na,an owl\n' }, 'a.csv')).rejects.toThrow(
    `the first line begins with "# " and is read as the header; comments: '#' in pipeline.yaml`,
  );
});
