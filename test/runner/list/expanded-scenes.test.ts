/**
 * Promise: manifests and `scenes` become scenes with the right ids, seeds and inputs. Every mistake is
 * reported at its place.
 */
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readScenes } from '../../../src/runner/list/read-scenes.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import type { Scene } from '../../../src/runner/core/scene.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { readList } from '../../fakes/world.ts';
import { listOptions } from './list-options.ts';

interface Read {
  scenes: Scene[];
  columns: string[];
  bad: string[];
}

/** Reads a pipeline.yaml that has `lines` from line 3 on, in a folder with these files. */
async function read(lines: string, files: Record<string, string> = {}): Promise<Read> {
  const folder = tempFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const pipeline = join(folder, 'pipeline.yaml');
  writeFileSync(pipeline, `endpoint: {baseUrl: local, id: x}\noutput: {dir: out}\n${lines}\n`);
  const { list, columns } = await readScenes(readConfig(pipeline, [], {}), listOptions()).catch(
    (error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      const seen = (text: string): string => text.replaceAll(`${relative('', folder)}/`, '');
      throw new Error(error.problems.map(({ where, text }) => seen(`${where}: ${text}`)).join('\n'));
    },
  );
  onTestFinished(() => list.close());
  const seen = (source: string): string => source.replace(`${relative('', folder)}/`, '');
  return {
    scenes: readList(list).map((scene) => ({ ...scene, source: seen(scene.source) })),
    columns,
    bad: Array.from(list.badRows(), ({ source, problem }) => `${seen(source)}: ${problem}`),
  };
}

async function problemsOf(lines: string, files: Record<string, string> = {}): Promise<string[]> {
  const thrown: unknown = await read(lines, files).catch((error: unknown) => error);
  if (!(thrown instanceof Error)) throw new Error('no problem was told');
  return thrown.message.split('\n');
}

async function idsOf(lines: string, files: Record<string, string> = {}): Promise<string[]> {
  return (await read(lines, files)).scenes.map(({ id }) => id);
}

const two = { 'a.csv': 'id,scene\nr1,hills\nr2,sea\n' };
const input = `input: {scene: '{{ scene }}, {{ style }}'}`;

it('every row comes with every value, with its place and the values in it', async () => {
  const { scenes, columns } = await read(
    `manifest: a.csv\ninput: {scene: '{{ scene }}, {{ style }}', steps: '{{ steps }}'}\nscenes: {matrix: {style: [oil, ink], steps: 10..20 step 10}}`,
    two,
  );
  expect(scenes.map(({ id, input: sent }) => [id, sent])).toEqual([
    ['r1-10-oil', { scene: 'hills, oil', steps: 10 }],
    ['r1-20-oil', { scene: 'hills, oil', steps: 20 }],
    ['r1-10-ink', { scene: 'hills, ink', steps: 10 }],
    ['r1-20-ink', { scene: 'hills, ink', steps: 20 }],
    ['r2-10-oil', { scene: 'sea, oil', steps: 10 }],
    ['r2-20-oil', { scene: 'sea, oil', steps: 20 }],
    ['r2-10-ink', { scene: 'sea, ink', steps: 10 }],
    ['r2-20-ink', { scene: 'sea, ink', steps: 20 }],
  ]);
  expect(scenes[2]).toMatchObject({
    position: 3,
    source: 'a.csv:2 (style ink, steps 10)',
    columns: { id: 'r1', scene: 'hills', style: 'ink', steps: 10 },
  });
  expect(columns).toEqual(['id', 'scene', 'style', 'steps']);
});

it('without an id the row is known by its sent input, whatever its place and the other columns are', async () => {
  const lines = `manifest: a.csv\n${input}\nscenes: {matrix: {style: [oil, ink]}}`;
  const ids = await idsOf(lines, { 'a.csv': 'scene,note\nhills,x\nsea,y\nhills,z\n' });
  expect(ids).toEqual([
    expect.stringMatching(/^[0-9a-f]{12}-oil$/),
    expect.stringMatching(/^[0-9a-f]{12}-ink$/),
    expect.stringMatching(/^[0-9a-f]{12}-oil$/),
    expect.stringMatching(/^[0-9a-f]{12}-ink$/),
    expect.stringMatching(/^[0-9a-f]{12}-2-oil$/),
    expect.stringMatching(/^[0-9a-f]{12}-2-ink$/),
  ]);
  const shuffled = await idsOf(lines, { 'a.csv': 'note,scene\nq,sea\nnew,sky\nx,hills\nz,hills\n' });
  expect(shuffled).toEqual(expect.arrayContaining(ids));
});

