/** Promise: `plan` shows what a run then does: during a run, after a kill, without a folder, and in a read-only one. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runs } from '../fakes/tier.ts';
import { sendJson } from '../faults/answers.ts';
import {
  folderWith,
  inProcess,
  newBatch,
  pipeline,
  Program,
  scenes,
  serve,
  small,
  statusOf,
  withKey,
} from './cli.ts';
import { startPatientService, startStandIn } from './stand-ins.ts';
import { canMount, mountSmallDisk, setReadOnly } from './small-disk.ts';

interface Told {
  exitCode: number;
  isRunning: boolean;
  counts: Record<string, number>;
  part: Record<string, number> | null;
  changes: Record<string, number>;
  requests: { url: string; body: unknown; file: string; taken: string | null; scene: string }[];
  setAside: { inFlight: number; intended: number; failed: unknown[] };
  forecast: { cost: { amount: number } | null; time: { fromMs: number; toMs: number } | null };
}

async function planOf(cwd: string, ...args: string[]): Promise<Told> {
  const { stdout, code } = await inProcess(['plan', 'pipeline.yaml', '--json', ...args], {
    cwd,
    ...withKey,
  });
  const told = JSON.parse(stdout) as Told;
  expect(told.exitCode).toBe(code);
  return told;
}

it('tells the requests that a run then sends and the files that it then makes, and writes nothing', async () => {
  const name = 'output:\n  dir: out\n  name: "{{ mood }}.png"';
  const rows = ['id,scene,mood', 'a,sea,calm', 'b,hills,Calm', 'c,a lake,"odd: name"'].join('\n');
  const { url } = await startStandIn();
  const cwd = folderWith({
    'pipeline.yaml': pipeline(url, 'concurrency: 1\n').replace('output:\n  dir: out', name),
    'scenes.csv': rows,
  });
  const told = await planOf(cwd);
  expect(readdirSync(cwd).toSorted()).toEqual(['pipeline.yaml', 'scenes.csv']);
  expect(told).toMatchObject({
    exitCode: 0,
    isRunning: false,
    changes: { added: 3 },
    counts: { waiting: 3 },
  });
  expect(told.requests.map(({ body }) => body)).toEqual([
    { input: { scene: 'sea' } },
    { input: { scene: 'hills' } },
    { input: { scene: 'a lake' } },
  ]);
  expect(told.requests[1]).toMatchObject({ scene: 'b', taken: 'Calm.png' });
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  const made = readdirSync(join(cwd, 'out/images')).filter((file) => file.endsWith('.png'));
  expect(told.requests.map(({ file }) => file).toSorted()).toEqual(made.toSorted());
});

it('speaks to people, and tells an edited list and the times and costs of earlier runs', async () => {
  const more = `${small}pricing: {perSecond: 0.001}\nlimits: {jobs: 5}\n`;
  const cwd = newBatch('local', 4, more);
  const before = await inProcess(['plan', 'pipeline.yaml'], { cwd });
  expect(before.stdout).toContain('A run of pipeline.yaml would submit 4 scenes.');
  expect(before.stdout).toContain('cost      unknown: no scene of this batch has been rendered yet');
  const unpriced = await inProcess(['plan', 'pipeline.yaml', '--concurrency', '1'], {
    cwd: newBatch('local', 1),
  });
  const expected = await inProcess(['plan', 'pipeline.yaml'], {
    cwd: newBatch(
      'local',
      40,
      'concurrency: 4\npricing: {perPicture: 0.003, perMegapixel: 0.002, expect: 8s}\n',
    ),
  });
  expect(expected.stdout).toMatch(
    /cost {6}about 0\.20 USD: 0\.0050 USD a scene, by `pricing` for 1 picture and\s+1 megapixel; no scene/,
  );
  expect(expected.stdout).toMatch(/time {6}about 1 min 20 s: by `pricing\.expect`/);
  expect(unpriced.stdout).toContain('cost      unknown: `pricing` sets no price');
  expect(before.stdout).toContain('POST the local service/v2/scene-renderer/run');
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  writeFileSync(
    join(cwd, 'scenes.csv'),
    scenes(8)
      .replace('and 1 trees', 'and one tree')
      .replace(/s0,.*\n/, ''),
  );
  const { stdout, code } = await inProcess(['plan', 'pipeline.yaml', '--requests', '1'], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain('5 to render, 2 saved');
  expect(stdout).toMatch(/4 new; 1 edited since.*; 1 no longer listed/);
  expect(stdout).toMatch(/cost {6}about .* USD: .* USD a scene, from 4 saved scenes of this batch/);
  expect(stdout).toMatch(/time {6}.*median of 4.*the last run did 4 jobs/);
  expect(stdout).toContain('`limits.jobs` ends the run after 1 submission: 4 of 5 used');
  expect(stdout).toContain('images/s1.png');
  expect(stdout).not.toContain('  2. ');
  expect((await planOf(cwd, '--requests', '1')).requests).toHaveLength(1);
  expect((await inProcess(['plan', 'pipeline.yaml', '--requests', 'x'], { cwd })).code).toBe(2);
});

it('works beside a live run, which goes on, and tells of a killed one', async () => {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 10, 'concurrency: 4\n');
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  await run.event('scene-submitted', 4);
  const live = await planOf(cwd);
  expect(live).toMatchObject({
    exitCode: 0,
    isRunning: true,
    counts: { active: 4, waiting: 6 },
    setAside: { inFlight: 4 },
  });
  expect((await inProcess(['plan', 'pipeline.yaml'], { cwd, ...withKey })).stdout).toContain(
    'a run is active',
  );
  expect(run.child.exitCode).toBeNull();
  run.child.kill('SIGKILL');
  await run.finish();
  const before = readdirSync(join(cwd, 'out')).toSorted();
  const dead = await planOf(cwd);
  expect(dead).toMatchObject({
    isRunning: false,
    counts: { active: 4, waiting: 6 },
    setAside: { inFlight: 4 },
  });
  expect(dead.requests.map(({ scene }) => scene)).toEqual(['s4', 's5', 's6']);
  expect(readdirSync(join(cwd, 'out')).toSorted()).toEqual(before);
  expect(service.inputs).toHaveLength(4);
});

it('tells what a preview does, which a run then does', async () => {
  const cwd = newBatch('local', 40, small);
  const told = await planOf(cwd, '--sample', '10%', '--requests', '10');
  expect(told).toMatchObject({ counts: { waiting: 40 }, part: { waiting: 4 } });
  const run = await inProcess(['run', 'pipeline.yaml', '--sample=10%'], { cwd });
  expect(run.code).toBe(0);
  expect(run.stdout).toContain('The 4 scenes of this preview are saved; 36 wait for the full run');
  const made = readdirSync(join(cwd, 'out/images')).filter((file) => file.endsWith('.png'));
  expect(made.toSorted()).toEqual(told.requests.map(({ file }) => file).toSorted());
  const again = await inProcess(['run', 'pipeline.yaml', '--limit', '4', '--json'], { cwd });
  expect(again.stdout).not.toContain('scene-submitted');
  const nothing = await inProcess(['plan', 'pipeline.yaml', '--limit', '4'], { cwd });
  expect(nothing.stdout).toMatch(
    /^Nothing of this preview is left to render in out \(pipeline\.yaml\); 36 scenes wait for a run of all\./,
  );
  expect(await statusOf(cwd)).toMatchObject({ summary: { part: { limit: 4, scenes: 4 } } });
  expect((await inProcess(['run', 'pipeline.yaml', '--limit', '0'], { cwd })).code).toBe(2);
});

it.skipIf(!canMount)(
  'shows the plan of a folder that nobody may write, and ends as a run would: 14 (skipped where this user may not mount)',
  async () => {
    const cwd = newBatch('local', 6, small);
    mountSmallDisk(join(cwd, 'out'), 16);
    await inProcess(['run', 'pipeline.yaml', '--limit', '2', '--quiet'], { cwd });
    setReadOnly(join(cwd, 'out'), true);
    const { stdout, code } = await inProcess(['plan', 'pipeline.yaml'], { cwd });
    expect(stdout).toContain('4 to render, 2 saved');
    expect(stdout).toMatch(/problem {3}.*cannot (write|read and write)/);
    expect(code).toBe(14);
    expect((await inProcess(['run', 'pipeline.yaml'], { cwd })).code).toBe(14);
  },
);

const lastLines = (text: string): string =>
  (text.trimEnd().split('\n\n').at(-1) ?? '').replaceAll(/\n */g, ' ');

