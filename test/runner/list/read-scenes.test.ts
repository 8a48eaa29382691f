/**
 * Promise: manifests become scenes with the right ids and inputs, and every bad row is reported with its
 * place.
 */
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterEach, expect, it } from 'vitest';
import { readScenes } from '../../../src/runner/list/read-scenes.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import type { Scene } from '../../../src/runner/core/scene.ts';
import { readList } from '../../fakes/world.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { listOptions } from './list-options.ts';

type ReadScenes = Awaited<ReturnType<typeof readScenes>>;

const opened: ReadScenes[] = [];

afterEach(() => {
  for (const { list } of opened.splice(0)) list.close();
});

interface Given {
  input?: string;
  name?: string;
  skipBadRows?: boolean;
  stdin?: string;
  manifest?: string;
  /** Further lines of pipeline.yaml, from line 6 on. */
  more?: string;
}

/** Reads these files as the manifests of a pipeline.yaml, in this order. Its `input` is in line 3. */
async function read(
  files: Record<string, string>,
  given: Given = {},
): Promise<ReadScenes & { folder: string }> {
  const folder = tempFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const pipeline = join(folder, 'pipeline.yaml');
  const lines = [
    `manifest: ${given.manifest ?? JSON.stringify(Object.keys(files))}`,
    'endpoint: {baseUrl: local, id: x}',
    given.input === undefined ? '' : `input: ${given.input}`,
    `output: {dir: out, name: ${JSON.stringify(given.name ?? '{{ id }}.png')}}`,
    `skipBadRows: ${String(given.skipBadRows ?? false)}`,
    given.more ?? '',
  ];
  writeFileSync(pipeline, lines.join('\n'));
  try {
    const result = await readScenes(
      readConfig(pipeline, [], {}),
      listOptions({ stdin: Readable.from([Buffer.from(given.stdin ?? '')]) }),
    );
    opened.push(result);
    return { ...result, folder };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Paths are shown relative to the folder of pipeline.yaml.
    const seen = (text: string): string => text.replaceAll(`${relative('', folder)}/`, '');
    throw new ConfigError(
      error.problems.map(({ where, text }) => ({ where: seen(where), text: seen(text) })),
    );
  }
}

it('lines of a text lose white space at their ends, and a line that repeats another one is a scene all the same', async () => {
  const { list } = await read({ 'a.txt': '  a hill \t\na boat\u00a0\na hill\n' }, { more: 'columns: {}' });
  const prompts = readList(list).map(({ input, id }) => [input['prompt'], id.slice(12)]);
  expect(prompts).toEqual([
    ['a hill', ''],
    ['a boat', ''],
    ['a hill', '-2'],
  ]);
});

it('a stop cuts a packed list short, although all of its bytes have come long before', async () => {
  const folder = tempFolder();
  const pipeline = join(folder, 'pipeline.yaml');
  writeFileSync(pipeline, "manifest: '-'\nendpoint: {baseUrl: local, id: x}\noutput: {dir: out}\n");
  const rows = 200_000;
  const stop = new AbortController();
  let rendered = 0;
  const input = {
    text: '{}',
    sendsFiles: false,
    columns: [],
    render: () => {
      rendered += 1;
      stop.abort();
      return { prompt: 'a hill' };
    },
  };
  const config = { ...readConfig(pipeline, [], {}), input };
  const packed = Readable.from([gzipSync('a hill\n'.repeat(rows))]);
  await expect(readScenes(config, listOptions({ stdin: packed, signal: stop.signal }))).rejects.toMatchObject(
    { name: 'AbortError' },
  );
  expect(rendered).toBeLessThan(rows / 10);
});

async function scenesOf(files: Record<string, string>, given: Given = {}): Promise<Scene[]> {
  return readList((await read(files, given)).list);
}

async function problemsOf(files: Record<string, string>, given: Given = {}): Promise<string[]> {
  const thrown: unknown = await read(files, given).catch((error: unknown) => error);
  if (!(thrown instanceof ConfigError)) throw new Error('no problem was told');
  return thrown.problems.map(({ where, text }) => `${where}: ${text}`);
}

