/** Promise: each exit code means what the README says, and runs with a resumable one can be resumed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  eventsOf,
  folderWith,
  inProcess,
  newBatch,
  nightrender,
  nthEvent,
  pipeline,
  Program,
  serve,
  signalAt,
  small,
  statusOf,
  withKey,
} from './cli.ts';
import { isWhole, rest } from '../fakes/tier.ts';
import { startPatientService, startSlowService } from './stand-ins.ts';

it('0: every scene saved', async () => {
  const cwd = newBatch('local', 3, 'input: {scene: "{{ scene }}", width: 64, height: 64}');
  const { code, stdout, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(stderr).not.toMatch(/error|warning/i);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('3 of 3 scenes');
  expect(stdout).toContain('out/images');
  expect(stdout).toContain('out/report/index.html');
});

rest.it('1: a bug of ours, said as such, with its stack', async () => {
  const cwd = newBatch('local', 1);
  const planted = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';
    os.hostname = () => { throw new TypeError('planted'); }; syncBuiltinESMExports();`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(planted)}`];
  const { code, stderr } = await nightrender(['run', 'pipeline.yaml'], { cwd, nodeArgs });
  expect(code).toBe(1);
  expect(stderr).toMatch(/bug of nightrender[^]*TypeError: planted\n\s+at /);
});

it('2: wrong use and wrong configuration, all problems at once, nothing written', async () => {
  const cwd = folderWith({
    'pipeline.yaml':
      'manifest: nowhere.csv\nendpoint:\n  baseUrl: ftp://x\n  idd: a\nconcurrency: many\noutput: {dir: out}\n',
  });
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('pipeline.yaml:3:12: endpoint.baseUrl is "ftp://x"');
  expect(stderr).toContain('pipeline.yaml:4:3: the key "idd"');
  expect(stderr).toContain('pipeline.yaml:5:14: concurrency is "many"');
  expect(stderr).not.toContain('    at ');
  expect(existsSync(join(cwd, 'out'))).toBe(false);
  expect((await inProcess(['run'], { cwd })).code).toBe(2);
  expect((await inProcess(['render', 'pipeline.yaml'], { cwd })).code).toBe(2);
  expect((await inProcess(['run', 'pipeline.yaml', '--concurency', '2'], { cwd })).code).toBe(2);
});

it('2: a manifest with bad rows, each named by file and line, nothing written', async () => {
  const cwd = folderWith({
    'pipeline.yaml': pipeline('local'),
    'scenes.csv': 'id,scene\na,sea\nb,\na,hills\nc\n',
  });
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(code).toBe(2);
  for (const place of ['scenes.csv:3: ', 'scenes.csv:4: ', 'scenes.csv:5: ']) expect(stderr).toContain(place);
  expect(existsSync(join(cwd, 'out'))).toBe(false);
});

it('3: some scenes are not saved; bad rows that were skipped count, and are in the report as invalid', async () => {
  const cwd = folderWith({
    'pipeline.yaml': pipeline(
      'local',
      'input: {scene: "{{ scene }}", width: "{{ width }}"}\nretry: {attempts: 1}',
    ),
    'scenes.jsonl':
      '{"id":"a","scene":"sea","width":64}\n{"id":"b","scene":"sea","width":-1}\n{"id":"c","scene":""}\n',
  });
  const args = ['run', 'pipeline.yaml', '--manifest', 'scenes.jsonl', '--skip-bad-rows'];
  const { code, stderr } = await inProcess(args, { cwd });
  expect(code, stderr).toBe(3);
  const rows = readFileSync(join(cwd, 'out/report/results.csv'), 'utf8').split('\n');
  expect(rows[1]).toMatch(/^a,saved,images\/a\.png,/);
  expect(rows[2]).toMatch(/^b,failed,.*job-failed/);
  expect(rows[3]).toMatch(/^c,invalid,/);
});

it('10: stopped by a halt rule', async () => {
  const cwd = newBatch(
    'local',
    40,
    'input: {scene: "{{ scene }}", width: 0}\nhalt: {consecutive: 3}\nconcurrency: 2',
  );
  const { code, stdout, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(code).toBe(10);
  expect(stdout).toMatch(/3 attempts in a row brought no picture/);
  expect(stderr).toMatch(/ {2}stopping: Halted$/m);
});

it('12: the key is refused; no scene is touched, at most as many requests as lanes', async () => {
  const dir = folderWith({});
  const { url } = await serve(dir);
  const cwd = newBatch(url, 12, `${small}concurrency: 3`);
  const refused = await inProcess(['run', 'pipeline.yaml'], {
    cwd,
    env: { NIGHTRENDER_API_KEY: 'another-key-9' },
  });
  expect(refused.code).toBe(12);
  expect(refused.stderr).toMatch(/does not accept the key/);
  expect(refused.stdout).toMatch(/12 waiting/);
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey })).code).toBe(0);
});

it('13: the time for submissions is over', async () => {
  // One after the other, each asked for after 50 ms at the earliest: 600 ms of work at least.
  const { url } = await startSlowService(10);
  const cwd = newBatch(url, 12, 'concurrency: 1\nlimits: {for: 200ms}');
  const over = await inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey });
  expect(over.code).toBe(13);
  expect(over.stderr).toMatch(/`limits\.for`/);
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline(url));
  expect((await inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey })).code).toBe(0);
});

it.each([
  // In `npm test` one of the two stands for both.
  ...(isWhole ? [['SIGINT', 130] as const] : []),
  ['SIGTERM', 143],
] as const)(
  '%s: ends with %i, the jobs in flight stay on record, and nothing is submitted again',
  async (signal, expected) => {
    const service = await startPatientService();
    const cwd = newBatch(service.url, 5);
    const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    await run.event('scene-submitted', 5);
    run.child.kill(signal);
    expect((await run.finish()).code).toBe(expected);
    expect(await statusOf(cwd)).toMatchObject({
      isRunning: false,
      summary: { attempts: { submitted: 5 }, lastRun: { exitCode: expected } },
    });
    const at = signalAt(nthEvent('recovered'));
    const next = await inProcess(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey, at });
    expect(eventsOf(next, 'recovered')).toMatchObject([{ inFlight: 5, unanswered: 0 }]);
    expect(service.inputs).toHaveLength(5);
  },
);

it.each([
  [['serve', '--port', 'x'], '--port: port is "x"; expected a port, a whole number from 0 to 65535'],
  [['serve', '--workers', '0'], '--workers: 0 is given; expected a whole number from 1 to 1000'],
  [['serve', '--data', 'a', '--data', 'b'], '--data: a and b is given; expected one text'],
])('2: %j says what was given', async (args, sentence) => {
  const { code, stderr } = await inProcess(args);
  expect(code, stderr).toBe(2);
  expect(stderr).toContain(sentence);
});

it('2: a number that is none is told as it was given', async () => {
  const cwd = newBatch('local', 1);
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--concurrency', 'many'], { cwd });
  expect(code, stderr).toBe(2);
  expect(stderr).toContain('--concurrency: concurrency is "many"');
});

it('1: an error of the parser’s name out of a command is a bug all the same', async () => {
  const planted = `const { write } = process.stderr;
    process.stderr.write = () => {
      process.stderr.write = write;
      throw Object.assign(new Error('planted'), { name: 'YError' });
    };`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(planted)}`];
  const { code, stderr } = await nightrender(['run', 'nowhere.yaml'], { nodeArgs });
  expect(code, stderr).toBe(1);
  expect(stderr).toContain('planted');
});

it('refuses a Node that is too old in a sentence before any native module loads', async () => {
  const other = `Object.defineProperty(process.versions, 'node', { value: '20.18.3' });`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(other)}`];
  const { code, stderr } = await nightrender(['run', 'pipeline.yaml'], { nodeArgs });
  expect(code).toBe(2);
  const needed = 'nightrender needs Node.js 20.19 or later, 22.12 or later, or 24 and above';
  expect(stderr).toBe(`${needed}; this is 20.18.3.\n`);
});

it.each([[], ['run']])('has every exit code in the help of %j', async (...command) => {
  const { stdout, code } = await inProcess([...command, '--help']);
  expect(code).toBe(0);
  for (const exitCode of [0, 1, 2, 3, 10, 11, 12, 13, 14, 130, 143]) {
    expect(stdout).toMatch(new RegExp(`^\\s+${exitCode}\\s{2}\\S`, 'm'));
  }
});
