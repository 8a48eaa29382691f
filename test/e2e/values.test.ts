/**
 * Promise: values from a job's output are columns of the results everywhere, also for jobs without pictures.
 */
import { appendFileSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nightWith, pipeline, scenes } from './cli.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

const values = 'values: {score: quality.score, nsfw: flags.nsfw, model: model}';

/** Creates a batch in which the nth scene has the score n / 10. */
async function scored(isWithPicture: boolean) {
  const picture = isWithPicture ? { rendered_image: await blackPicture(), seed: 1 } : {};
  const service = await startStandIn({
    plan: ({ scene }) => {
      const number = Number(/\d+/.exec(JSON.stringify(scene))?.[0]);
      const said = {
        quality: { score: number / 10 },
        flags: { nsfw: number === 2 },
        model: number === 1 ? { name: 'x' } : 'sdxl',
        later: `of ${number}`,
        page: 'https://example.com/x',
        blob: 'A'.repeat(5_000),
      };
      return { end: () => completed([{ ...picture, ...said }]) };
    },
  });
  return service;
}

function filesOf(url: string, output: string): Record<string, string> {
  const text = pipeline(url, 'input: {scene: "{{ scene }}"}\n').replace(
    '  dir: out\n',
    `  dir: out\n  ${output}\n`,
  );
  return { 'pipeline.yaml': text, 'scenes.csv': scenes(4) };
}

it('values are kept with the picture, and shown as columns', async () => {
  const service = await scored(true);
  const night = nightWith(filesOf(service.url, values));
  const start = (...args: string[]) => night.do(args[0] ?? '', ...args.slice(1));
  await start('run').exits(
    0,
    '  values    1 picture has an empty value: a list or an object is at its place\n',
  );
  const rows = await start('list', '--json').lines<{ id: string; columns: object }>();
  expect(rows.map(({ columns }) => columns)).toMatchObject([
    { score: 0, nsfw: false, model: 'sdxl' },
    { score: 0.1, nsfw: false },
    { score: 0.2, nsfw: true, model: 'sdxl' },
    { score: 0.3, nsfw: false, model: 'sdxl' },
  ]);
  expect(rows[1]?.columns).not.toHaveProperty('model');
  await start('list', '--where', 'score >= 0.2 and not nsfw = true').prints(/^s3 [^\n]*\n$/);
  expect(night.read('out/report/results.csv')).toMatch(/,scene,score,nsfw,model,endpoint\n/);
  await start('explain', 's2').prints('score 0.2, nsfw true, model sdxl');

  // A value that is requested later is read from the kept part of the output.
  const text = night.read('pipeline.yaml');
  night.write('pipeline.yaml', text.replace('values: {', 'values: {later: later, page: page, '));
  await start('run').exits(0);
  expect(service.inputs).toHaveLength(4);
  const later = (await start('list', '--json').lines<{ columns: object }>())[3]?.columns;
  expect(later).toMatchObject({ later: 'of 3', score: 0.3 });
  expect(later).not.toHaveProperty('page');
  const { stdout } = await start('list', '--csv').prints(',scene,later,page,score,');
  expect(night.read('out/report/results.csv')).toBe(stdout);
});

it('a value goes before a column of its name, and comes back with pictures that are adopted', async () => {
  const service = await scored(true);
  const night = nightWith({
    ...filesOf(service.url, `metadata: sidecar\n  ${values}`),
    'scenes.csv': scenes(4).replaceAll('\n', ',of the list\n').replace('of the list', 'score'),
  });
  const start = (...args: string[]) => night.do(args[0] ?? '', ...args.slice(1));
  const scores = async (): Promise<unknown[]> =>
    (await start('list', '--json').lines<{ columns: { score?: unknown } }>()).map(
      ({ columns }) => columns.score,
    );
  await start('run', '--limit', '3');
  expect(await scores()).toEqual([0, 0.1, 0.2, undefined]);
  for (const end of ['', '-wal', '-shm']) rmSync(night.path(`out/checkpoint.sqlite${end}`), { force: true });
  await start('run', '--adopt').exits(0);
  expect(service.inputs).toHaveLength(4);
  expect(await scores()).toEqual([0, 0.1, 0.2, 0.3]);
});

it('jobs that return no picture are accepted', async () => {
  const service = await scored(false);
  const night = nightWith(filesOf(service.url, `image: none\n  ${values}`));
  const start = (...args: string[]) => night.do(args[0] ?? '', ...args.slice(1));
  await start('run').exits(0);
  expect((await start('list', '--where', 'score > 0.1', '--json')).stdout.trim().split('\n')).toHaveLength(2);
  await start('verify').exits(0);
  appendFileSync(night.path('scenes.csv'), 's9,scene 9\n');
  await start('run').exits(0);
  expect(service.inputs).toHaveLength(5);
});
