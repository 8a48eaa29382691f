/**
 * Promise: a program of another project can run, stop, resume, read and maintain batches with the published
 * package and its types. The library does not change the process.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { type Finished, folderWith, pipeline, Program, root, scenes, withKey } from './cli.ts';
import { startHeldService } from './held-service.ts';

/** A program that prints only its last line. Any other output comes from the library. */
const night = `
import { getEventListeners } from 'node:events';
import { rmSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readBatch, runBatch, type BatchEvent, type ResultRow, type RunResult, type Unreadable } from 'nightrender';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2', 'uncaughtException', 'unhandledRejection', 'warning', 'exit'];
const ownState = (): string => {
  // libvips sets this variable.
  const { VIPSHOME: _, ...env } = process.env;
  return JSON.stringify([signals.map((name) => process.listenerCount(name)), process.exitCode, process.title, process.cwd(), env]);
};
const before = ownState();

const none = await readBatch('pipeline.yaml');
const wrong: RunResult = await runBatch('wrong.yaml', { limit: 0, env: {} }).result;

const caller = new AbortController();
const first = runBatch('pipeline.yaml', { signal: caller.signal, concurrency: 1 });
const texts: string[] = [];
const seenRunning: unknown[] = [];
for await (const event of first.events) {
  const { type, at }: BatchEvent = event;
  texts.push(type);
  if (type === 'scene-submitted') seenRunning.push((await readBatch('pipeline.yaml') as { isRunning?: boolean }).isRunning);
  if (Number.isNaN(Date.parse(at))) throw new Error(at);
  if (event.type === 'scene-saved' && event.files.length === 1) caller.abort();
}
const stopped = await first.result;
const neverBegun = await runBatch('pipeline.yaml', { signal: AbortSignal.abort() }).result;

// The program neither reads the events of these runs nor stops them.
const { signal } = new AbortController();
const [complete, again, preview] = await Promise.all([
  runBatch('.', { signal }).result,
  runBatch('pipeline.yaml').result,
  runBatch('pipeline.yaml', { output: 'other', limit: 2 }).result,
]);

const reading = await readBatch('.');
if (reading.kind !== 'batch') throw new Error(reading.text);
const rows: ResultRow[] = [];
for await (const row of reading.rows()) rows.push(row);
let waiting = 0;
const other = await readBatch('pipeline.yaml', { output: 'other' });
if (other.kind === 'batch') for await (const _ of other.rows({ states: ['waiting'] })) waiting += 1;
rmSync('other', { recursive: true });
let gone: unknown;
try {
  if (other.kind === 'batch') for await (const row of other.rows()) throw new Error(String(row.id));
} catch (error) {
  const { kind, text, problems } = error as Error & Unreadable;
  gone = { kind, isError: error instanceof Error && error.message === text, problems };
}

// A closed socket disappears in the next turn of the event loop.
await nextTurn();
console.log(
  JSON.stringify({
    none, wrong, types: texts, seenRunning, stopped, neverBegun, complete, again, preview, rows, waiting, gone, saved: reading.scenes.saved,
    isItself: ownState() === before,
    left: {
      handles: process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|FS/.test(name)),
      workers: (process.report.getReport() as { workers: unknown[] }).workers,
      listeners: getEventListeners(signal, 'abort'),
    },
  }),
);
`;

const waiter = `
import { readBatch } from 'nightrender';
const reading = await readBatch('pipeline.yaml');
if (reading.kind !== 'batch') throw new Error(reading.text);
const reason = await reading.wait({ signal: AbortSignal.timeout(1) }).catch((error: Error) => error.name);
console.log(JSON.stringify({ isRunning: reading.isRunning, saved: reading.scenes.saved, reason }));
const ended = await reading.wait();
if (ended.kind !== 'batch') throw new Error(ended.text);
console.log(JSON.stringify({ isRunning: ended.isRunning, saved: ended.scenes.saved, ending: ended.lastRun?.ending }));
`;

const upkeep = `
import { rmSync } from 'node:fs';
import {
  cancelBatch, exportBatch, planBatch, readBatch, retryScenes, runBatch, verifyBatch,
  type CancelledBatch, type ExportedBatch, type PlannedBatch, type Refused, type RetriedScenes, type RetryRequest, type VerifiedBatch,
} from 'nightrender';

const ownState = (): string => {
  const { VIPSHOME: _, ...env } = process.env;
  return JSON.stringify([process.listenerCount('SIGINT'), process.exitCode, process.cwd(), env]);
};
const before = ownState();

const planned: PlannedBatch | Refused = await planBatch('.', { limit: 1 });
if (planned.kind !== 'plan') throw new Error(planned.text);
const expected: number = planned.changes.added;
await runBatch('.').result;

const again: RetryRequest = { ids: ['s0'], again: true };
const unpaid: RetriedScenes | Refused = await retryScenes('.', again);
const retried: RetriedScenes | Refused = await retryScenes('.', { ...again, confirm: 'paid again' });
const was = retried.kind === 'retried' ? retried.scenes.map((scene) => scene.was) : retried.problems;
await runBatch('.').result;

const exported: ExportedBatch | Refused = await exportBatch('.', { to: 'parquet', dir: 'dataset' });
rmSync('out/images/s1.png');
const verified: VerifiedBatch | Refused = await verifyBatch('.', { repair: true, confirm: 'paid again' });
const bad = verified.kind === 'verified' ? verified.bad.map(({ file, kind }) => [file, kind]) : verified.text;
const cancelled: CancelledBatch = await cancelBatch('.');
const reading = await readBatch('.');
if (reading.kind !== 'batch') throw new Error(reading.text);
// Node itself opens and closes files of modules.
console.log(
  JSON.stringify({
    expected, unpaid: unpaid.kind, was, exported, bad, cancelled: [cancelled.kind, cancelled.found], waiting: reading.scenes.waiting,
    isItself: ownState() === before,
    left: {
      handles: process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|FS|CloseReq/.test(name)),
      workers: (process.report.getReport() as { workers: unknown[] }).workers,
    },
  }),
);
`;

