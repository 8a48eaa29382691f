/** Promise: three commands lead from an empty folder to pictures, and existing files are never overwritten. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Ajv, type AnySchema } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { firstTier, isWhole, rest, sampled } from '../fakes/tier.ts';
import { nightWith, testKey } from './cli.ts';
import { Served } from './served.ts';

it('`init` writes files that `plan` and `run` accept unchanged', async () => {
  const night = nightWith({});
  const made = await night.start('init').exits(0);
  expect(readdirSync(night.cwd).toSorted()).toEqual(['pipeline.schema.json', 'pipeline.yaml', 'scenes.csv']);
  const commands = made.stdout
    .split('\n')
    .flatMap((line) => /^ {2}nightrender (.*?) +#/.exec(line)?.[1] ?? []);
  expect(commands).toEqual(['plan pipeline.yaml', 'run pipeline.yaml']);
  const plan = await night.plan('--json');
  expect(JSON.parse(plan.stdout)).toMatchObject({
    exitCode: 0,
    warnings: [],
    counts: { waiting: 8, invalid: 0 },
  });
  const part = isWhole ? [] : ['--limit', '2'];
  await night.run(...part).exits(0);
  const pictures = readdirSync(night.path('renders/images')).filter((file) => file.endsWith('.png'));
  expect(pictures).toHaveLength(isWhole ? 8 : 2);
});

firstTier.it.each([[[]], [['--endpoint', 'https://api.service.example', '--id', 'e']]])(
  'names an existing schema that the file matches: %j',
  async (options) => {
    const night = nightWith({});
    await night.start('init', ...options);
    const text = night.read('pipeline.yaml');
    const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
    const isValid = new Ajv().compile(JSON.parse(night.read(schema)) as AnySchema);
    expect(isValid(parse(text))).toBe(true);
    expect(text).toMatch(/\n {2}# .* into each picture.*\n {2}# metadata: embed\n/);
    expect(parse(text)).not.toHaveProperty('output.metadata');
    const embedding = parse(text.replace('# metadata: embed', 'metadata: embed')) as unknown;
    expect(embedding).toHaveProperty('output.metadata', 'embed');
    expect(isValid(embedding)).toBe(true);
    expect(isValid({ ...(parse(text) as object), concurency: 4 })).toBe(false);
  },
);

rest.it('writes the file of a service, which works unchanged', async () => {
  const night = nightWith({});
  const made = await night.start('init', '--service').exits(0);
  expect(readdirSync(night.cwd).toSorted()).toEqual(['service.schema.json', 'service.yaml']);
  const [, command = ''] = /^ {2}nightrender serve (.*)$/m.exec(made.stdout) ?? [];
  const service = await Served.start(night.cwd, [command]);
  const job = await service.done('night-renderer', { scene: 'A hill', width: 64, height: 64 });
  expect(job.status).toBe('COMPLETED');
  await night.start('init', '--service').fails(2, 'service.yaml: this file exists');
});

const lists = [
  ['list.csv', 'ID;Bild\n1;A red cup\n', '{{ Bild }}'],
  ['list.csv', 'file,caption\na.jpg,A red cup\n', '{{ caption }}'],
  ['list.jsonl', '{"key":1,"Text":"A red cup"}\n', '{{ Text }}'],
  ['list.jsonl', '{"Description":"A red cup"}\n', '{{ Description }}'],
] as const;

it.each(sampled(lists, { ms: 400 }))(
  'sends the column with the prompts if no column has their usual name: %s, %j',
  async (list, text, sent) => {
    const night = nightWith({ [list]: text });
    const made = await night.start('init', '--manifest', list).exits(0);
    const written = parse(night.read('pipeline.yaml')) as { input: unknown };
    expect(written.input).toEqual({ prompt: sent });
    expect(made.stdout).toContain('Each job gets the column ');
    await night.start('run').exits(0);
    await night.list().prints('A red cup');
  },
);

firstTier.it('the written file fits a list from a spreadsheet program of Western Europe', async () => {
  const list = Buffer.from('ID;Prompt\r\nm\xfcller;Ein H\xfcgel, ein See\r\n;\r\n', 'latin1');
  const night = nightWith({ 'liste.csv': list });
  await night.start('init', '--manifest', 'liste.csv').exits(0);
  expect(parse(night.read('pipeline.yaml'))).toMatchObject({
    encoding: 'windows-1252',
    input: { prompt: '{{ Prompt }}' },
    report: { separator: ';' },
  });
  await night.start('run', '--quiet').exits(0);
  const results = night.read('renders/report/results.csv');
  expect(results).toMatch(/^\uFEFF?id;state;/);
  expect(results).toContain('müller;saved;');
});

firstTier.it.each([
  ['a file that is no list', 'list.csv', Buffer.from('PNG\0\0\0'), 'NUL'],
  ['a spreadsheet of another kind', 'list.ods', Buffer.from('PK'), 'save it as .xlsx or CSV'],
])('writes nothing for a list that cannot be read: %s', async (_, name, bytes, said) => {
  const night = nightWith({ [name]: bytes });
  await night.start('init', '--manifest', name).fails(2, said);
  expect(night.has('pipeline.yaml')).toBe(false);
});

firstTier.it.each([
  [
    'a list without a header',
    'A red cup on a table\nA dog in the rain\n',
    'the first row seems to be a scene',
  ],
  ['columns of which none says that it has prompts', 'file,words\na.jpg,A red cup\n', "'{{ file }}'"],
  ['a number for a header', '1,red cup\n2,blue cup\n', '--columns id,prompt'],
])('sends no column that may be the wrong one: %s', async (_, text, said) => {
  const night = nightWith({ 'list.csv': text });
  await night.start('init', '--manifest', 'list.csv').exits(0);
  await night.start('run').fails(2, said);
});

firstTier.it.each([
  [['run', '--', 'other.yaml'], 'other.yaml'],
  [['plan', 'a.yaml', '--', 'b.yaml'], 'b.yaml: no such file'],
])('uses no file except those that are given: %j', async (args, said) => {
  const night = nightWith({});
  await night.start('init');
  const before = night.read('pipeline.yaml');
  await night.start(...args).fails(2, said);
  expect(night.has('renders')).toBe(false);
  expect(night.read('pipeline.yaml')).toBe(before);
});

firstTier.it.each(['run', 'plan', 'status'])('%s takes the pipeline.yaml that is there', async (command) => {
  const night = nightWith({});
  await night.start(command).fails(2, 'Specify a pipeline.yaml. There is none in this folder.');
  await night.start('init');
  night.write('scenes.csv', 'id,scene\nsea,A sea\n');
  const known = await night.start(command);
  const named = await night.do(command);
  expect(known.stderr).not.toContain('Specify');
  expect([known.code, command === 'run' ? 0 : known.stderr]).toEqual([
    named.code,
    command === 'run' ? 0 : named.stderr,
  ]);
});

firstTier.it('lists the starred scenes, as a list that renders them larger with the same seeds', async () => {
  const night = nightWith({ 'scenes.csv': 'id,prompt\ncup,A red cup\ndog,A dog\n' });
  await night.start('init', '--manifest', 'scenes.csv');
  const file = night.path('pipeline.yaml');
  writeFileSync(
    file,
    `${readFileSync(file, 'utf8')}\nscenes: {seeds: 2}\n`.replace(
      "input:\n  prompt: '{{ prompt }}'",
      "input: {prompt: '{{ prompt }}', seed: '{{ seed }}', width: 64, height: 64}",
    ),
  );
  await night.start('run', '--quiet').exits(0);
  night.write('starred.txt', 'cup-s2\r\ndog-s1\nghost\n');
  const listed = await night
    .list('--ids', 'starred.txt', '--csv')
    .exits(0)
    .warnsOnly('starred.txt:3: no matching scene has the id "ghost"\n');
  night.write('best.csv', listed.stdout);
  night.write(
    'large.yaml',
    `manifest: best.csv
columns: {seed: number}
endpoint: {baseUrl: local, id: painter}
input: {prompt: '{{ prompt }}', seed: '{{ seed }}', width: 96, height: 80}
output: {dir: large}
`,
  );
  await night.start('run', 'large.yaml', '--quiet').exits(0);
  const rows = async (pipeline: string): Promise<Row[]> =>
    (await night.start('list', pipeline, '--json')).stdout
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

firstTier.it.each([
  ['prompts.txt', ['prompts.txt'], '.'],
  ['prompts.txt', ['night', '--manifest', 'prompts.txt'], 'night'],
  ['texts/fox.txt', ['night', '--manifest', 'texts'], 'night'],
])('writes a pipeline.yaml for an existing list: %s, init %j', async (list, args, folder) => {
  const night = nightWith({});
  mkdirSync(night.path('texts'));
  night.write(list, 'a red fox\n');
  await night.start('init', ...args).exits(0);
  expect(existsSync(night.path(folder, 'scenes.csv'))).toBe(false);
  const plan = await night.start('plan', folder, '--json');
  expect(JSON.parse(plan.stdout)).toMatchObject({
    exitCode: 0,
    requests: [{ body: { input: { prompt: 'a red fox' } } }],
  });
});

firstTier.it('says that the list does not exist', async () => {
  const night = nightWith({ 'prompts.txt': 'a' });
  await night.start('init', '--manifest', 'promts.txt').fails(2, 'no such file; did you mean prompts.txt?');
});

firstTier.it('overwrites nothing, and says which file exists', async () => {
  const night = nightWith({});
  mkdirSync(night.path('night'));
  night.write('night/scenes.csv', 'mine');
  await night
    .start('init', 'night')
    .fails(2, 'night/scenes.csv: this file exists', '`nightrender init night --manifest night/scenes.csv`')
    .warnsNo('pipeline.yaml:');
  expect(readdirSync(night.path('night'))).toEqual(['scenes.csv']);
  expect(night.read('night/scenes.csv')).toBe('mine');
});

firstTier.it('writes the file of a real endpoint, with the key from the environment', async () => {
  const night = nightWith({});
  const options = ['--endpoint', 'https://api.service.example', '--id', 'my-endpoint'];
  await night
    .start('init', "a night's work", ...options)
    .exits(0, 'export NIGHTRENDER_API_KEY=', `nightrender plan 'a night'\\''s work/pipeline.yaml' --check`);
  const plan = (env = {}) =>
    night.with({ env }).start('plan', "a night's work/pipeline.yaml", '--json', '--requests', '1');
  expect(JSON.parse((await plan({ NIGHTRENDER_API_KEY: testKey })).stdout)).toMatchObject({
    endpoint: { baseUrl: 'https://api.service.example', id: 'my-endpoint' },
    requests: [{ url: 'https://api.service.example/v2/my-endpoint/run' }],
  });
  await plan().exits(0);
  await night
    .with({ env: {} })
    .start('run', "a night's work/pipeline.yaml")
    .fails(2, 'NIGHTRENDER_API_KEY is not set');
  // The setting that its comment recommends for a first try is accepted.
  const file = night.path("a night's work/pipeline.yaml");
  const text = readFileSync(file, 'utf8');
  const [, baseUrl = '', id = ''] = /this machine first: `(.*)` and `(.*)`/.exec(text) ?? [];
  writeFileSync(file, text.replace(/^  baseUrl: .*/m, `  ${baseUrl}`).replace(/^  id: .*/m, `  ${id}`));
  await night.start('plan', file).exits(0, 'the local service').warnsOnly('');
});

firstTier.it.each([
  [
    ['--endpoint', 'ftp://x', '--id', 'e'],
    '--endpoint: is "ftp://x"; expected `local`, or a URL beginning with http',
  ],
  [['--endpoint', 'https://x.example', '--id', 'a b'], '--id: is "a b"; expected the id of the endpoint'],
  [['--endpoint', 'https://x.example'], '--id: expected the id of the endpoint as well'],
  [['--service', '--id', 'e'], '--id: belongs to a pipeline.yaml'],
  [['--id', 'e'], '--endpoint: --id names an endpoint of a service; expected its URL as well'],
])('refuses %s', async (options, words) => {
  const night = nightWith({});
  await night.start('init', ...options).fails(2, words);
  expect(readdirSync(night.cwd)).toEqual([]);
});