it('seeds are sent, also if no input is given, and equal rows have seeds of their own', async () => {
  const files = { 'a.txt': 'hills\nsea\nhills\n' };
  const { scenes } = await read('manifest: a.txt\nscenes: {seeds: 2}', files);
  expect(scenes.map(({ input: sent }) => sent['prompt'])).toEqual([
    'hills',
    'hills',
    'sea',
    'sea',
    'hills',
    'hills',
  ]);
  const seeds = scenes.map(({ input: sent }) => sent['seed']);
  expect(new Set(seeds).size).toBe(6);
  const more = await read('manifest: a.txt\nscenes: {seeds: 3}', files);
  const byId = new Map(more.scenes.map(({ id, input: sent }) => [id, sent['seed']]));
  for (const { id, input: sent } of scenes) expect(byId.get(id)).toBe(sent['seed']);
});

it('lists alone say everything, without a manifest', async () => {
  const { scenes, columns } = await read(
    `input: {prompt: 'a {{ animal }}', size: '{{ size }}'}\nscenes: {matrix: {animal: [cat, Dog]}, zip: {size: [1, 2]}}`,
  );
  expect(scenes.map(({ id, input: sent, source }) => [id, sent, source])).toEqual([
    ['cat-1', { prompt: 'a cat', size: 1 }, 'scenes (animal cat, size 1)'],
    ['cat-2', { prompt: 'a cat', size: 2 }, 'scenes (animal cat, size 2)'],
    [expect.stringMatching(/^dog~\w{10}-1$/), { prompt: 'a Dog', size: 1 }, 'scenes (animal Dog, size 1)'],
    [expect.stringMatching(/^dog~\w{10}-2$/), { prompt: 'a Dog', size: 2 }, 'scenes (animal Dog, size 2)'],
  ]);
  expect(columns).toEqual(['animal', 'size']);
  expect(await idsOf('scenes: {matrix: {Prompt: [cat, dog]}}')).toEqual(['cat', 'dog']);
});

it('values come from files, with the types that are declared', async () => {
  const lines = `manifest: a.csv
input: {scene: '{{ scene }} {{ artist }}', steps: '{{ steps }}', size: '{{ size }}'}
columns: {steps: number, size: json}
scenes:
  matrix:
    artist: {file: artists.txt}
    steps: {file: steps.csv, column: n}
    size: {file: sizes.jsonl, column: wh}`;
  const { scenes } = await read(lines, {
    'a.csv': 'id,scene\nr,hills\n',
    'artists.txt': 'klimt\n\n Paul Klee \n',
    'steps.csv': 'n,note\n10,x\n',
    'sizes.jsonl': '{"wh":[512,768]}\n',
  });
  expect(scenes.map(({ input: sent }) => sent)).toEqual([
    { scene: 'hills klimt', steps: 10, size: [512, 768] },
    { scene: 'hills Paul Klee', steps: 10, size: [512, 768] },
  ]);
});

it('problems of files of values are reported at the place that names them or in them', async () => {
  const lines = `manifest: a.csv
input: {scene: '{{ scene }} {{ a }} {{ b }} {{ c }} {{ d }} {{ e }}'}
columns: {d: number}
scenes:
  matrix:
    a: {file: gone.txt}
    b: {file: two.csv}
    c: {file: two.csv, column: nane}
    d: {file: numbers.txt}
    e: {file: two.csv, column: name}`;
  const files = { ...two, 'two.csv': 'name,n\nx,1\n,2\nx,3\n', 'numbers.txt': '1\nten\n1\n' };
  expect(await problemsOf(lines, files)).toEqual([
    'pipeline.yaml:8:15: gone.txt: does not exist',
    'pipeline.yaml:9:5: which column of two.csv holds the values? Expected column: name; it has name, n',
    'pipeline.yaml:10:32: two.csv has no column "nane"; did you mean name?',
    'numbers.txt:2: the value of d is "ten"; expected a number such as 30, -1.5 or 1e3',
    'two.csv:3: the value of name is empty',
  ]);
});