it('the library does the work of the other commands, with types, and does not change the process', async () => {
  const project = await newProject({
    'upkeep.ts': upkeep,
    'pipeline.yaml': pipeline('local'),
    'scenes.csv': scenes(2),
  });
  const { stdout, stderr } = await run(process.execPath, ['upkeep.js'], project);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    expected: 2,
    unpaid: 'wrong-use',
    was: ['saved'],
    exported: { kind: 'exported', pictures: 2, written: 2, bad: [], missing: {} },
    bad: [['images/s1.png', 'missing']],
    cancelled: ['complete', 0],
    waiting: 1,
    isItself: true,
    left: { handles: [], workers: [] },
  });
});

it('the library runs, stops, resumes and reads batches, several in one process, without changing the process', async () => {
  const project = await newProject({
    'night.ts': night,
    'pipeline.yaml': pipeline('local'),
    'scenes.csv': scenes(4),
    'wrong.yaml': pipeline('https://service.example', 'concurrencey: 2\n'),
  });
  const { stdout, stderr } = await run(process.execPath, ['night.js'], project);
  expect(stderr).toBe('');
  // The result is the only line.
  const said = JSON.parse(stdout) as Record<string, unknown>;
  const wrong = said['wrong'] as { problems: { where: string }[] };
  expect(wrong.problems.map(({ where }) => where)).toEqual(['--limit', 'wrong.yaml:5:11', 'wrong.yaml:9:1']);
  expect(said).toMatchObject({
    none: { kind: 'no-batch', problems: [{ where: 'out' }] },
    wrong: { kind: 'wrong-use', isResumable: false },
    stopped: { kind: 'interrupted', isResumable: true, counts: { saved: 1 }, problems: [] },
    neverBegun: { kind: 'interrupted', isResumable: true },
    complete: { kind: 'complete', text: 'Every scene is saved', counts: { saved: 4 }, untold: 0 },
    again: { kind: 'already-running', isResumable: true, problems: [] },
    preview: { kind: 'complete', part: { saved: 2 }, counts: { waiting: 2 } },
    rows: ['s0', 's1', 's2', 's3'].map((id) => ({
      id,
      state: 'saved',
      pictures: [{ file: `images/${id}.png` }],
    })),
    saved: 4,
    waiting: 2,
    gone: { kind: 'no-batch', isError: true, problems: [{ where: 'other' }] },
    isItself: true,
    left: { handles: [], workers: [], listeners: [] },
  });
  expect(new Set(said['seenRunning'] as unknown[])).toEqual(new Set([true]));
  const types = said['types'] as string[];
  expect(types[0]).toBe('run-started');
  expect(types.slice(-2)).toEqual(['stopping', 'run-ended']);
  expect(said['neverBegun']).not.toHaveProperty('counts');
});

it('the library waits for a run of another process', async () => {
  const service = await startHeldService();
  const project = await newProject({
    'wait.ts': waiter,
    'pipeline.yaml': pipeline(service.url),
    'scenes.csv': scenes(3),
  });
  const elsewhere = new Program(['run', 'pipeline.yaml', '--json'], { cwd: project, ...withKey });
  await elsewhere.event('scene-submitted', 3);
  const waiting = new Program([], { cwd: project, nodeArgs: ['wait.js'] });
  await waiting.says(/isRunning/);
  service.release();
  const { stdout } = await waiting.finish().warnsOnly('');
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { isRunning: true, saved: 0, reason: 'TimeoutError' },
    { isRunning: false, saved: 3, ending: 'Every scene is saved' },
  ]);
});

it('the library says on import which Node it needs', async () => {
  const old =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } });";
  const { stdout } = await run(
    process.execPath,
    ['-e', `${old} import('nightrender').catch(({ message }) => console.log(message));`],
    root,
  );
  expect(stdout).toBe(
    'nightrender needs Node.js 20.19 or later, 22.12 or later, or 24 and above; this is 18.20.8\n',
  );
});

const strictest = [
  ...'--target es2023 --module nodenext --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess'.split(
    ' ',
  ),
  ...'--noUncheckedSideEffectImports --verbatimModuleSyntax --types node'.split(' '),
];

/**
 * Creates a folder with the package as installed from its tarball, its dependencies, and compiled programs.
 */
async function newProject(files: Record<string, string>): Promise<string> {
  const folder = folderWith({ 'package.json': '{"private": true, "type": "module"}', ...files });
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'nightrender'), { recursive: true });
  // Packs the existing build, because other tests use it at the same time.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], root);
  const tarball = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '';
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', 'node_modules/nightrender'], folder);
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(modules, 'nightrender/package.json'), 'utf8'),
  ) as Record<'dependencies' | 'optionalDependencies', Record<string, string> | undefined>;
  // A checkout has both releases of the package. npm installs the one for the running Node.
  const forOlderNode = 'better-sqlite3-12';
  for (const name of [
    ...Object.keys({ ...dependencies, ...optionalDependencies }),
    '@types/node',
    forOlderNode,
  ]) {
    if (name === forOlderNode && !existsSync(join(root, 'node_modules', name))) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  const programs = Object.keys(files).filter((file) => file.endsWith('.ts'));
  await run(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), ...strictest, ...programs],
    folder,
  );
  return folder;
}

function run(file: string, args: string[], cwd: string): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(file, args, { cwd, maxBuffer: 2 ** 26 }).catch(
    ({ stdout, stderr }: Finished) => {
      throw new Error(stdout + stderr);
    },
  );
}
