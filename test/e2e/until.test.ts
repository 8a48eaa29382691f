/**
 * Promise: with `scenes.until`, a seed is sent only if the one before it did not meet the condition, even if
 * the condition changes between two runs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nightWith, pipeline, scenes } from './cli.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

/**
 * Scores of each scene's jobs in turn. Null for an output without a score, and undefined for a job that
 * fails.
 */
const scores: Record<string, (number | null | undefined)[]> = {
  'Hills and 0 trees': [0.7],
  'Hills and 1 trees': [0.1, 0.65],
  'Hills and 2 trees': [null, 0.2, 0.3, 0.4, 0.5, 0.9],
  'Hills and 3 trees': [undefined, 0.8, 0.7],
};

async function begin(until = 'score >= 0.6', more = '') {
  const picture = await blackPicture();
  const done = new Map<string, number>();
  const service = await startStandIn({
    plan: (input) => {
      const scene = input['scene'] as string;
      const nth = done.get(scene) ?? 0;
      done.set(scene, nth + 1);
      const score = scores[scene]?.[nth];
      if (score === undefined) return { end: () => ({ status: 'FAILED', error: 'no memory' }) };
      return {
        end: () => ({
          ...completed([{ rendered_image: picture, ...(score !== null && { quality: { score } }) }]),
          executionTime: 2_000,
        }),
      };
    },
  });
  const text = `${pipeline(service.url, 'input: {scene: "{{ scene }}", seed: "{{ seed }}"}\n').replace(
    '  dir: out\n',
    '  dir: out\n  values: {score: quality.score}\n',
  )}
scenes: {seeds: 4, until: ${JSON.stringify(until)}}
retry: {attempts: 1}
pricing: {perSecond: 0.001, currency: EUR}
${more}`;
  const night = nightWith({ 'pipeline.yaml': text, 'scenes.csv': scenes(4) });
  const start = (...args: string[]) => night.do(args[0] ?? '', ...args.slice(1));
  const edit = (from: string, to: string): void => {
    const file = night.path('pipeline.yaml');
    const before = readFileSync(file, 'utf8');
    expect(before).toContain(from);
    writeFileSync(file, before.replace(from, to));
  };
  const states = async () =>
    (await start('list', '--json').lines<{ id: string; state: string }>()).map(
      ({ id, state }) => `${id} ${state}`,
    );
  return { night, service, start, edit, states };
}

it('the plan of a stage counts the seeds that `until` may still send', async () => {
  const { night } = await begin();
  const stage = "scenes: {from: pipeline.yaml}\ninput: {scene: '{{ scene }}'}\n";
  const text = pipeline('local', stage)
    .replace('manifest: scenes.csv\n', '')
    .replace('dir: out', 'dir: next');
  night.write('next.yaml', text);
  await night
    .plan('next.yaml')
    .prints(
      'A run of next.yaml would submit up to 16 scenes once pipeline.yaml has their',
      'Together they would submit 4 scenes; up to 28 scenes more, as results come in.',
    );
});

