/** Promise: several files run one after the other, all checked before the first begins. After a failure or a signal no further file begins. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  folderWith,
  linesOf,
  type Night,
  nightWith,
  nthEvent,
  pipeline,
  scenes,
  serve,
  signalAt,
  small,
} from './cli.ts';
import { startHeldStandIn } from './stand-ins.ts';

const refusedByWorker = 'input: {scene: "{{ scene }}", width: 0}\nretry: {attempts: 1}\n';

/** Returns a pipeline.yaml with the output folder `out-<name>`. */
const own = (name: string, more = small, baseUrl = 'local'): string =>
  pipeline(baseUrl, more).replace('dir: out', `dir: out-${name}`);

/** Creates a folder with each of these texts as `<name>.yaml`, for the same two scenes. */
function files(of: Record<string, string>): Night {
  const named = Object.entries(of).map(([name, text]) => [`${name}.yaml`, text]);
  return nightWith({ 'scenes.csv': scenes(2), ...Object.fromEntries(named) });
}

it('a run of several pipeline files continues after failed scenes, one file after the other, and ends with their code', async () => {
  const night = files({ a: own('a', refusedByWorker), b: own('b') });
  const ends = (
    await night.start('run', 'a.yaml', 'b.yaml', '--json').exits(3).lines<{ type: string }>()
  ).filter(({ type }) => /^run-(started|ended)$/.test(type));
  expect(ends).toMatchObject([
    { type: 'run-started', outputDir: night.path('out-a') },
    { type: 'run-ended', exitCode: 3 },
    { type: 'run-started', outputDir: night.path('out-b') },
    { type: 'run-ended', exitCode: 0 },
  ]);
});

it('a run of several pipeline files stops at any other ending, and names the files that were not started', async () => {
  const { url } = await serve(folderWith({}));
  const night = files({
    a: own('a', refusedByWorker),
    b: own('b', small, url),
    c: own('c'),
    d: own('d'),
  });
  const env = { NIGHTRENDER_API_KEY: 'another-key-9' };
  await night
    .with({ env })
    .start('run', 'b.yaml', 'c.yaml', '--quiet')
    .fails(12, 'c.yaml was not started, because b.yaml ended with 12;');
  const args = ['run', 'a.yaml', 'b.yaml', 'c.yaml', 'd.yaml', '--quiet'];
  await night
    .with({ env })
    .start(...args)
    .fails(3, 'c.yaml and d.yaml were not started, because b.yaml ended with 12;');
  expect(night.has('out-c')).toBe(false);
  // With the right key, the same command continues.
  await night.start('run', 'b.yaml', 'c.yaml', 'd.yaml', '--quiet').exits(0);
  expect(readdirSync(night.path('out-d/images')).filter((file) => file.endsWith('.png'))).toHaveLength(2);
});

it.each(['run', 'plan'])(
  '%s of several pipeline files reports all their problems before the first begins',
  async (command) => {
    const night = files({ a: own('a'), b: own('b', 'concurency: 2\n'), c: own('a') });
    const args = [command, 'a.yaml', 'b.yaml', 'c.yaml', './a.yaml', 'd.yaml', '--sample', '0', '--adopt'];
    const env = { NIGHTRENDER_OUTPUT: 'elsewhere' };
    const { stderr } = await night
      .with({ env })
      .start(...args)
      .exits(2)
      .printsOnly('');
    expect(stderr.split('\n')).toEqual([
      '--adopt: is for one batch; give it with one pipeline file alone',
      'NIGHTRENDER_OUTPUT: is for one batch; give it with one pipeline file alone',
      expect.stringMatching(/^--sample: is "0"/),
      expect.stringMatching(/^b\.yaml:\d+:1: the key "concurency" .*did you mean concurrency\?/),
      expect.stringMatching(/^d\.yaml: no such file/),
      expect.stringMatching(/^NIGHTRENDER_OUTPUT: output\.dir is the folder of a\.yaml, too/),
      './a.yaml: is given twice',
      '7 problems were found; nothing was sent and nothing written.',
      '',
    ]);
    await night
      .start(command, 'a.yaml', 'c.yaml')
      .fails(2, /^c\.yaml:\d+:\d+: output\.dir is the folder of a\.yaml, too/);
    expect(readdirSync(night.cwd).some((file) => file.startsWith('out'))).toBe(false);
  },
);

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  // Everything in flight is then saved, so this file alone would end with 0.
  ['SIGHUP', 3],
] as const)('%s stops a run of several pipeline files with the code %i', async (signal, code) => {
  const service = await startHeldStandIn();
  const night = files({ a: own('a', small, service.url), b: own('b') });
  const at = [
    signalAt(nthEvent('scene-submitted', 2), signal),
    { words: nthEvent('stopping'), act: service.release },
  ];
  const ended = await night.with({ at }).start('run', 'a.yaml', 'b.yaml', '--json').exits(code);
  expect(linesOf(ended).at(-1)).toMatchObject({
    type: 'run-ended',
    exitCode: signal === 'SIGHUP' ? 0 : code,
  });
  expect(ended.stderr).toContain('b.yaml was not started, because a signal came;');
  expect(night.has('out-b')).toBe(false);
});

it('a plan of several pipeline files names each of them, and shows the sum', async () => {
  const priced = `${small}pricing: {perSecond: 0.5, currency: EUR}\n`;
  const night = files({ a: own('a', priced), b: own('b', priced) });
  await night
    .start('plan', 'a.yaml', 'b.yaml')
    .exits(
      0,
      /^a\.yaml\n\nA run of a\.yaml [^]*\n\nb\.yaml\n\nA run of b\.yaml /,
      /\n\nTogether they would submit 4 scenes\.\n$/,
    );
  await night.start('run', 'a.yaml', 'b.yaml', '--limit', '1', '--quiet');
  const plans = await night
    .start('plan', 'a.yaml', 'b.yaml', '--json')
    .lines<{ file: string; forecast: { cost: { amount: number } } }>();
  expect(plans.map(({ file }) => file)).toEqual(['a.yaml', 'b.yaml']);
  const spent = plans.reduce((sum, { forecast }) => sum + forecast.cost.amount, 0);
  const known = await night.start('plan', 'a.yaml', 'b.yaml');
  const [, told] = /\nTogether they would submit 2 scenes, for about (\S+) EUR\.\n$/.exec(known.stdout) ?? [];
  // The number is rounded to the cent.
  expect(Math.abs(Number(told) - spent)).toBeLessThanOrEqual(0.005 + 1e-9);
});

it('a plan of several pipeline files continues if one is refused, and ends with its code', async () => {
  const night = files({ a: own('a'), b: own('b') });
  night.write('nowhere.yaml', own('c').replace('scenes.csv', 'nowhere.csv'));
  await night
    .start('plan', 'a.yaml', 'nowhere.yaml', 'b.yaml')
    .fails(2, 'nowhere.csv')
    .prints('A run of b.yaml would submit 2 scenes')
    .printsNo('Together');
});

it('a folder stands for the pipeline.yaml in it, even if it is named like a command', async () => {
  const night = nightWith({});
  for (const name of ['list', 'run']) {
    mkdirSync(night.path(name));
    writeFileSync(night.path(name, 'pipeline.yaml'), pipeline('local', small));
    writeFileSync(night.path(name, 'scenes.csv'), scenes(1));
  }
  await night.start('run', 'list', 'run', '--quiet').exits(0);
  for (const name of ['list', 'run']) expect(existsSync(night.path(name, 'out/images/s0.png'))).toBe(true);
});