const scene = '{scene: "{{ scene }}"}';

it('a scene has its id, its input, every column, and its place', async () => {
  const { list, columns, folder } = await read(
    { 'a.csv': 'id,scene,style\n r1 ,hills,oil\nr2,"sea,\nsky",\n' },
    { input: '{scene: "{{ scene }}, {{ style }}", steps: 30}' },
  );
  const place = relative('', join(folder, 'a.csv'));
  const [first, second] = readList(list);
  expect(first).toEqual({
    id: 'r1',
    position: 1,
    source: `${place}:2`,
    input: { scene: 'hills, oil', steps: 30 },
    columns: { id: ' r1 ', scene: 'hills', style: 'oil' },
    fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
  });
  expect(second).toMatchObject({
    id: 'r2',
    position: 2,
    source: `${place}:3`,
    input: { scene: 'sea,\nsky, ' },
  });
  expect(columns).toEqual(['id', 'scene', 'style']);
});

it('without an id the input identifies a row: equal ones are counted, and a shuffle changes no id', async () => {
  const rows = ['hills', 'sea', 'hills', 'sky', 'hills'];
  const idsByScene = async (order: string[]): Promise<string[]> => {
    const scenes = await scenesOf({ 'a.txt': order.join('\n') });
    return scenes.map(({ id, input }) => `${input['prompt'] as string} ${id}`).toSorted();
  };
  const ids = await idsByScene(rows);
  expect(new Set(ids).size).toBe(5);
  expect(ids.slice(0, 3)).toEqual([
    expect.stringMatching(/^hills [0-9a-f]{12}$/),
    expect.stringMatching(/^hills [0-9a-f]{12}-2$/),
    expect.stringMatching(/^hills [0-9a-f]{12}-3$/),
  ]);
  expect(await idsByScene(rows.toReversed())).toEqual(ids);
  expect(await idsByScene(['new', ...rows])).toEqual(expect.arrayContaining(ids));
});

it('an id of JSON Lines may be a number', async () => {
  const scenes = await scenesOf({
    'a.jsonl': '{"id":7,"scene":"a"}\n{"id":true,"scene":"a"}\n{"id":"x","scene":"a"}',
  });
  expect(scenes.map(({ id }) => id)).toEqual(['7', 'true', 'x']);
});

it('reports every bad row at its line, and does not start', async () => {
  const csv = 'id,scene\nr1,hills\nr1,sea\n,sky\nr4,\nr5," \t"\nr6\nr7,x\n';
  expect(await problemsOf({ 'a.csv': csv }, { input: scene })).toEqual([
    'a.csv:3: the id "r1" is used by a.csv:2 already',
    'a.csv:4: the id is empty',
    'a.csv:5: the scene is empty',
    'a.csv:6: the scene is empty',
    'a.csv:7: has 1 column; the header has 2',
  ]);
  const { list } = await read({ 'a.csv': csv }, { input: scene, skipBadRows: true });
  expect(readList(list).map(({ id, position }) => [id, position])).toEqual([
    ['r1', 1],
    ['r7', 7],
  ]);
  expect(Array.from(list.badRows(), ({ position, id }) => [position, id])).toEqual([
    [2, 'r1'],
    [3, undefined],
    [4, 'r4'],
    [5, 'r5'],
    [6, 'r6'],
  ]);
});

it('reports the first ten of many bad rows, and the number of the others', async () => {
  const csv = `id,scene\n${'x\n'.repeat(20_000)}`;
  const problems = await problemsOf({ 'a.csv': csv }, { input: scene });
  expect(problems).toHaveLength(11);
  expect(problems.slice(-2)).toEqual([
    'a.csv:11: has 1 column; the header has 2',
    expect.stringContaining('19,990 more rows are bad'),
  ]);
});

it('asks for a header if the first row is a scene', async () => {
  const csv = '1,a red fox in snow\n2,a grey sea at night\n';
  const asked = [expect.stringContaining('a.csv: the first row seems to be a scene')];
  expect(await problemsOf({ 'a.csv': csv }, { input: scene })).toEqual(asked);
  expect(await problemsOf({ 'a.csv': csv }, {})).toEqual(asked);
});

