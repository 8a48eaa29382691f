/**
 * Promise: each exit code means what the README says, and runs that end with a resumable code can be resumed.
 */
import { expect, it } from 'vitest';
import {
  folderWith,
  inProcess,
  nightOf,
  nightrender,
  nightWith,
  nthEvent,
  pipeline,
  serve,
  signalAt,
  small,
} from './cli.ts';
import { firstTier, isWhole, rest } from '../fakes/tier.ts';
import { startPatientService, startSlowService } from './stand-ins.ts';

firstTier.it('0: every scene saved', async () => {
  const night = nightOf('local', 3, 'input: {scene: "{{ scene }}", width: 64, height: 64}');
  await night
    .run()
    .exits(0, '3 of 3 scenes', 'out/images', 'out/report/index.html')
    .warnsNo(/error|warning/i);
});

rest.it('1: a bug of ours, said as such, with its stack', async () => {
  const night = nightOf('local', 1);
  const planted = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';
    os.hostname = () => { throw new TypeError('planted'); }; syncBuiltinESMExports();`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(planted)}`];
  await night
    .with({ nodeArgs })
    .built('run', 'pipeline.yaml')
    .fails(1, /bug of nightrender[^]*TypeError: planted\n\s+at /);
});

firstTier.it('2: wrong use and wrong configuration, all problems at once, nothing written', async () => {
  const night = nightWith({
    'pipeline.yaml':
      'manifest: nowhere.csv\nendpoint:\n  baseUrl: ftp://x\n  idd: a\nconcurrency: many\noutput: {dir: out}\n',
  });
  await night
    .run()
    .fails(
      2,
      'pipeline.yaml:3:12: endpoint.baseUrl is "ftp://x"',
      'pipeline.yaml:4:3: the key "idd"',
      'pipeline.yaml:5:14: concurrency is "many"',
    )
    .warnsNo('    at ');
  expect(night.has('out')).toBe(false);
  await night.start('run').exits(2);
  await night.do('render').exits(2);
  await night.run('--concurency', '2').exits(2);
});

firstTier.it('2: a manifest with bad rows, each named by file and line, nothing written', async () => {
  const night = nightOf('local', 'id,scene\na,sea\nb,\na,hills\nc\n');
  await night.run().fails(2, 'scenes.csv:3: ', 'scenes.csv:4: ', 'scenes.csv:5: ');
  expect(night.has('out')).toBe(false);
});

firstTier.it(
  '3: some scenes are not saved; bad rows that were skipped count, and are in the report as invalid',
  async () => {
    const night = nightWith({
      'pipeline.yaml': pipeline(
        'local',
        'input: {scene: "{{ scene }}", width: "{{ width }}"}\nretry: {attempts: 1}',
      ),
      'scenes.jsonl':
        '{"id":"a","scene":"sea","width":64}\n{"id":"b","scene":"sea","width":-1}\n{"id":"c","scene":""}\n',
    });
    const args = ['run', 'pipeline.yaml', '--manifest', 'scenes.jsonl', '--skip-bad-rows'];
    await night.start(...args).exits(3);
    const rows = night.read('out/report/results.csv').split('\n');
    expect(rows[1]).toMatch(/^a,saved,images\/a\.png,/);
    expect(rows[2]).toMatch(/^b,failed,.*job-failed/);
    expect(rows[3]).toMatch(/^c,invalid,/);
  },
);

firstTier.it('10: stopped by a halt rule', async () => {
  const night = nightOf(
    'local',
    40,
    'input: {scene: "{{ scene }}", width: 0}\nhalt: {consecutive: 3}\nconcurrency: 2',
  );
  await night
    .run()
    .fails(10, / {2}stopping: Halted$/m)
    .prints(/3 attempts in a row failed/);
});

firstTier.it(
  '12: the key is refused; no scene is touched, and there are at most as many requests as slots',
  async () => {
    const dir = folderWith({});
    const { url } = await serve(dir);
    const night = nightOf(url, 12, `${small}concurrency: 3`);
    await night
      .with({ env: { NIGHTRENDER_API_KEY: 'another-key-9' } })
      .run()
      .fails(12, /does not accept the key/)
      .prints(/12 waiting/);
    await night.run('--quiet').exits(0);
  },
);

firstTier.it('13: the time for submissions is over', async () => {
  // The jobs run one after another, and each is polled after at least 50 ms, so the work takes at least 600
  // ms.
  const { url } = await startSlowService(10);
  const night = nightOf(url, 12, 'concurrency: 1\nlimits: {for: 200ms}');
  await night.run().fails(13, /`limits\.for`/);
  night.write('pipeline.yaml', pipeline(url));
  await night.run().exits(0);
});

it.each([
  // In `npm test`, one signal stands for both.
  ...(isWhole ? [['SIGINT', 130] as const] : []),
  ['SIGTERM', 143],
] as const)(
  '%s: ends with %i, the jobs in flight stay on record, and nothing is submitted again',
  async (signal, expected) => {
    const service = await startPatientService();
    const night = nightOf(service.url, 5);
    const run = night.program('run', 'pipeline.yaml', '--json');
    await run.event('scene-submitted', 5);
    run.child.kill(signal);
    await run.finish().exits(expected);
    expect(await night.state()).toMatchObject({
      isRunning: false,
      summary: { attempts: { submitted: 5 }, lastRun: { exitCode: expected } },
    });
    const at = signalAt(nthEvent('recovered'));
    expect(await night.with({ at }).run('--json').events('recovered')).toMatchObject([
      { inFlight: 5, unanswered: 0 },
    ]);
    expect(service.inputs).toHaveLength(5);
  },
);

firstTier.it.each([
  [['serve', '--port', 'x'], '--port: port is "x"; expected a port, a whole number from 0 to 65535'],
  [['serve', '--workers', '0'], '--workers: 0 is given; expected a whole number from 1 to 1000'],
  [['serve', '--data', 'a', '--data', 'b'], '--data: a and b is given; expected one text'],
])('2: %j says what was given', async (args, sentence) => {
  await inProcess(args).fails(2, sentence);
});

firstTier.it('2: an invalid number is shown as it was given', async () => {
  const night = nightOf('local', 1);
  await night.run('--concurrency', 'many').fails(2, '--concurrency: concurrency is "many"');
});

firstTier.it(
  '1: an error with the name of the parser’s errors from within a command is still a bug',
  async () => {
    const planted = `const { write } = process.stderr;
    process.stderr.write = () => {
      process.stderr.write = write;
      throw Object.assign(new Error('planted'), { name: 'YError' });
    };`;
    const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(planted)}`];
    await nightrender(['run', 'nowhere.yaml'], { nodeArgs }).fails(1, 'planted');
  },
);

firstTier.it('refuses a Node that is too old with a message before any native module loads', async () => {
  const other = `Object.defineProperty(process.versions, 'node', { value: '20.18.3' });`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(other)}`];
  const { stderr } = await nightrender(['run', 'pipeline.yaml'], { nodeArgs }).exits(2);
  const needed = 'nightrender needs Node.js 20.19 or later, 22.12 or later, or 24 and above';
  expect(stderr).toBe(`${needed}; this is 20.18.3.\n`);
});

firstTier.it.each([[], ['run']])('the help of %j has every exit code', async (...command) => {
  const { stdout } = await inProcess([...command, '--help']).exits(0);
  for (const exitCode of [0, 1, 2, 3, 10, 11, 12, 13, 14, 130, 143]) {
    expect(stdout).toMatch(new RegExp(`^\\s+${exitCode}\\s{2}\\S`, 'm'));
  }
});
