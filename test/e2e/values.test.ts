/** Promise: values from a job's output are columns of the results everywhere, also for jobs without pictures. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, inProcess, linesOf, pipeline, scenes, withKey } from './cli.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

const values = 'values: {score: quality.score, nsfw: flags.nsfw, model: model}';

/** The n-th scene has the score n / 10. */
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

it('keeps them with the picture, and shows them as columns', async () => {
  const service = await scored(true);
  const cwd = folderWith(filesOf(service.url, values));
  const start = (...args: string[]) =>
    inProcess([args[0] ?? '', 'pipeline.yaml', ...args.slice(1)], { cwd, ...withKey });
  const run = await start('run');
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toContain(
    '  values    1 picture has an empty value: a list or an object is at its place\n',
  );
  const rows = linesOf<{ id: string; columns: object }>(await start('list', '--json'));
  expect(rows.map(({ columns }) => columns)).toMatchObject([
    { score: 0, nsfw: false, model: 'sdxl' },
    { score: 0.1, nsfw: false },
    { score: 0.2, nsfw: true, model: 'sdxl' },
    { score: 0.3, nsfw: false, model: 'sdxl' },
  ]);
  expect(rows[1]?.columns).not.toHaveProperty('model');
  expect((await start('list', '--where', 'score >= 0.2 and not nsfw = true')).stdout).toMatch(
    /^s3 [^\n]*\n$/,
  );
  expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8')).toMatch(
    /,scene,score,nsfw,model,endpoint\n/,
  );
  expect((await start('explain', 's2')).stdout).toContain('score 0.2, nsfw true, model sdxl');

  // One that is asked for later is read from what was kept.
  const text = readFileSync(join(cwd, 'pipeline.yaml'), 'utf8');
  writeFileSync(join(cwd, 'pipeline.yaml'), text.replace('values: {', 'values: {later: later, page: page, '));
  expect((await start('run')).code).toBe(0);
  expect(service.inputs).toHaveLength(4);
  const later = linesOf<{ columns: object }>(await start('list', '--json'))[3]?.columns;
  expect(later).toMatchObject({ later: 'of 3', score: 0.3 });
  expect(later).not.toHaveProperty('page');
  const { stdout } = await start('list', '--csv');
  expect(stdout).toContain(',scene,later,page,score,');
  expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8')).toBe(stdout);
});

it('goes before a column of its name, and comes back with pictures that are adopted', async () => {
  const service = await scored(true);
  const cwd = folderWith({
    ...filesOf(service.url, `metadata: sidecar\n  ${values}`),
    'scenes.csv': scenes(4).replaceAll('\n', ',of the list\n').replace('of the list', 'score'),
  });
  const start = (...args: string[]) =>
    inProcess([args[0] ?? '', 'pipeline.yaml', ...args.slice(1)], { cwd, ...withKey });
  const scores = async (): Promise<unknown[]> =>
    linesOf<{ columns: { score?: unknown } }>(await start('list', '--json')).map(
      ({ columns }) => columns.score,
    );
  await start('run', '--limit', '3');
  expect(await scores()).toEqual([0, 0.1, 0.2, undefined]);
  for (const end of ['', '-wal', '-shm']) rmSync(join(cwd, `out/checkpoint.sqlite${end}`), { force: true });
  const run = await start('run', '--adopt');
  expect(run.code, run.stderr).toBe(0);
  expect(service.inputs).toHaveLength(4);
  expect(await scores()).toEqual([0, 0.1, 0.2, 0.3]);
});

it('takes jobs that return no picture', async () => {
  const service = await scored(false);
  const cwd = folderWith(filesOf(service.url, `image: none\n  ${values}`));
  const start = (...args: string[]) =>
    inProcess([args[0] ?? '', 'pipeline.yaml', ...args.slice(1)], { cwd, ...withKey });
  const run = await start('run');
  expect(run.code, run.stderr).toBe(0);
  expect((await start('list', '--where', 'score > 0.1', '--json')).stdout.trim().split('\n')).toHaveLength(2);
  expect((await start('verify')).code).toBe(0);
  appendFileSync(join(cwd, 'scenes.csv'), 's9,scene 9\n');
  expect((await start('run')).code).toBe(0);
  expect(service.inputs).toHaveLength(5);
});