it('bad rows of JSON Lines are reported with the missing and the existing columns', async () => {
  const lines = [
    '{"scene":"a","style":"oil"}',
    '{"scene":"b"}',
    '{"id":null,"scene":"c","style":"x"}',
    '{',
    '[1]',
  ];
  lines.push(
    '{"id":{},"scene":"c","style":"x"}',
    '{"id":" ","scene":"c","style":"x"}',
    '{"scene":null,"style":"x"}',
  );
  expect(
    await problemsOf(
      { 'a.jsonl': lines.join('\n') },
      { input: '{scene: "{{ scene }}", style: "{{ style }}"}' },
    ),
  ).toEqual([
    'a.jsonl:2: there is no column "style"; the columns are scene',
    'a.jsonl:3: the id is empty',
    expect.stringMatching(/^a.jsonl:4: is not valid JSON/),
    expect.stringMatching(/^a.jsonl:5: is not a JSON object/),
    'a.jsonl:6: the id must be a text or a number',
    'a.jsonl:7: the id is empty',
    'a.jsonl:8: the scene is empty',
  ]);
});

it.each([
  ['a.csv', 'scene,style\nx,y\n'],
  ['a.tsv', 'scene\tstyle\nx\ty\n'],
  ['a.jsonl', '{"scene":"x","style":"y"}\n'],
])('an unknown column is reported at the template that uses it: %s', async (file, text) => {
  const input = '{scene: "{{ Prompt }}", more: ["{{ scene }}", "{{ mood }}"]}';
  const there = file === 'a.jsonl' ? 'the manifest' : file;
  expect(
    await problemsOf({ [file]: text }, { input, name: '{{ title }}-{{ id }}-{{ seed }}-{{ index }}' }),
  ).toEqual([
    `pipeline.yaml:3:16: there is no column "Prompt"; ${there} has scene, style`,
    `pipeline.yaml:3:54: there is no column "mood"; ${there} has scene, style`,
    `pipeline.yaml:4:26: there is no column "title"; ${there} has scene, style`,
  ]);
});

it.each([
  ['of its own lists', {}, [1, 2, 3, 4]],
  ['unless a column is called so', { 'c.csv': 'scene,row\nfog,7\n' }, [1, 2, 3, 4, '7']],
  ['or a list of `scenes`', { more: 'scenes: {matrix: {row: [8]}}' }, [8, 8, 8, 8]],
])(
  'the number of a row stands for `row`, %s',
  async (_, { more = '', ...files }: Record<string, string>, rows) => {
    const lists = {
      'a.csv': 'scene\nhills\nsea\n',
      'b.jsonl': '{"scene":"ice"}\n{"scene":"sun"}\n',
      ...files,
    };
    const { list } = await read(lists, {
      input: '{scene: "{{ scene }}", n: "{{ row }}"}',
      more,
      name: '{{ row }}-{{ id }}',
    });
    expect(readList(list).map((each) => each.input['n'])).toEqual(rows);
  },
);

it('a mistyped column is refused with the right one as a suggestion', async () => {
  expect(
    await problemsOf({ 'a.csv': 'prompt,style\nx,oil\n' }, { input: '{prompt: "{{ promt }}"}' }),
  ).toEqual(['pipeline.yaml:3:17: there is no column "promt"; did you mean "prompt"?']);
});

it('a name of a picture that a row cannot have is reported before anything is sent', async () => {
  const lines = '{"scene":"a","title":"t"}\n{"scene":"b"}\n{"scene":"c","title":5}';
  expect(await problemsOf({ 'a.jsonl': lines }, { name: '{{ title }}.png' })).toEqual([
    'a.jsonl:2: there is no column "title"; the columns are scene, id, seed, index',
  ]);
  const nested = '{"scene":"a","meta":{"title":"t"}}\n{"scene":"b","meta":{}}';
  expect(await problemsOf({ 'a.jsonl': nested }, { name: '{{ meta.title }}.png' })).toEqual([
    expect.stringContaining('a.jsonl:2: there is no column "meta.title"'),
  ]);
});

