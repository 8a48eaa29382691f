/** Promise: if a list is extended, only the new scenes are rendered, and existing pictures keep their names. */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { type Finished, type Night, nightWith, pipeline, scenes, type Started } from './cli.ts';
import { mark, planOf, sourcesIn, withCheckpoint } from './marked-scenes.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

const input = `input: {scene: '{{ scene }}, {{ style }}', seed: '{{ seed }}', width: 32, height: 32}\n`;

function batch(baseUrl: string, styles: string, seeds = 2): string {
  return pipeline(baseUrl, `${input}scenes: {matrix: {style: ${styles}}, seeds: ${seeds}}\n`);
}

it('renders only the scenes of a style, a seed and a row that are new', async () => {
  const { url } = await startPainter();
  const night = nightWith({ 'pipeline.yaml': batch(url, '[oil, ink]'), 'scenes.csv': scenes(2) });
  await start(night).exits(0);
  const before = results(night);
  expect(before.map(({ id, state }) => `${id} ${state}`)).toEqual(
    [
      's0-oil-s1',
      's0-oil-s2',
      's0-ink-s1',
      's0-ink-s2',
      's1-oil-s1',
      's1-oil-s2',
      's1-ink-s1',
      's1-ink-s2',
    ].map((id) => `${id} saved`),
  );
  for (const row of before)
    expect(row).toMatchObject({ seed: row['manifest.seed'], file: `images/${row.id}.png` });

  night.write('pipeline.yaml', batch(url, '[ink, chalk, oil]'));
  const second = await start(night);
  expect(submitted(second)).toEqual(['s0-chalk-s1', 's0-chalk-s2', 's1-chalk-s1', 's1-chalk-s2']);

  night.write('pipeline.yaml', batch(url, '[ink, chalk, oil]', 3));
  night.write('scenes.csv', scenes(2).split('\n').toSpliced(1, 0, 'new,A new sea').join('\n'));
  const third = await start(night);
  const olds = ['chalk', 'ink', 'oil'].flatMap((style) => [`s0-${style}-s3`, `s1-${style}-s3`]);
  const news = ['chalk', 'ink', 'oil'].flatMap((style) => [1, 2, 3].map((n) => `new-${style}-s${n}`));
  expect(submitted(third)).toEqual([...olds, ...news].toSorted());

  const after = new Map(results(night).map((row) => [row.id, row]));
  expect(after.size).toBe(27);
  for (const { id, seed, file, sha256, job_id } of before)
    expect(after.get(id)).toMatchObject({ seed, file, sha256, job_id });
});

it('the same lists are not read again; another value in a file, or another list, is noticed', async () => {
  const { url } = await startPainter();
  const lists = (more: string): string =>
    pipeline(
      url,
      `${input.replace('{{ seed }}', '1')}scenes: {matrix: {style: {file: styles.txt}}${more}}\n`,
    );
  const night = nightWith({
    'pipeline.yaml': lists(''),
    'scenes.csv': scenes(1),
    'styles.txt': 'oil\nink\n',
  });
  await start(night);
  mark(night.cwd);
  expect(planOf(await start(night))).toMatchObject({ unchanged: 2 });
  expect(sourcesIn(night.cwd)).toEqual(['marked', 'marked']);
  night.write('styles.txt', 'oil\nink\nchalk\n');
  expect(planOf(await start(night))).toMatchObject({ added: 1, unchanged: 2 });
  expect(sourcesIn(night.cwd)).not.toContain('marked');
  night.write('pipeline.yaml', lists(', exclude: [{style: ink}]'));
  expect(planOf(await start(night))).toMatchObject({ unchanged: 2, withdrawn: 1 });
  night.write('pipeline.yaml', `${lists('')}columns: {scene: json}\n`);
  await start(night).fails(2, 'scenes.csv:2: the column "scene" is');
});

