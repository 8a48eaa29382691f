/** Promise: three commands lead from an empty folder to pictures, and existing files are never overwritten. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchema } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { isWhole, rest, sampled } from '../fakes/tier.ts';
import { folderWith, inProcess, testKey } from './cli.ts';
import { Served } from './served.ts';

it('init, plan, run', async () => {
  const cwd = folderWith({});
  const made = await inProcess(['init'], { cwd });
  expect(made.code, made.stderr).toBe(0);
  expect(readdirSync(cwd).toSorted()).toEqual(['pipeline.schema.json', 'pipeline.yaml', 'scenes.csv']);
  const commands = made.stdout
    .split('\n')
    .flatMap((line) => /^ {2}nightrender (.*?) +#/.exec(line)?.[1] ?? []);
  expect(commands).toEqual(['plan pipeline.yaml', 'run pipeline.yaml']);
  const plan = await inProcess(['plan', 'pipeline.yaml', '--json'], { cwd });
  expect(JSON.parse(plan.stdout)).toMatchObject({
    exitCode: 0,
    warnings: [],
    counts: { waiting: 8, invalid: 0 },
  });
  const part = isWhole ? [] : ['--limit', '2'];
  const run = await inProcess(['run', 'pipeline.yaml', ...part], { cwd });
  expect(run.code, run.stderr).toBe(0);
  const pictures = readdirSync(join(cwd, 'renders/images')).filter((file) => file.endsWith('.png'));
  expect(pictures).toHaveLength(isWhole ? 8 : 2);
});

it.each([[[]], [['--endpoint', 'https://api.service.example', '--id', 'e']]])(
  'names a schema that lies there and that the file fits: %j',
  async (options) => {
    const cwd = folderWith({});
    await inProcess(['init', ...options], { cwd });
    const text = readFileSync(join(cwd, 'pipeline.yaml'), 'utf8');
    const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
    const isValid = new Ajv().compile(JSON.parse(readFileSync(join(cwd, schema), 'utf8')) as AnySchema);
    expect(isValid(parse(text))).toBe(true);
    expect(isValid({ ...(parse(text) as object), concurency: 4 })).toBe(false);
  },
);

rest.it('writes the file of a service, which works as it is', async () => {
  const cwd = folderWith({});
  const made = await inProcess(['init', '--service'], { cwd });
  expect(made.code, made.stderr).toBe(0);
  expect(readdirSync(cwd).toSorted()).toEqual(['service.schema.json', 'service.yaml']);
  const [, command = ''] = /^ {2}nightrender serve (.*)$/m.exec(made.stdout) ?? [];
  const service = await Served.start(cwd, [command]);
  const job = await service.done('night-renderer', { scene: 'A hill', width: 64, height: 64 });
  expect(job.status).toBe('COMPLETED');
  const again = await inProcess(['init', '--service'], { cwd });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('service.yaml: this file exists')]);
});

const lists = [
  ['list.csv', 'ID;Bild\n1;A red cup\n', '{{ Bild }}'],
  ['list.csv', 'file,caption\na.jpg,A red cup\n', '{{ caption }}'],
  ['list.jsonl', '{"key":1,"Text":"A red cup"}\n', '{{ Text }}'],
  ['list.jsonl', '{"Description":"A red cup"}\n', '{{ Description }}'],
] as const;

it.each(sampled(lists, { ms: 400 }))(
  'sends the column that has the prompts where none is called so: %s, %j',
  async (list, text, sent) => {
    const cwd = folderWith({ [list]: text });
    const made = await inProcess(['init', '--manifest', list], { cwd });
    expect(made.code, made.stderr).toBe(0);
    const written = parse(readFileSync(join(cwd, 'pipeline.yaml'), 'utf8')) as { input: unknown };
    expect(written.input).toEqual({ prompt: sent });
    expect(made.stdout).toContain('Each job gets the column ');
    const run = await inProcess(['run'], { cwd });
    expect(run.code, run.stderr).toBe(0);
    const shown = await inProcess(['list', 'pipeline.yaml'], { cwd });
    expect(shown.stdout).toContain('A red cup');
  },
);

it('fits a list from a spreadsheet program of Western Europe', async () => {
  const list = Buffer.from('ID;Prompt\r\nm\xfcller;Ein H\xfcgel, ein See\r\n;\r\n', 'latin1');
  const cwd = folderWith({ 'liste.csv': list });
  expect((await inProcess(['init', '--manifest', 'liste.csv'], { cwd })).code).toBe(0);
  expect(parse(readFileSync(join(cwd, 'pipeline.yaml'), 'utf8'))).toMatchObject({
    encoding: 'windows-1252',
    input: { prompt: '{{ Prompt }}' },
    report: { separator: ';' },
  });
  const run = await inProcess(['run', '--quiet'], { cwd });
  expect(run.code, run.stderr).toBe(0);
  const results = readFileSync(join(cwd, 'renders/report/results.csv'), 'utf8');
  expect(results).toMatch(/^\uFEFF?id;state;/);
  expect(results).toContain('müller;saved;');
});

it.each([
  ['a file that is no list', 'list.csv', Buffer.from('PNG\0\0\0'), 'NUL'],
  ['a spreadsheet of another kind', 'list.ods', Buffer.from('PK'), 'save it as .xlsx or CSV'],
])('writes nothing for a list that cannot be read: %s', async (_, name, bytes, said) => {
  const cwd = folderWith({ [name]: bytes });
  const { code, stderr } = await inProcess(['init', '--manifest', name], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  expect(existsSync(join(cwd, 'pipeline.yaml'))).toBe(false);
});

it.each([
  [
    'a list without a header',
    'A red cup on a table\nA dog in the rain\n',
    'the first row seems to be a scene',
  ],
  ['columns of which none says that it has prompts', 'file,words\na.jpg,A red cup\n', "'{{ file }}'"],
  ['a number for a header', '1,red cup\n2,blue cup\n', '--columns id,prompt'],
])('sends no column that may be the wrong one: %s', async (_, text, said) => {
  const cwd = folderWith({ 'list.csv': text });
  expect((await inProcess(['init', '--manifest', 'list.csv'], { cwd })).code).toBe(0);
  const run = await inProcess(['run'], { cwd });
  expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(said)]);
});

it.each([
  [['run', '--', 'other.yaml'], 'other.yaml'],
  [['plan', 'a.yaml', '--', 'b.yaml'], 'b.yaml: no such file'],
])('takes no other file than those that are given: %j', async (args, said) => {
  const cwd = folderWith({});
  await inProcess(['init'], { cwd });
  const before = readFileSync(join(cwd, 'pipeline.yaml'), 'utf8');
  const { code, stderr } = await inProcess(args, { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  expect(existsSync(join(cwd, 'renders'))).toBe(false);
  expect(readFileSync(join(cwd, 'pipeline.yaml'), 'utf8')).toBe(before);
});

it.each(['run', 'plan', 'status'])('%s takes the pipeline.yaml that is there', async (command) => {
  const cwd = folderWith({});
  const without = await inProcess([command], { cwd });
  expect([without.code, without.stderr]).toEqual([
    2,
    expect.stringContaining('Specify a pipeline.yaml. There is none in this folder.'),
  ]);
  await inProcess(['init'], { cwd });
  writeFileSync(join(cwd, 'scenes.csv'), 'id,scene\nsea,A sea\n');
  const known = await inProcess([command], { cwd });
  const named = await inProcess([command, 'pipeline.yaml'], { cwd });
  expect(known.stderr).not.toContain('Specify');
  expect([known.code, command === 'run' ? 0 : known.stderr]).toEqual([
    named.code,
    command === 'run' ? 0 : named.stderr,
  ]);
});

it('lists what was starred, as a list that renders it larger with the same seeds', async () => {
  const cwd = folderWith({ 'scenes.csv': 'id,prompt\ncup,A red cup\ndog,A dog\n' });
  await inProcess(['init', '--manifest', 'scenes.csv'], { cwd });
  const file = join(cwd, 'pipeline.yaml');
  writeFileSync(
    file,
    `${readFileSync(file, 'utf8')}\nscenes: {seeds: 2}\n`.replace(
      "input:\n  prompt: '{{ prompt }}'",
      "input: {prompt: '{{ prompt }}', seed: '{{ seed }}', width: 64, height: 64}",
    ),
  );
  expect((await inProcess(['run', '--quiet'], { cwd })).code).toBe(0);
  writeFileSync(join(cwd, 'starred.txt'), 'cup-s2\r\ndog-s1\nghost\n');
  const listed = await inProcess(['list', 'pipeline.yaml', '--ids', 'starred.txt', '--csv'], { cwd });
  expect(listed.code).toBe(0);
  expect(listed.stderr).toBe('starred.txt:3: no matching scene has the id "ghost"\n');
  writeFileSync(join(cwd, 'best.csv'), listed.stdout);
  writeFileSync(
    join(cwd, 'large.yaml'),
    `manifest: best.csv
columns: {seed: number}
endpoint: {baseUrl: local, id: painter}
input: {prompt: '{{ prompt }}', seed: '{{ seed }}', width: 96, height: 80}
output: {dir: large}
`,
  );
  const run = await inProcess(['run', 'large.yaml', '--quiet'], { cwd });
  expect(run.code, run.stderr).toBe(0);
  const rows = async (pipeline: string): Promise<Row[]> =>
    (await inProcess(['list', pipeline, '--json'], { cwd })).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
  const small = new Map((await rows('pipeline.yaml')).map((row) => [row.id, row]));
  const large = await rows('large.yaml');
  expect(large.map(({ id }) => id)).toEqual(['cup-s2', 'dog-s1']);
  for (const { id, seed, pictures } of large) {
    expect(seed).toBe(small.get(id)?.seed);
    expect(pictures[0]).toMatchObject({ width: 96, height: 80 });
  }
});

interface Row {
  id: string;
  seed: unknown;
  pictures: { width: number; height: number }[];
}

it.each([
  ['prompts.txt', ['prompts.txt'], '.'],
  ['prompts.txt', ['night', '--manifest', 'prompts.txt'], 'night'],
  ['texts/fox.txt', ['night', '--manifest', 'texts'], 'night'],
])('writes a pipeline.yaml for an existing list: %s, init %j', async (list, args, folder) => {
  const cwd = folderWith({});
  mkdirSync(join(cwd, 'texts'));
  writeFileSync(join(cwd, list), 'a red fox\n');
  const made = await inProcess(['init', ...args], { cwd });
  expect(made.code, made.stderr).toBe(0);
  expect(existsSync(join(cwd, folder, 'scenes.csv'))).toBe(false);
  const plan = await inProcess(['plan', folder, '--json'], { cwd });
  expect(JSON.parse(plan.stdout)).toMatchObject({
    exitCode: 0,
    requests: [{ body: { input: { prompt: 'a red fox' } } }],
  });
});

it('says that the list is not there', async () => {
  const cwd = folderWith({ 'prompts.txt': 'a' });
  const { code, stderr } = await inProcess(['init', '--manifest', 'promts.txt'], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining('no such file; did you mean prompts.txt?')]);
});

it('overwrites nothing and says which file is there', async () => {
  const cwd = folderWith({});
  mkdirSync(join(cwd, 'night'));
  writeFileSync(join(cwd, 'night/scenes.csv'), 'mine');
  const { code, stderr } = await inProcess(['init', 'night'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('night/scenes.csv: this file exists');
  expect(stderr).toContain('`nightrender init night --manifest night/scenes.csv`');
  expect(stderr).not.toContain('pipeline.yaml:');
  expect(readdirSync(join(cwd, 'night'))).toEqual(['scenes.csv']);
  expect(readFileSync(join(cwd, 'night/scenes.csv'), 'utf8')).toBe('mine');
});

it('writes the file of a real endpoint, with the key from the environment', async () => {
  const cwd = folderWith({});
  const options = ['--endpoint', 'https://api.service.example', '--id', 'my-endpoint'];
  const made = await inProcess(['init', "a night's work", ...options], { cwd });
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toContain('export NIGHTRENDER_API_KEY=');
  expect(made.stdout).toContain(`nightrender plan 'a night'\\''s work/pipeline.yaml' --check`);
  const plan = (env = {}) =>
    inProcess(['plan', "a night's work/pipeline.yaml", '--json', '--requests', '1'], { cwd, env });
  expect(JSON.parse((await plan({ NIGHTRENDER_API_KEY: testKey })).stdout)).toMatchObject({
    endpoint: { baseUrl: 'https://api.service.example', id: 'my-endpoint' },
    requests: [{ url: 'https://api.service.example/v2/my-endpoint/run' }],
  });
  expect((await plan()).code).toBe(0);
  const run = await inProcess(['run', "a night's work/pipeline.yaml"], { cwd });
  expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('NIGHTRENDER_API_KEY is not set')]);
  // What its comment says to try first is accepted.
  const file = join(cwd, "a night's work/pipeline.yaml");
  const text = readFileSync(file, 'utf8');
  const [, baseUrl = '', id = ''] = /this machine first: `(.*)` and `(.*)`/.exec(text) ?? [];
  writeFileSync(file, text.replace(/^  baseUrl: .*/m, `  ${baseUrl}`).replace(/^  id: .*/m, `  ${id}`));
  const local = await inProcess(['plan', file], { cwd });
  expect([local.code, local.stderr]).toEqual([0, '']);
  expect(local.stdout).toContain('the local service');
});

it.each([
  [
    ['--endpoint', 'ftp://x', '--id', 'e'],
    '--endpoint: is "ftp://x"; expected `local`, or a URL beginning with http',
  ],
  [['--endpoint', 'https://x.example', '--id', 'a b'], '--id: is "a b"; expected the id of the endpoint'],
  [['--endpoint', 'https://x.example'], '--id: expected the id of the endpoint as well'],
  [['--service', '--id', 'e'], '--id: belongs to a pipeline.yaml'],
  [['--id', 'e'], '--endpoint: --id names an endpoint of a service; expected its URL as well'],
])('refuses %s', async (options, words) => {
  const cwd = folderWith({});
  const { code, stderr } = await inProcess(['init', ...options], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain(words);
  expect(readdirSync(cwd)).toEqual([]);
});