it.each([
  ['a.csv', 'id,Scene\n1,hills\n', { scene: 'hills' }],
  ['a.tsv', 'PROMPT\tx\nhills\ty\n', { prompt: 'hills' }],
  ['a.txt', 'hills\n', { prompt: 'hills' }],
  ['a.jsonl', '{"Prompt":"hills","seed":5}\n', { prompt: 'hills' }],
])('without an input the column scene or prompt is sent: %s', async (file, text, input) => {
  expect((await scenesOf({ [file]: text })).map((each) => each.input)).toEqual([input]);
});

it('without an input and without a column scene or prompt, the message says what to write', async () => {
  expect(await problemsOf({ 'a.csv': 'My text,b\nx,y\n' })).toEqual([
    `a.csv: has no column called scene or prompt, only My text, b. Say in pipeline.yaml what a job is sent, such as input: { prompt: '{{ ["My text"] }}' }`,
  ]);
  expect(await problemsOf({ 'a.csv': "ID,it's\n1,y\n" })).toEqual([
    `a.csv: has no column called scene or prompt, only ID, it's. Say in pipeline.yaml what a job is sent, such as input: { prompt: '{{ ["it''s"] }}' }`,
  ]);
  expect(await problemsOf({ 'a.csv': 'file,caption\n1,x\n' })).toEqual([
    `a.csv: has no column called scene or prompt, only file, caption. Say in pipeline.yaml what a job is sent, such as input: { prompt: '{{ caption }}' }`,
  ]);
  expect(await problemsOf({ 'a.csv': 'id\n1\n' })).toEqual([
    'a.csv: has no column called scene or prompt, only id. Say in pipeline.yaml what a job is sent, under input',
  ]);
});

it.each([
  ['a.jsonl', '{"id":1,"text":"x"}\n{"id":2,"text":"y"}\n'],
  ['a.json', '[{"id":1,"text":"x"}, {"id":2,"text":"y"}]'],
  ['a.json', '{\n"id": "a",\n "text": "x"\n}'],
  ['long.jsonl', '{"id":1,"text":"x"}\n'.repeat(5000)],
])(
  'a JSON list without a column scene or prompt gives one message with the existing columns: %s',
  async (name, text) => {
    expect(await problemsOf({ [name]: text })).toEqual([
      `${name}: has no column called scene or prompt, only id, text. Say in pipeline.yaml what a job is sent, such as input: { prompt: '{{ text }}' }`,
    ]);
  },
);

it('rows of JSON without a prompt are bad if other rows have one', async () => {
  const text = '{"id":1,"text":"x"}\n{"id":2,"prompt":"y"}\n';
  expect(await problemsOf({ 'a.jsonl': text })).toEqual(['a.jsonl:1: it has no column scene or prompt']);
  const { list } = await read({ 'a.jsonl': text }, { skipBadRows: true });
  expect(readList(list).map(({ id }) => id)).toEqual(['2']);
});

it('a JSON object by id renders each of its rows, and a repeated id is named', async () => {
  const files = { 'a.json': '{"b1": {"prompt": "a robin"},\n "b2": {"prompt": "a wren", "seed": 3}}' };
  const { list, columns } = await read(files);
  expect(columns).toEqual(['id', 'prompt', 'seed']);
  expect(readList(list).map(({ id, input }) => [id, input])).toEqual([
    ['b1', { prompt: 'a robin' }],
    ['b2', { prompt: 'a wren' }],
  ]);
  expect(await problemsOf({ 'a.json': '{"b1": "a robin",\n "b1": "a wren"}' })).toEqual([
    'a.json:2: the id "b1" is used by a.json:1 already',
  ]);
});

