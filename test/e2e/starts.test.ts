/**
 * Promise: of many simultaneous runs of a batch only one starts, and its lock is released however it ends.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { firstTier, isWhole } from '../fakes/tier.ts';
import {
  type Night,
  nightOf,
  nightWith,
  nthEvent,
  pipeline,
  Program,
  scenes,
  signalAt,
  withKey,
} from './cli.ts';
import { blackPicture, startInstantService, startPatientService } from './stand-ins.ts';

const starts = isWhole ? 50 : 3;

it.each([
  ['a folder that is no batch yet', false],
  ...(isWhole ? [['a batch that was killed before', true] as const] : []),
] as const)(
  `of ${starts} simultaneous starts on %s only one runs, and all others name it`,
  async (_, isBatch) => {
    const service = await startPatientService();
    const night = nightOf(service.url, 3);
    if (isBatch) await night.killAfter(3);
    const programs = Array.from({ length: starts }, () => startRun(night));
    const refused = programs.map(async (program) => ({
      pid: program.child.pid,
      ...(await program.finish()),
    }));
    // The winning run continues until it is killed, after all others have ended.
    const ended: Awaited<(typeof refused)[number]>[] = [];
    await new Promise<void>((resolve) => {
      for (const one of refused) void one.then((each) => ended.push(each) === starts - 1 && resolve());
    });
    const pids = new Set(ended.map(({ pid }) => pid));
    const running = programs.filter(({ child }) => !pids.has(child.pid));
    expect(running).toHaveLength(1);
    const [one] = running;
    const name = new RegExp(`another run, process ${one?.child.pid} on \\S+ since 20\\d\\d-`);
    for (const { code, stderr } of ended) {
      expect(code, stderr).toBe(11);
      expect(stderr).toMatch(name);
    }
    one?.child.kill('SIGKILL');
    await Promise.all(refused);
    expect(service.inputs.length).toBeLessThanOrEqual(3);
  },
);

firstTier.it('the next start after a kill gets the lock, whatever the dead run left', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 3);
  await night.killAfter(3);
  night.write('out/.lock.json.4711.tmp', '{"pid"');
  let left: string[] = [];
  const lockFiles = (): string[] =>
    readdirSync(night.path('out')).filter((name) => name.startsWith('.lock.json'));
  const next = await resumed(night, () => (left = lockFiles()));
  expect(next).toContain('"type":"recovered"');
  expect(service.inputs).toHaveLength(3);
  expect(left).toEqual(['.lock.json']);
});

firstTier.it.each([
  ['a process that lives and has nothing to do with it', () => ({ pid: process.pid })],
  ['a process of another machine', () => ({ host: 'elsewhere' })],
  ['a process that is no more', () => ({ pid: endedPid() })],
])('the name of %s in the lock file does not keep a run from starting', async (_, change) => {
  const service = await startPatientService();
  const night = nightOf(service.url, 3);
  await night.cutOff(3);
  const file = night.path('out/.lock.json');
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...change() }));
  expect(await resumed(night)).toContain('"type":"recovered"');
  expect(service.inputs).toHaveLength(3);
});

firstTier.it(
  'refuses other runs if the lock files of a live run were deleted, and accepts the next one once that is killed',
  async () => {
    const service = await startPatientService();
    const night = nightOf(service.url, 3);
    const run = startRun(night);
    await run.event('scene-submitted', 3);
    for (const command of ['run', 'retry', 'cancel', 'verify --repair']) {
      for (const name of ['.lock.sqlite', '.lock.json']) rmSync(night.path('out', name), { force: true });
      const [name = '', ...options] = command.split(' ');
      const refused = await night.do(name, ...options);
      expect(refused.code, `${command}: ${refused.stderr}`).toBe(11);
      expect(refused.stderr).toContain(`another run, process ${run.child.pid} on `);
    }
    expect(await night.state()).toMatchObject({ isRunning: true });
    run.child.kill('SIGKILL');
    await run.finish();
    expect(await resumed(night)).toContain('"type":"recovered"');
    expect(service.inputs).toHaveLength(3);
  },
);

firstTier.it('uses the folder of flag or environment, and prints JSON if either requests it', async () => {
  const service = await startPatientService();
  const text = pipeline(service.url);
  const night = nightWith({
    'pipeline.yaml': text,
    'elsewhere.yaml': text.replace('dir: out', 'dir: other'),
    'json.yaml': `${text}terminal: {json: true}\n`,
    'scenes.csv': scenes(3),
  });
  await night.hold();
  const json = expect.stringMatching(/^\{"type":"refused",.*"exitCode":11/) as unknown;
  const cases: [args: string[], env: Record<string, string>, stdout: unknown][] = [
    [['elsewhere.yaml', '--output', 'out'], {}, ''],
    [['elsewhere.yaml', '--output=out', '--quiet'], {}, ''],
    [['elsewhere.yaml'], { NIGHTRENDER_OUTPUT: 'out' }, ''],
    [['elsewhere.yaml', '--output', 'out', '--skipBadRows'], {}, ''],
    [['json.yaml'], {}, json],
    [['pipeline.yaml', '--json'], {}, json],
    [['pipeline.yaml'], { NIGHTRENDER_JSON: 'true' }, json],
  ];
  for (const [args, env, stdout] of cases) {
    const told = await night.with({ env: { ...withKey.env, ...env } }).start('run', ...args);
    expect([told.code, told.stdout], `${args.join(' ')} ${told.stderr}`).toEqual([11, stdout]);
  }
  expect(night.has('other')).toBe(false);
});

firstTier.it('sends nothing if sharp cannot be loaded, and everything once it can', async () => {
  const service = await startInstantService({ image: await blackPicture() });
  const night = nightOf(service.url, 3);
  night.write(
    'without-sharp.mjs',
    `import { register } from 'node:module';
const hooks = \`export async function resolve(name, context, next) {
  if (name === 'sharp') throw new Error('Could not load the "sharp" module using the linux-x64 runtime');
  return next(name, context);
}\`;
register('data:text/javascript,' + encodeURIComponent(hooks));
`,
  );
  const nodeArgs = ['--import', night.path('without-sharp.mjs')];
  await night
    .with({ nodeArgs })
    .built('run', 'pipeline.yaml')
    .fails(14, 'The package sharp, which decodes pictures');
  expect(service.submissions().size).toBe(0);
  await night.with({ nodeArgs }).built('status', 'pipeline.yaml').exits(0);
  await night.run().exits(0, '3 of 3 scenes');
  expect([...service.submissions().values()]).toEqual([1, 1, 1]);
});

function startRun(night: Night): Program {
  return night.program('run', 'pipeline.yaml', '--json');
}

/** Returns the output of a run that begins to resume the batch and is then told to stop. */
async function resumed(night: Night, look = (): unknown => undefined): Promise<string> {
  const { words, act } = signalAt(nthEvent('recovered'));
  const at = { words, act: () => (look(), act()) };
  return (await night.with({ at }).run('--json')).stdout;
}

/** Returns the id of an ended process. Ids are assigned in turn, so this one is not reused soon. */
function endedPid(): number {
  return spawnSync(process.execPath, ['--version']).pid;
}