it.each([
  [
    'a value twice',
    'scenes: {matrix: {style: [oil, ink, oil]}}',
    'pipeline.yaml:5:37: the value "oil" is repeated (pipeline.yaml:5:27)',
  ],
  [
    'a number and its digits as text',
    `scenes: {matrix: {style: [1, '1']}}`,
    'pipeline.yaml:5:30: the value "1" is repeated (pipeline.yaml:5:27)',
  ],
  [
    'lists of unequal length',
    'scenes: {zip: {style: [oil, ink], b: [1]}}',
    'pipeline.yaml:5:38: style has 2 values and b 1; zipped lists must have equal lengths',
  ],
  [
    'a pair twice',
    `scenes: {zip: {style: [oil, ink, oil], b: [1, 1, 1]}}`,
    'pipeline.yaml:5:34: the value ["oil",1] is repeated (pipeline.yaml:5:24)',
  ],
  [
    'a list that is not there is left out',
    'scenes: {matrix: {style: [oil]}, exclude: [{stile: oil}]}',
    'pipeline.yaml:5:45: there is no list "stile" in scenes; did you mean style?',
  ],
  [
    'a value that is not there is left out',
    'scenes: {matrix: {style: [oil, charcoal]}, exclude: [{style: charcol}]}',
    'pipeline.yaml:5:62: style has no value "charcol"; did you mean charcoal?',
  ],
  [
    'everything is left out',
    'scenes: {matrix: {style: [oil]}, exclude: [{style: oil}]}',
    'pipeline.yaml:5:34: every combination is excluded: there is no scene to render',
  ],
  [
    'a column of the manifest',
    'scenes: {matrix: {style: [oil], scene: [x]}}',
    'pipeline.yaml:5:33: a.csv has a column "scene" already; choose another name',
  ],
  [
    'too many',
    'scenes: {matrix: {style: 1..1000, scene: 1..1000, c: 1..1000}}',
    'pipeline.yaml:5:1: style × scene × c makes 1,000,000,000 scenes of every row, before exclude; expected 10,000,000 at most',
  ],
])('a list is refused: %s', async (_, scenes, problem) => {
  const problems = await problemsOf(`manifest: a.csv\n${input}\n${scenes}`, two);
  expect(problems).toContain(problem);
});

it('a column of JSON Lines with the name of a list', async () => {
  const lines = `manifest: a.jsonl\n${input}\nscenes: {matrix: {style: [oil]}}`;
  expect(await problemsOf(lines, { 'a.jsonl': '{"scene":"x"}\n{"scene":"y","style":"ink"}\n' })).toEqual([
    'pipeline.yaml:5:19: a.jsonl has a column "style" already; choose another name',
  ]);
});

it('a list that nothing uses is rejected with the line to write', async () => {
  expect(
    await problemsOf(
      `manifest: a.csv\ninput: {scene: '{{ scene }}'}\nscenes: {matrix: {style: [oil]}, seeds: 2}`,
      two,
    ),
  ).toEqual([
    "pipeline.yaml:5:19: input does not use {{ style }}, so all its results would be the same; use it under input, such as style: '{{ style }}'",
    "pipeline.yaml:5:34: input does not use {{ seed }}, so all its results would be the same; use it under input, such as seed: '{{ seed }}'",
  ]);
  expect(await problemsOf('manifest: a.csv\nscenes: {matrix: {style: [oil]}, seeds: 2}', two)).toEqual([
    "pipeline.yaml:4:19: input does not use {{ style }}, so all its results would be the same; use it under input, such as input: {scene: '{{ scene }}', seed: '{{ seed }}', style: '{{ style }}'}",
  ]);
  expect(await problemsOf('scenes: {matrix: {animal: [cat]}, seeds: 2}')).toEqual([
    `pipeline.yaml:3:1: there is no manifest, and no list is called scene or prompt; set input, such as input: { prompt: '{{ animal }}' }`,
  ]);
});

it('a bad row is reported once, not with every value', async () => {
  const lines = `manifest: a.csv\n${input}\nskipBadRows: true\nscenes: {matrix: {style: [oil, ink]}}`;
  const { scenes, bad } = await read(lines, { 'a.csv': 'id,scene\nr1,\n,x\nr3\nr4,hills\n' });
  expect(scenes.map(({ id }) => id)).toEqual(['r4-oil', 'r4-ink']);
  expect(bad).toEqual([
    'a.csv:2 (style oil): the column scene is empty',
    'a.csv:3: the id is empty',
    'a.csv:4: has 1 column; the header has 2',
  ]);
});

it('a stop cuts a single row with very many scenes short', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'a.csv'), 'id,scene\nr,hills\n');
  const lines = `manifest: a.csv\ninput: {scene: '{{ a }}{{ b }}'}\nscenes: {matrix: {a: 1..200, b: 1..200}}`;
  const file = join(folder, 'pipeline.yaml');
  writeFileSync(file, `endpoint: {baseUrl: local, id: x}\noutput: {dir: out}\n${lines}\n`);
  const config = readConfig(file, [], {});
  const stop = new AbortController();
  let rendered = 0;
  const render = (): JsonObject => {
    rendered += 1;
    stop.abort();
    return { scene: 'hills' };
  };
  const counting = { text: '{}', columns: config.input?.columns ?? [], sendsFiles: false, render };
  const reading = readScenes({ ...config, input: counting }, listOptions({ signal: stop.signal }));
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  expect(rendered).toBeLessThan(1000);
});