it('several manifests, each with its own columns', async () => {
  const files = {
    'a.csv': 'id,scene,style\na1,hills,oil\n',
    'b.txt': 'sea\nsky\n',
    'c.jsonl': '{"id":"c1","prompt":"wood","n":1}\n',
  };
  const { list, columns } = await read(files);
  expect(columns).toEqual(['id', 'scene', 'style', 'prompt', 'n', 'source']);
  expect(readList(list).map(({ position, input }) => [position, input])).toEqual([
    [1, { scene: 'hills' }],
    [2, { prompt: 'sea' }],
    [3, { prompt: 'sky' }],
    [4, { prompt: 'wood' }],
  ]);
});

it('an id is used once in all manifests', async () => {
  expect(await problemsOf({ 'a.csv': 'id,scene\nx,a\n', 'b.csv': 'id,scene\ny,b\nx,c\n' })).toEqual([
    'b.csv:3: the id "x" is used by a.csv:2 already',
  ]);
});

it('a problem of one manifest does not hide a problem of the next', async () => {
  const files = { 'a.csv': 'id,scene,scene\n', 'b.csv': 'id,text\n1,x\n', 'c.csv': 'id,scene\n1,\n' };
  expect(await problemsOf(files, { input: scene, manifest: '[gone.csv, a.csv, b.csv, c.csv]' })).toEqual([
    expect.stringMatching(/^pipeline.yaml:1:12: gone.csv: /),
    expect.stringMatching(/^pipeline.yaml:1:22: a.csv:1: the header: /),
    'pipeline.yaml:3:16: there is no column "scene"; b.csv has id, text',
    'c.csv:2: the scene is empty',
  ]);
});

it.each([
  [
    'an unknown ending',
    fileURLToPath(new URL('../../../README.md', import.meta.url)),
    /^pipeline.yaml:1:11: README.md: unknown format/,
  ],
  ['a folder', '.', /^pipeline.yaml:1:11: .*is a folder/],
])('a manifest is refused at its place in pipeline.yaml: %s', async (_, manifest, expected) => {
  expect(await problemsOf({}, { manifest })).toEqual([expect.stringMatching(expected)]);
});

it('a manifest without a good row has no scene to render', async () => {
  expect(await problemsOf({ 'a.csv': 'id,scene\n' })).toEqual([
    expect.stringMatching(/a.csv: it has no scene to render$/),
  ]);
  expect(await problemsOf({ 'a.csv': 'id,scene\nx,\n' }, { skipBadRows: true })).toEqual([
    expect.stringMatching(/a.csv: it has no scene to render$/),
  ]);
});

it('reads standard input', async () => {
  const { list } = await read({}, { manifest: "'-'", stdin: 'scene,x\nhills,1\n' });
  expect(readList(list).map(({ source }) => source)).toEqual(['standard input:2']);
});

it('a column may have the name of a property of every object', async () => {
  const { list } = await read(
    { 'a.csv': 'constructor,scene\nx,hills\n' },
    { input: '{scene: "{{ constructor }}"}' },
  );
  expect(readList(list).map((each) => each.input)).toEqual([{ scene: 'x' }]);
  expect(await problemsOf({ 'a.csv': 'scene\nx\n' }, { input: '{scene: "{{ constructor }}"}' })).toEqual([
    'pipeline.yaml:3:16: there is no column "constructor"; a.csv has scene',
  ]);
});

it('declared columns arrive with their types, from texts and from values that have them', async () => {
  const more = 'columns: {steps: number, hd: boolean, extra: json}';
  const input =
    '{scene: "{{ scene }} {{ steps }}", steps: "{{ steps }}", hd: "{{ hd }}", extra: "{{ extra }}"}';
  const csv = 'scene,steps,hd,extra\na, 30 ,TRUE,"{""a"": [1]}"\nb,,,\n';
  const lines =
    '{"scene":"c","steps":0.5,"hd":false,"extra":{"a":[1]}}\n{"scene":"d","steps":"30","hd":null,"extra":[]}';
  const { list } = await read({ 'a.csv': csv, 'b.jsonl': lines }, { input, more });
  const scenes = readList(list);
  expect(scenes.map((each) => each.input)).toEqual([
    { scene: 'a 30', steps: 30, hd: true, extra: { a: [1] } },
    { scene: 'b ', steps: null, hd: null, extra: null },
    { scene: 'c 0.5', steps: 0.5, hd: false, extra: { a: [1] } },
    { scene: 'd 30', steps: 30, hd: null, extra: [] },
  ]);
  expect(scenes[0]?.columns).toEqual({ source: 'a.csv', scene: 'a', steps: 30, hd: true, extra: { a: [1] } });
});

