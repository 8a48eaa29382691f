/** Promise: several files run one after the other, all checked before the first begins. After a failure or a signal no further file begins. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  folderWith,
  inProcess,
  linesOf,
  nthEvent,
  pipeline,
  scenes,
  serve,
  signalAt,
  small,
  withKey,
} from './cli.ts';
import { startHeldStandIn } from './stand-ins.ts';

const refusedByWorker = 'input: {scene: "{{ scene }}", width: 0}\nretry: {attempts: 1}\n';

/** A pipeline.yaml with an output folder of its own: `out-<name>`. */
const own = (name: string, more = small, baseUrl = 'local'): string =>
  pipeline(baseUrl, more).replace('dir: out', `dir: out-${name}`);

/** Each of these under `<name>.yaml`, for the same two scenes. */
function files(of: Record<string, string>): string {
  const named = Object.entries(of).map(([name, text]) => [`${name}.yaml`, text]);
  return folderWith({ 'scenes.csv': scenes(2), ...Object.fromEntries(named) });
}

it('goes on after failed scenes, one file after the other, and ends with their code', async () => {
  const cwd = files({ a: own('a', refusedByWorker), b: own('b') });
  const { code, stdout, stderr } = await inProcess(['run', 'a.yaml', 'b.yaml', '--json'], { cwd });
  expect(code, stderr).toBe(3);
  const ends = linesOf<{ type: string }>({ stdout }).filter(({ type }) => /^run-(started|ended)$/.test(type));
  expect(ends).toMatchObject([
    { type: 'run-started', outputDir: join(cwd, 'out-a') },
    { type: 'run-ended', exitCode: 3 },
    { type: 'run-started', outputDir: join(cwd, 'out-b') },
    { type: 'run-ended', exitCode: 0 },
  ]);
});

it('any other end is the last, also after a code that is told before it, and what was not begun is named', async () => {
  const { url } = await serve(folderWith({}));
  const cwd = files({
    a: own('a', refusedByWorker),
    b: own('b', small, url),
    c: own('c'),
    d: own('d'),
  });
  const env = { NIGHTRENDER_API_KEY: 'another-key-9' };
  const alone = await inProcess(['run', 'b.yaml', 'c.yaml', '--quiet'], { cwd, env });
  expect(alone.code).toBe(12);
  expect(alone.stderr).toContain('c.yaml was not started, because b.yaml ended with 12;');
  const args = ['run', 'a.yaml', 'b.yaml', 'c.yaml', 'd.yaml', '--quiet'];
  const { code, stderr } = await inProcess(args, { cwd, env });
  expect(code).toBe(3);
  expect(stderr).toContain('c.yaml and d.yaml were not started, because b.yaml ended with 12;');
  expect(existsSync(join(cwd, 'out-c'))).toBe(false);
  // Once the key is right, the same command goes on.
  const later = await inProcess(['run', 'b.yaml', 'c.yaml', 'd.yaml', '--quiet'], { cwd, ...withKey });
  expect(later.code, later.stderr).toBe(0);
  expect(readdirSync(join(cwd, 'out-d/images')).filter((file) => file.endsWith('.png'))).toHaveLength(2);
});