it('the number of each seed is a column, unless the list has that column', async () => {
  const { url } = await startPainter();
  const text = batch(url, '[oil, ink]').replace(
    'output:',
    `output:\n  name: '{{ style }}/{{ seed_number }}.png'`,
  );
  const night = nightWith({ 'pipeline.yaml': text, 'scenes.csv': 'scene\nhills\n' });
  await start(night).exits(0);
  const numbered = results(night).map((row) => [row['style'], row['seed_number'], row['file']]);
  expect(numbered).toEqual([
    ['oil', '1', 'images/oil/1.png'],
    ['oil', '2', 'images/oil/2.png'],
    ['ink', '1', 'images/ink/1.png'],
    ['ink', '2', 'images/ink/2.png'],
  ]);
  const seeds = results(night).map((row) => row['seed']);
  expect(seeds.slice(2)).toEqual(seeds.slice(0, 2));
  // The seed number is in no fingerprint. With another number and an unchanged name, every scene stays as it
  // was.
  night.write('pipeline.yaml', batch(url, '[oil, ink]'));
  night.write('scenes.csv', 'scene,seed_number\nhills,mine\n');
  const again = await start(night).exits(0);
  expect(submitted(again)).toEqual([]);
  expect(results(night).map((row) => row['seed_number'])).toEqual(Array(4).fill('mine'));
});

it('says how many rows repeat a prompt, and renders each prompt once if that is requested', async () => {
  const { url } = await startPainter();
  const once = 'skipRepeatedRows: true\n';
  const list = 'hills\nsea\nhills  \n\nsea\nhills\nboat\nmoon\n';
  const text = (more: string): string =>
    pipeline(url, more).replace('scenes.csv', 'list.txt') + 'scenes: {seeds: 2}\n';
  const night = nightWith({ 'pipeline.yaml': text(''), 'list.txt': list });
  const said =
    '3 rows repeat a prompt of another row; each is rendered (`skipRepeatedRows: true` renders each prompt once)';
  const oneLine = (words: string): string => words.replaceAll(/\s+/g, ' ');
  const plan = async (): Promise<string> => oneLine((await night.plan()).stdout);
  expect(await plan()).toContain(said);
  await night.run().exits(0).warns(`14 scenes to render; ${said}`);
  // A list that is not read again gets the same remark.
  expect(await plan()).toContain(said);
  const pictures = readdirSync(night.path('out/images'));
  expect(pictures).toHaveLength(14);

  night.write('pipeline.yaml', text(once));
  expect(await plan()).toContain('3 rows repeat a prompt of another row and are left out');
  const second = await night.run();
  expect([second.code, submitted(second)]).toEqual([0, []]);
  expect(readdirSync(night.path('out/images'))).toEqual(pictures);
  expect(second.stderr).toContain('8 saved already');
});

it.each([
  ['plain lines', ''],
  ['lines with seeds', 'scenes: {seeds: 1}\n'],
])(
  'does not take omitted rows of %s for a truncated list, nor a truncated list for omitted rows',
  async (_, more) => {
    const { url } = await startPainter();
    const text = (once: boolean): string =>
      pipeline(url, `${more}skipRepeatedRows: ${once}\n`).replace('scenes.csv', 'list.txt');
    const night = nightWith({ 'pipeline.yaml': text(false), 'list.txt': 'x\nx\nx\ny\nx\n' });
    await start(night).exits(0);
    // After a kill or with a list from standard input, the list of the last comparison is unknown too.
    withCheckpoint(night.cwd, (db) => db.exec("DELETE FROM batch WHERE name = 'compared'"));
    await night.verify('--repair');
    night.write('pipeline.yaml', text(true));
    const once = await start(night);
    expect([once.code, planOf(once)], once.stderr).toMatchObject([0, { unchanged: 2, withdrawn: 3 }]);

    night.write('list.txt', `x\nx\nx\n${[0, 1, 2, 3, 4, 5, 6, 7].map((i) => `y${i}\n`).join('')}`);
    await start(night).exits(0);
    night.write('list.txt', 'x\nx\nx\ny0\n');
    await start(night).fails(2, '7 of 9 scenes are no longer in the list');
  },
);

