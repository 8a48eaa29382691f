/**
 * Promise: for a mistyped command or option the intended one is suggested, every command has help with
 * examples, and versions are shown.
 */
import { commandList } from '../../src/commands/command-line.ts';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { finishedNight, inProcess, nightWith, pipeline, scenes } from './cli.ts';

it.each([
  [['rnu', 'pipeline.yaml'], '"rnu" is not a command; did you mean run?'],
  [['--verson'], '--verson is not an option; did you mean --version?'],
  [['weather'], '"weather" is not a command; there are init, plan, run, retry, '],
  [['run', 'pipeline.yaml', '--manifst', 'x'], '--manifst is not an option of run; did you mean --manifest?'],
  [['list', 'pipeline.yaml', '--states=failed'], '--states is not an option of list; did you mean --state?'],
  [
    ['status', 'pipeline.yaml', '--skipBadRows'],
    '--skipBadRows is not an option of status; there are --output, ',
  ],
  [['serve', '--faults', 'x'], 'serve no longer has --faults: it was only for tests and has no replacement.'],
  [
    ['report', 'pipeline.yaml', '--contact-sheet'],
    'report no longer has --contact-sheet: the gallery, report/index.html, shows all pictures.',
  ],
  [['status', 'pipeline.yaml', 'other.yaml'], 'status does not take "other.yaml".'],
  [['run', 'p.yaml', '--concurrency'], '--concurrency needs a value.'],
  [['serve', '--port'], '--port needs a value.'],
  [['run', 'p.yaml', '--skipBadRows='], '--skipBadRows is ""; expected true, false or'],
  [['run'], 'Specify a pipeline.yaml.'],
  [['explain', 'harbour'], 'Specify a pipeline.yaml. There is none in this folder.'],
  [['export'], 'Specify a folder for the export.'],
  [['export', 'pipeline.yaml'], 'Specify a folder for the export.'],
  [['export', 'pipeline.yaml', 'a', 'b'], 'export does not take "b".'],
  [['backup'], 'Specify a folder for the backup.'],
  [['keys'], 'Specify a command: add, list, rotate, revoke.'],
  [['list', 'pipeline.yaml', '--csv=yes'], '--csv is "yes"; expected true, false or no value.'],
  [[], 'Specify a command: init, plan, run, retry, '],
])('%j', async (args, said) => {
  await inProcess(args, { env: { LC_ALL: 'de_DE.UTF-8' } })
    .fails(2, said, /\nSee nightrender .*--help\.\n$/)
    .printsOnly('');
});

const kinds = {
  'night.yaml': pipeline('local'),
  'own.yaml': 'port: 0\nendpoints:\n  - {id: a, workers: 1}\n',
  'scenes.csv': scenes(1),
  'by-id.json': '{"a": "an owl"}',
};
const ofList = (name: string): string =>
  `${name}: this is a list of scenes; expected a pipeline.yaml, which \`nightrender init --manifest ${name}\` writes for it`;
const ofService = 'own.yaml: this is a service.yaml; start the service with `nightrender serve own.yaml`';

it.each([
  [['night.yaml'], 'night.yaml is a batch; start it with `nightrender run night.yaml`.'],
  [['night.yaml', '--limit', '3'], 'night.yaml is a batch; start it with `nightrender run night.yaml`.'],
  [['own.yaml'], ofService],
  [['scenes.csv'], ofList('scenes.csv')],
  [['by-id.json'], ofList('by-id.json')],
  [['run', 'by-id.json'], ofList('by-id.json')],
  [
    ['serve', 'night.yaml'],
    'night.yaml: this is the pipeline.yaml of a batch; start it with `nightrender run night.yaml`',
  ],
  ...['run', 'plan', 'status', 'list', 'watch', 'verify', 'submit'].map((name): [string[], string] => [
    [name, 'own.yaml'],
    ofService,
  ]),
])('%j names the command that the file is for', async (args, said) => {
  const { stderr } = await nightWith(kinds)
    .start(...args)
    .exits(2);
  expect(stderr.split('\n')[0]?.replace(/\.$/, '')).toBe(said.replace(/\.$/, ''));
});

it('every command that works on a batch takes the pipeline.yaml of the folder', async () => {
  const night = await finishedNight({
    'pipeline.yaml': pipeline('local'),
    'scenes.csv': 'id,scene\nharbour,x\n',
  });
  const commands = ['plan', 'run', 'status', 'list', 'report', 'verify', 'retry', 'cancel'].map((name) => [
    name,
  ]);
  commands.push(['explain', 'harbour'], ['export', 'dataset', '--to', 'captions']);
  for (const args of commands) {
    const short = await night.start(...args);
    expect([args, short.code, short.stderr]).toEqual([args, 0, expect.not.stringContaining('Specify')]);
  }
  const [name = '', ...more] = commands.at(-2) ?? [];
  const { stdout } = await night.start(name, ...more);
  await night.do(name, ...more).printsOnly(stdout);
  expect(night.has('dataset/harbour.png')).toBe(true);
  await night.start('explain').warns('Specify a scene id.');
});

it.each(['plan', 'run'])(
  '%s reports all problems of its options and of the file at once',
  async (command) => {
    const files = { 'pipeline.yaml': pipeline('local', 'concurrency: 0\n'), 'scenes.csv': scenes(1) };
    const night = nightWith(files);
    await night
      .do(command, '--sample', '0')
      .fails(2, /--sample: is "0"[^]*pipeline\.yaml:\d+:\d+: concurrency is 0/);
  },
);

it('--help lists the commands by purpose, those that make pictures first', async () => {
  const { code, stdout } = await inProcess(['--help']);
  expect(code).toBe(0);
  const heads = ['Make', 'Watch', 'Choose', 'Keep', 'Serve', 'More', 'Options', 'Examples'];
  expect([...stdout.matchAll(/^(\w+):$/gm)].map(([, head]) => head)).toEqual(heads);
  for (const [name, { summary }] of commandList())
    expect(stdout).toMatch(new RegExp(`^  ${name} .*  ${summary.slice(0, 20)}`, 'm'));
});

it.each(commandList().map(([name]) => name))('%s --help shows examples and exit codes', async (name) => {
  await inProcess([name, '--help']).exits(0, /\nExamples:\n +[^]*nightrender/, 'Exit codes');
});

it('explains a command if help is requested by its name', async () => {
  const { stdout } = await inProcess(['help', 'plan']);
  expect(stdout).toBe((await inProcess(['plan', '--help'])).stdout);
});

it('shows its version on the first line, and below it those of its components', async () => {
  const { code, stdout } = await inProcess(['--version']);
  await inProcess(['-v']).printsOnly(stdout);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^nightrender \d+\.\d+\.\d+$/),
    `node      ${process.versions.node}`,
    expect.stringMatching(/^sqlite {4}3\.\d+\.\d+ \(better-sqlite3 /),
    expect.stringMatching(/^sharp {5}\d+\.\d+\.\d+ \(libvips 8\./),
    expect.stringMatching(/^undici {4}7\./),
    expect.stringMatching(/^platform {2}\w+ \w+, /),
    // The commit is shown if the program was built from a repository.
    ...(existsSync('.git') ? [expect.stringMatching(/^commit {4}[0-9a-f]{12}(-dirty)?$/)] : []),
    '',
  ]);
});