it.each(['run', 'plan'])(
  '%s tells what is wrong with any of the files before the first begins',
  async (command) => {
    const cwd = files({ a: own('a'), b: own('b', 'concurency: 2\n'), c: own('a') });
    const args = [command, 'a.yaml', 'b.yaml', 'c.yaml', './a.yaml', 'd.yaml', '--sample', '0', '--adopt'];
    const env = { NIGHTRENDER_OUTPUT: 'elsewhere' };
    const { code, stdout, stderr } = await inProcess(args, { cwd, env });
    expect([code, stdout]).toEqual([2, '']);
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
    const two = await inProcess([command, 'a.yaml', 'c.yaml'], { cwd });
    expect(two.code).toBe(2);
    expect(two.stderr).toMatch(/^c\.yaml:\d+:\d+: output\.dir is the folder of a\.yaml, too/);
    expect(readdirSync(cwd).some((file) => file.startsWith('out'))).toBe(false);
  },
);

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  // All that was in flight is saved then, so that the file alone would end with 0.
  ['SIGHUP', 3],
] as const)('%s begins no other file, and the code is %i', async (signal, code) => {
  const service = await startHeldStandIn();
  const cwd = files({ a: own('a', small, service.url), b: own('b') });
  const at = [
    signalAt(nthEvent('scene-submitted', 2), signal),
    { words: nthEvent('stopping'), act: service.release },
  ];
  const ended = await inProcess(['run', 'a.yaml', 'b.yaml', '--json'], { cwd, ...withKey, at });
  expect(ended.code, ended.stderr).toBe(code);
  expect(linesOf(ended).at(-1)).toMatchObject({
    type: 'run-ended',
    exitCode: signal === 'SIGHUP' ? 0 : code,
  });
  expect(ended.stderr).toContain('b.yaml was not started, because a signal came;');
  expect(existsSync(join(cwd, 'out-b'))).toBe(false);
});

it('plans each under its name, and tells the sum', async () => {
  const priced = `${small}pricing: {perSecond: 0.5, currency: EUR}\n`;
  const cwd = files({ a: own('a', priced), b: own('b', priced) });
  const unknown = await inProcess(['plan', 'a.yaml', 'b.yaml'], { cwd });
  expect(unknown.code).toBe(0);
  expect(unknown.stdout).toMatch(/^a\.yaml\n\nA run of a\.yaml [^]*\n\nb\.yaml\n\nA run of b\.yaml /);
  expect(unknown.stdout).toMatch(/\n\nTogether they would submit 4 scenes\.\n$/);
  await inProcess(['run', 'a.yaml', 'b.yaml', '--limit', '1', '--quiet'], { cwd });
  const { stdout } = await inProcess(['plan', 'a.yaml', 'b.yaml', '--json'], { cwd });
  const plans = linesOf<{ file: string; forecast: { cost: { amount: number } } }>({ stdout });
  expect(plans.map(({ file }) => file)).toEqual(['a.yaml', 'b.yaml']);
  const spent = plans.reduce((sum, { forecast }) => sum + forecast.cost.amount, 0);
  const known = await inProcess(['plan', 'a.yaml', 'b.yaml'], { cwd });
  const [, told] = /\nTogether they would submit 2 scenes, for about (\S+) EUR\.\n$/.exec(known.stdout) ?? [];
  // Rounded to the cent, up or down.
  expect(Math.abs(Number(told) - spent)).toBeLessThanOrEqual(0.005 + 1e-9);
});

it('plans the others though one is refused, and ends with its code', async () => {
  const cwd = files({ a: own('a'), b: own('b') });
  writeFileSync(join(cwd, 'nowhere.yaml'), own('c').replace('scenes.csv', 'nowhere.csv'));
  const { code, stdout, stderr } = await inProcess(['plan', 'a.yaml', 'nowhere.yaml', 'b.yaml'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('nowhere.csv');
  expect(stdout).toContain('A run of b.yaml would submit 2 scenes');
  expect(stdout).not.toContain('Together');
});

it('folders stand for the file in them, also those that are called as commands are', async () => {
  const cwd = folderWith({});
  for (const name of ['list', 'run']) {
    mkdirSync(join(cwd, name));
    writeFileSync(join(cwd, name, 'pipeline.yaml'), pipeline('local', small));
    writeFileSync(join(cwd, name, 'scenes.csv'), scenes(1));
  }
  const { code, stderr } = await inProcess(['run', 'list', 'run', '--quiet'], { cwd });
  expect(code, stderr).toBe(0);
  for (const name of ['list', 'run']) expect(existsSync(join(cwd, name, 'out/images/s0.png'))).toBe(true);
});
