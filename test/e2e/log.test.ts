/** Promise: `--log` keeps every event of a run in a file, through rotation and kills, and never ends the run. */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Night, nightWith, nthEvent, pipeline, scenes, serve, small, testKey, withKey } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

type Line = Record<string, unknown>;

function linesOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
}

/** Creates a batch with this many scenes, whose jobs take `takesMs`. */
async function batch(count: number, takesMs = 0): Promise<Night> {
  const { url } = await startSlowService(takesMs);
  return nightWith({ 'scenes.csv': scenes(count), 'pipeline.yaml': pipeline(url) });
}
const args = ['run', 'pipeline.yaml', '--json', '--log', 'night.log'];

/** Removes the fields that the log adds, and times, which may differ by a millisecond. */
const withoutLevel = ({ level: _level, msg: _msg, at: _at, ...event }: Line): Line => event;

it('the log contains the lines of --json, appended, for the owner alone, without the key', async () => {
  const night = await batch(3);
  const { url } = await serve(night.cwd);
  night.write('pipeline.yaml', pipeline(url, small));
  const env = { NIGHTRENDER_API_KEY: testKey };
  const first = await night.with({ env }).start(...args);
  const second = await night.with({ env }).start(...args);
  expect([first.code, second.code]).toEqual([0, 0]);
  const log = night.read('night.log');
  expect(linesOf(log).map(withoutLevel)).toEqual(linesOf(first.stdout + second.stdout).map(withoutLevel));
  expect(statSync(night.path('night.log')).mode & 0o777).toBe(0o600);
  expect(log).not.toContain(testKey);
  const ended = linesOf(log).find(({ type }) => type === 'run-ended');
  expect(ended).toMatchObject({ level: 'info', msg: expect.stringMatching(/saved/) as unknown });
});

it('the log marks failures and halts by their level', async () => {
  const night = await batch(3);
  const strict = 'check: {minSide: 100000}\nretry: {attempts: 1}\nhalt: {consecutive: 2}\nconcurrency: 1\n';
  appendFileSync(night.path('pipeline.yaml'), strict);
  await night.start(...args).exits(10);
  const levels = linesOf(night.read('night.log')).map(({ type, level }) => [type, level]);
  expect(levels).toContainEqual(['attempt-failed', 'warn']);
  expect(levels).toContainEqual(['stopping', 'error']);
  expect(levels.at(-1)).toEqual(['run-ended', 'error']);
});

it('the log continues in a new file at SIGUSR2, and is complete after Ctrl-C', async () => {
  const night = await batch(300, 20);
  const rotate = (): void => {
    renameSync(night.path('night.log'), night.path('night.log.1'));
    process.emit('SIGUSR2', 'SIGUSR2');
  };
  const at = { words: nthEvent('scene-saved', 2), act: rotate };
  const run = night.with({ ...withKey, at }).start(...args);
  await expect.poll(() => ['night.log.1', 'night.log'].every((name) => night.has(name))).toBe(true);
  process.emit('SIGINT', 'SIGINT');
  const { code, stdout } = await run;
  expect(code).toBe(130);
  const both = ['night.log.1', 'night.log'].map((name) => night.read(name));
  expect(linesOf(both.join('')).map(withoutLevel)).toEqual(linesOf(stdout).map(withoutLevel));
  expect(linesOf(both[1] ?? '').at(-1)).toMatchObject({ type: 'run-ended', level: 'warn' });
});

const hasLogrotate = spawnSync('/usr/sbin/logrotate', ['--version']).status === 0;

it.skipIf(!hasLogrotate)(
  'the log is rotated by logrotate with copytruncate (skipped if there is no logrotate)',
  async () => {
    const night = await batch(300, 20);
    const log = night.path('night.log');
    const rule = `${log} {\n  rotate 3\n  copytruncate\n  missingok\n}\n`;
    writeFileSync(night.path('rotate.conf'), rule, { mode: 0o600 });
    const state = ['-f', '-s', night.path('rotate.state'), night.path('rotate.conf')];
    let rotated: unknown;
    const rotate = (): void => {
      rotated = spawnSync('/usr/sbin/logrotate', state, { encoding: 'utf8' });
      process.emit('SIGINT', 'SIGINT');
    };
    await night.with({ ...withKey, at: { words: nthEvent('scene-saved', 2), act: rotate } }).start(...args);
    expect(rotated).toMatchObject({ status: 0 });
    // The file is opened for appending, so truncating it leaves no hole.
    const after = readFileSync(log, 'utf8');
    expect(linesOf(after).at(-1)).toMatchObject({ type: 'run-ended' });
    expect(linesOf(readFileSync(`${log}.1`, 'utf8'))[0]).toMatchObject({ type: 'run-started' });
  },
);

it.each([
  ['full', '/dev/full', /no space left/],
  ['not to be opened', 'nowhere/night.log', /no such file or directory/],
  ['the configuration', 'pipeline.yaml', /it is not a log, and was not changed/],
  ['a list', 'scenes.csv', /it is not a log, and was not changed/],
])('a log that is %s causes a warning, and the night continues', async (_, file, why) => {
  const night = await batch(2);
  const people = ['pipeline.yaml', 'scenes.csv'].map((name) => night.path(name));
  const before = people.map((path) => readFileSync(path, 'utf8'));
  const { stderr } = await night.run('--log', file).exits(0);
  expect(stderr.match(/warning: the log .* cannot be written/g)).toHaveLength(1);
  expect(stderr).toMatch(why);
  expect(people.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
});

it.skipIf(process.platform === 'win32')(
  'a log that is a pipe without a reader does not block a run',
  async () => {
    const night = await batch(2);
    execFileSync('mkfifo', [night.path('pipe.log')]);
    await night
      .run('--log', 'pipe.log')
      .exits(0)
      .warns(/warning: the log .*pipe\.log cannot be written \(it is a pipe/);
  },
);