it('counts as submissions of a scene what may have been paid, not starts that the service refused', async () => {
  const { url } = await serve(folderWith({}));
  const cwd = newBatch(url, 1, small);
  const run = (key: string) =>
    inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, env: { NIGHTRENDER_API_KEY: key } });
  expect((await run('wrong')).code).toBe(12);
  expect((await run('wrong')).code).toBe(12);
  const planned = await inProcess(['plan', 'pipeline.yaml'], { cwd });
  expect(planned.stdout).toMatch(/^ {2}1\. s0 → images\/s0\.png$/m);
  expect((await planOf(cwd)).requests[0]).toMatchObject({ scene: 's0', attempt: 3 });
  const told = await inProcess(['explain', 'pipeline.yaml', 's0'], { cwd });
  expect(told.stdout).toMatch(/^attempt 2 refused \(no job, no bill\) after /m);
});

it('asks the service with --check, and starts nothing there', async () => {
  const { url } = await serve(folderWith({}));
  const cwd = newBatch(url, 2);
  const check = (more: string[] = [], env = withKey.env) =>
    inProcess(['plan', 'pipeline.yaml', '--check', ...more], { cwd, env });
  const good = await check();
  expect(good.code).toBe(0);
  expect(good.stdout).toMatch(/asked: key and endpoint are accepted; workers: \d+ /);
  const refused = await check([], { NIGHTRENDER_API_KEY: 'another' });
  expect(refused.code).toBe(12);
  expect(refused.stdout).toContain('asked: the service does not accept the key');
  expect(lastLines(refused.stdout)).toMatch(
    /^No scene was sent and nothing written\. A run would end at once: the service does not accept the key .*\.$/,
  );
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline(url).replace('id: scene-renderer', 'id: nobody'));
  const unknown = await check();
  expect(unknown.code).toBe(12);
  expect(unknown.stdout).toContain(
    'the service does not know the endpoint nobody (404): there is scene-renderer; see',
  );
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline('http://127.0.0.1:9'));
  const nobody = await check();
  expect(nobody.code).toBe(10);
  expect(nobody.stdout).toContain('asked: no usable answer');
  expect(lastLines(nobody.stdout)).toMatch(/The service gave no usable answer: .*; a run would keep trying/);
  writeFileSync(join(cwd, 'pipeline.yaml'), pipeline('local'));
  const local = await check();
  expect(local.code).toBe(0);
  expect(local.stdout).toContain('the local service starts with the run');
  expect(existsSync(join(cwd, 'out'))).toBe(false);
});