it('a value of another type than declared makes its row bad', async () => {
  const more = 'columns: {seed: number, hd: boolean, extra: json}';
  const csv = 'id,scene,seed,hd,extra\nx,a,030,,\ny,a,18446744073709551615,,\nz,a,,yes,\nw,a,,,"{a: 1}"\n';
  expect(await problemsOf({ 'a.csv': csv }, { input: scene, more })).toEqual([
    'a.csv:2: the column "seed" is "030"; expected a number such as 30, -1.5 or 1e3',
    'a.csv:3: the column "seed" is "18446744073709551615"; expected a number that keeps every digit (2^53 at most); a column that is not declared is sent as text',
    'a.csv:4: the column "hd" is "yes"; expected true or false',
    expect.stringMatching(
      /^a.csv:5: the column "extra" is "{a: 1}"; expected JSON, such as .*; it is not valid JSON: /,
    ),
  ]);
  const { list } = await read({ 'a.csv': `${csv}v,a,7,,\n` }, { input: scene, more, skipBadRows: true });
  expect(Array.from(list.badRows(), ({ id }) => id)).toEqual(['x', 'y', 'z', 'w']);
});

it('a declared column that no manifest has is reported at its declaration', async () => {
  const files = { 'a.csv': 'scene,steps\na,1\n', 'b.jsonl': '{"scene":"b","hd":true}' };
  const more = 'columns: {stepz: number, hd: boolean, steps: number, weather: json}';
  expect(await problemsOf(files, { input: scene, more })).toEqual([
    'pipeline.yaml:6:11: the manifest has no column "stepz"; did you mean steps?',
    'pipeline.yaml:6:54: the manifest has no column "weather"; there is scene, steps, hd',
  ]);
});

const parti = fileURLToPath(new URL('../../../shared/data/parti-prompts.tsv', import.meta.url));

it.skipIf(!existsSync(parti))(
  'a real list of 1,632 prompts (skipped if the list is not at hand)',
  async () => {
    const { list, columns } = await read({}, { manifest: parti, input: '{scene: "{{ Prompt }}"}' });
    expect(list.count()).toEqual({ scenes: 1632, badRows: 0 });
    expect(columns).toContain('Prompt');
    const scenes = readList(list);
    expect(new Set(scenes.map(({ id }) => id)).size).toBe(1632);
    for (const { input, columns: row } of scenes) expect(input).toEqual({ scene: row['Prompt'] });
  },
);

it.skipIf(!existsSync('/proc/self/fd'))(
  'a file with wrong columns is not left open (skipped if there is no /proc)',
  async () => {
    const packed = parquetWriteBuffer({ columnData: [{ name: 'id', data: ['a'], type: 'STRING' }] });
    const folder = tempFolder();
    for (const name of ['list.parquet', 'values.parquet'])
      writeFileSync(join(folder, name), new Uint8Array(packed));
    const endpoint = 'endpoint: {baseUrl: local, id: e}\noutput: {dir: out}';
    const scenes = 'scenes: {matrix: {style: {file: values.parquet, column: name}}}';
    const pipeline = join(folder, 'pipeline.yaml');
    writeFileSync(pipeline, `manifest: list.parquet\n${endpoint}\n${scenes}\n`);
    await expect(readScenes(readConfig(pipeline, [], {}), listOptions())).rejects.toThrow(
      /no column "name"[^]*has no column called scene or prompt/,
    );
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      const link = join('/proc/self/fd', fd);
      return existsSync(link) ? readlinkSync(link) : [];
    });
    expect(open.filter((path) => path.startsWith(folder))).toEqual([]);
  },
);