it('a run with `until` sends seeds until a picture is good, counts the other seeds as not needed, and says that the set is biased', async () => {
  const { night, service, start, states } = await begin();
  await start('plan').prints(/seeds {5}`scenes\.until` decides how many are sent: 4 at least, 16 at most\n/);
  const run = await start('run')
    .prints(
      / {2}scenes {4}8 saved, 1 failed, 7 not needed\n/,
      '  values    1 scene lacks a value that `scenes.until` needs, and did not meet it\n',
    )
    .warns('4 scenes to render, up to 12 more seeds if these fall short\n');
  const bias = 'This set is biased: for each row, seeds were rendered only until one met `score >= 0.6`';
  expect(run.stdout).toContain(`  seeds     ${bias}\n`);
  expect(await states()).toEqual(
    [
      's0-s1 saved, s0-s2 unneeded, s0-s3 unneeded, s0-s4 unneeded',
      's1-s1 saved, s1-s2 saved, s1-s3 unneeded, s1-s4 unneeded',
      's2-s1 saved, s2-s2 saved, s2-s3 saved, s2-s4 saved',
      's3-s1 failed, s3-s2 saved, s3-s3 unneeded, s3-s4 unneeded',
    ].flatMap((row) => row.split(', ')),
  );
  expect(service.inputs).toHaveLength(9);
  await start('status').prints(/8 of 9 saved \(88 %\)\n {10}1 failed, 7 not needed\n/);
  expect((await start('list', '--state', 'unneeded', '--json')).stdout.trim().split('\n')).toHaveLength(7);
  await start('explain', 's0-s2').prints(
    'next      the next run sends it only if the seed before it does not meet `scenes.until`\n',
  );
  const report = (name: string) => night.read(`out/report/${name}`);
  expect(JSON.parse(report('summary.json'))).toMatchObject({ bias, scenes: { saved: 8, unneeded: 7 } });
  expect(report('index.html')).toContain(bias);

  await start('retry', '--id', 's0-s2').warns('the seeds before it do not meet `scenes.until`');
  // The failed seed is tried again, and nothing else is sent.
  await start('retry').exits(0);
  await start('run').exits(
    0,
    /^Every scene that is needed is saved: 9 of 9 scenes in [^\n]*\.\n {2}scenes {4}9 saved, 7 not needed\n/,
  );
  expect(service.inputs).toHaveLength(10);
});

it('a batch with `until` accepts another condition, more seeds, and no condition', async () => {
  const { service, start, edit, states } = await begin('score >= 0.6', 'limits: {jobs: 4}\n');
  await start('run').exits(13);
  const sent = async (...args: string[]) => {
    const before = service.inputs.length;
    const { code, stderr } = await start('run', ...args);
    expect([0, 3], stderr).toContain(code);
    return service.inputs.length - before;
  };
  edit('limits: {jobs: 4}\n', '');
  edit('score >= 0.6', 'score >= 0.1 or seed_number = 1');
  expect(await sent(), 'looser').toBe(1);
  expect(await states()).toContain('s1-s2 unneeded');
  edit('score >= 0.1 or seed_number = 1', 'score >= 0.6');
  expect(await sent(), 'stricter').toBe(4);
  edit('seeds: 4', 'seeds: 6');
  const price = /sent: 1 \(about ([\d.]+) EUR\) at least, 2 \(about ([\d.]+) EUR\) at most/;
  const [, least, most] = price.exec((await start('plan')).stdout.replaceAll(/\s+/g, ' ')) ?? [];
  expect(Number(least)).toBeGreaterThan(0);
  expect(Number(most)).toBeCloseTo(2 * Number(least));
  expect(await sent(), 'more seeds').toBe(2);
  expect((await states()).filter((each) => each.endsWith(' unneeded'))).toHaveLength(5 + 4 + 4);
  edit(', until: "score >= 0.6"', '');
  expect(await sent(), 'all').toBe(13);
  expect((await states()).filter((each) => each.endsWith(' unneeded'))).toEqual([]);
});

it('`until` is rejected with unknown values, and without values or seeds', async () => {
  const { service, start, edit } = await begin('scores >= 0.6');
  for (const command of ['plan', 'run']) {
    await start(command).fails(2, '"scores" at character 1 is no column; did you mean score?');
  }
  edit('until: "scores', 'until: "score');
  await start('run').exits(3);
  edit('score >= 0.6', 'score >= style');
  await start('run').warns('"style" at character 10 is no column');
  edit('  values: {score: quality.score}\n', '');
  await start('plan').warns('expected output.values as well: the values of the condition');
  edit('seeds: 4, ', 'matrix: {style: [ink]}, ');
  await start('plan').warns('expected seeds as well: the number to try');
  expect(service.inputs).toHaveLength(9);
});