it('needs no key, and says that a run does', async () => {
  const cwd = newBatch('https://api.service.example', 2);
  const plan = (...more: string[]) => inProcess(['plan', 'pipeline.yaml', ...more], { cwd });
  const planned = await plan();
  expect([planned.code, planned.stderr]).toEqual([0, '']);
  const lack = 'the environment variable NIGHTRENDER_API_KEY is not set';
  expect(planned.stdout).toMatch(new RegExp(`warning .*pipeline.yaml:\\d+:\\d+: ${lack}; a run needs it`));
  expect((await plan('--check')).stderr).toContain(lack);
  expect((await inProcess(['run', 'pipeline.yaml'], { cwd })).code).toBe(2);
});

it.each(
  ['', '/v2', '/v2/', '/v2/scene-renderer', '/scene-renderer'].concat(
    ['run', 'runsync', 'status', 'status/a-1', 'health/'].map((operation) => `/v2/another/${operation}`),
  ),
)('names the address that is meant by …%s', async (path) => {
  const cwd = newBatch(`https://api.service.example/renders${path}`, 2);
  const { code, stdout, stderr } = await inProcess(['plan', 'pipeline.yaml'], { cwd, ...withKey });
  if (path === '') expect([code, stderr]).toEqual([0, '']);
  else expect(stderr).toMatch(/baseUrl is .*; expected https:\/\/api\.service\.example\/renders alone;/);
  if (path === '') expect(stdout).toContain('https://api.service.example/renders/v2/scene-renderer/run');
});