it('does not count a row that cannot be rendered as repeated', async () => {
  const { url } = await startPainter();
  const row = (id: string, more: string): string => `{"id":"${id}","scene":"hills"${more}}\n`;
  const more = `skipRepeatedRows: true\nskipBadRows: true\nscenes: {seeds: 1}\n`;
  const text = pipeline(url, more).replace('scenes.csv', 'a.jsonl');
  const night = nightWith({
    'pipeline.yaml': text.replace('output:', `output:\n  name: '{{ place }}/{{ id }}.png'`),
    'a.jsonl': row('bad', '') + row('good', ',"place":"x"') + row('other', ',"place":"x"'),
  });
  const ran = await start(night);
  expect([ran.code, submitted(ran)], ran.stderr).toEqual([3, ['good-s1']]);
});

it('the batch knows its lists, also if there is no manifest', async () => {
  const { url } = await startPainter();
  const text = pipeline(url, `input: {prompt: 'a {{ animal }}', size: '{{ size }}'}\n`).replace(
    'manifest: scenes.csv\n',
    '',
  );
  const night = nightWith({
    'pipeline.yaml': `${text}scenes: {matrix: {size: [1], animal: [cat, dog]}}\n`,
  });
  await start(night).exits(0, '"manifest":["pipeline.yaml"]');
  expect(results(night).map(({ id }) => id)).toEqual(['cat-1', 'dog-1']);
  const batchOf = "SELECT value FROM batch WHERE name = 'batch'";
  const { value } = withCheckpoint(night.cwd, (db) => db.prepare<[], { value: string }>(batchOf).get()) ?? {
    value: '',
  };
  expect(JSON.parse(value)).toMatchObject({ axes: ['size', 'animal'], columns: ['size', 'animal'] });
});

it('a list that comes to a pattern renders only its own rows, and conditions and exports know the list', async () => {
  const { url } = await startPainter();
  const text = pipeline(url).replace('scenes.csv', 'list-*.txt');
  const night = nightWith({ 'pipeline.yaml': text, 'list-birds.txt': 'an owl\na heron\n' });
  expect(submitted(await start(night))).toHaveLength(2);
  night.write('list-fish.txt', 'a trout\n');
  const second = await start(night);
  expect([second.code, planOf(second)]).toMatchObject([0, { added: 1, unchanged: 2 }]);
  expect(results(night).map((row) => row['manifest.source'])).toEqual([
    'list-birds.txt',
    'list-birds.txt',
    'list-fish.txt',
  ]);
  const where = ['pipeline.yaml', '--where', "source == 'list-birds.txt'"];
  const birds = await night.start('list', ...where);
  expect(birds.stdout.split('\n').map((line) => / an? \w+/.exec(line)?.[0].trim())).toEqual([
    'an owl',
    'a heron',
    undefined,
  ]);
  await night.do('export', 'set', '--to', 'imagefolder').exits(0);
  expect(night.read('set/metadata.jsonl')).toContain('"source":"list-fish.txt"');
});

async function startPainter(): Promise<HttpService> {
  const picture = await blackPicture();
  return startStandIn({
    plan: ({ seed }) => ({ end: () => completed([{ rendered_image: picture, seed }]) }),
  });
}

function start(night: Night): Started {
  return night.run('--json');
}

interface Row extends Record<string, string> {
  id: string;
}

function results(night: Night): Row[] {
  return parse(readFileSync(night.path('out/report/results.csv')), { columns: true });
}

function submitted({ stdout }: Finished): string[] {
  return stdout
    .split('\n')
    .filter((line) => line.includes('"type":"scene-submitted"'))
    .map((line) => (JSON.parse(line) as { scene: string }).scene)
    .toSorted();
}