it('says what becomes of a name that ends in .jpg', async () => {
  const cwd = newBatch('local', 1);
  const text = pipeline('local').replace('dir: out', "dir: out\n  name: '{{ id }}.jpg'");
  writeFileSync(join(cwd, 'pipeline.yaml'), text);
  const { stdout } = await inProcess(['plan', 'pipeline.yaml'], { cwd });
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'pictures stay PNG, and are called ….jpg.png; leave .jpg out',
  );
});

it('takes a folder for the pipeline.yaml in it, and names what was meant by other paths', async () => {
  const cwd = newBatch('local', 1);
  writeFileSync(join(cwd, 'list.json'), '["a hill"]');
  mkdirSync(join(cwd, 'empty'));
  const plan = (file: string) => inProcess(['plan', file], { cwd });
  expect((await plan('.')).stdout).toContain('A run of pipeline.yaml would submit 1 scene.');
  expect((await plan('empty')).stderr).toContain('empty: this is a folder; expected a pipeline.yaml');
  expect((await plan('pipelin.yml')).stderr).toContain('no such file; did you mean pipeline.yaml?');
  for (const list of ['scenes.csv', 'list.json'])
    expect((await plan(list)).stderr).toContain(
      `this is a list of scenes; expected a pipeline.yaml, which \`nightrender init --manifest ${list}\` writes`,
    );
});

it('ends with the quote that is never closed, and compares no ids after it', async () => {
  const rows = [
    'id,scene',
    'a,"open',
    ...Array.from({ length: runs(200_000, { ms: 0.01, least: 100_000 }) }, () => 'same,some words'),
  ];
  const cwd = folderWith({ 'pipeline.yaml': pipeline('local'), 'scenes.csv': rows.join('\n') });
  const { code, stderr } = await inProcess(['plan', 'pipeline.yaml'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^scenes\.csv:2: has a quote that is not closed .*\nOne problem was found/);
});

it.each([404, 400])(
  'asks for a job that cannot be where the service tells no health, and is answered %i',
  async (status) => {
    const { url, requests } = await startStandIn({
      meet: ({ operation, response }) =>
        sendJson(response, { error: 'job not found' }, operation === 'health' ? 404 : status),
    });
    const cwd = newBatch(url, 1);
    const { stdout, code } = await inProcess(['plan', 'pipeline.yaml', '--check'], { cwd, ...withKey });
    expect(code).toBe(0);
    expect(stdout).toContain('asked: it answers and accepts the key');
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v2/scene-renderer/health',
      'GET /v2/scene-renderer/status/nightrender-asks-whether-this-endpoint-is-there',
    ]);
  },
);

it.each(['missing', 'scenes.csv'])(
  'is refused in a sentence where its copy can be made nowhere: TMPDIR is %s',
  async (name) => {
    const cwd = newBatch('local', 1);
    const { code, stderr } = await inProcess(['plan', 'pipeline.yaml'], {
      cwd,
      env: { TMPDIR: join(cwd, name) },
    });
    expect(stderr).toContain(`folder for temporary files, ${join(cwd, name)}, cannot be used`);
    expect(stderr).not.toContain(' at ');
    expect(code).toBe(14);
  },
);

it.skipIf(!canMount)(
  'tells that the folder of temporary files is full, not the one of output (skipped where this user may not mount)',
  async () => {
    const cwd = newBatch('local', 1);
    const smallDisk = join(cwd, 'small');
    mountSmallDisk(smallDisk, 1);
    writeFileSync(join(smallDisk, 'taken'), Buffer.alloc(960 * 1024));
    const { code, stderr } = await inProcess(['plan', 'pipeline.yaml'], { cwd, env: { TMPDIR: smallDisk } });
    expect(stderr).toContain(`the folder for temporary files, ${smallDisk}, cannot be used or is full`);
    expect(code).toBe(14);
  },
);
