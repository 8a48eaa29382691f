/**
 * Promise: `plan` shows what a run then does: during a run, after a kill, without a folder, and in a
 * read-only one.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { firstTier, runs } from '../fakes/tier.ts';
import { sendJson } from '../faults/answers.ts';
import {
  folderWith,
  type Night,
  nightOf,
  nightWith,
  pipeline,
  scenes,
  serve,
  small,
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

async function planOf(night: Night, ...args: string[]): Promise<Told> {
  const { stdout, code } = await night.plan('--json', ...args);
  const told = JSON.parse(stdout) as Told;
  expect(told.exitCode).toBe(code);
  return told;
}

firstTier.it(
  'a plan shows the requests that a run then sends and the files that it then makes, and writes nothing',
  async () => {
    const name = 'output:\n  dir: out\n  name: "{{ mood }}.png"';
    const rows = ['id,scene,mood', 'a,sea,calm', 'b,hills,Calm', 'c,a lake,"odd: name"'].join('\n');
    const { url } = await startStandIn();
    const night = nightWith({
      'pipeline.yaml': pipeline(url, 'concurrency: 1\n').replace('output:\n  dir: out', name),
      'scenes.csv': rows,
    });
    const told = await planOf(night);
    expect(readdirSync(night.cwd).toSorted()).toEqual(['pipeline.yaml', 'scenes.csv']);
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
    await night.run('--quiet');
    const made = readdirSync(night.path('out/images')).filter((file) => file.endsWith('.png'));
    expect(told.requests.map(({ file }) => file).toSorted()).toEqual(made.toSorted());
  },
);

firstTier.it('the text of a plan shows an edited list and the times and costs of earlier runs', async () => {
  const more = `${small}pricing: {perSecond: 0.001}\nlimits: {jobs: 5}\n`;
  const night = nightOf('local', 4, more);
  const before = await night
    .plan()
    .prints(
      'A run of pipeline.yaml would submit 4 scenes.',
      'cost      unknown: no scene of this batch has been rendered yet',
    );
  const unpriced = await nightOf('local', 1).plan('--concurrency', '1');
  await nightOf(
    'local',
    40,
    'concurrency: 4\npricing: {perPicture: 0.003, perMegapixel: 0.002, expect: 8s}\n',
  )
    .plan()
    .prints(
      /cost {6}about 0\.20 USD: 0\.0050 USD a scene, by `pricing` for 1 picture and\s+1 megapixel; no scene/,
      /time {6}about 1 min 20 s: by `pricing\.expect`/,
    );
  expect(unpriced.stdout).toContain('cost      unknown: `pricing` sets no price');
  expect(before.stdout).toContain('POST the local service/v2/scene-renderer/run');
  await night.run('--quiet');
  night.write(
    'scenes.csv',
    scenes(8)
      .replace('and 1 trees', 'and one tree')
      .replace(/s0,.*\n/, ''),
  );
  await night
    .plan('--requests', '1')
    .exits(
      0,
      '5 to render, 2 saved',
      /4 new; 1 edited since.*; 1 no longer listed/,
      /cost {6}about .* USD: .* USD a scene, from 4 saved scenes of this batch/,
      /time {6}.*median of 4.*the last run did 4 jobs/,
      '`limits.jobs` ends the run after 1 submission: 4 of 5 used',
      'images/s1.png',
    )
    .printsNo('  2. ');
  expect((await planOf(night, '--requests', '1')).requests).toHaveLength(1);
  await night.plan('--requests', 'x').exits(2);
});

firstTier.it('a plan works beside a live run, which continues, and recognizes a killed run', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 10, 'concurrency: 4\n');
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.event('scene-submitted', 4);
  const live = await planOf(night);
  expect(live).toMatchObject({
    exitCode: 0,
    isRunning: true,
    counts: { active: 4, waiting: 6 },
    setAside: { inFlight: 4 },
  });
  await night.plan().prints('a run is active');
  expect(run.child.exitCode).toBeNull();
  run.child.kill('SIGKILL');
  await run.finish();
  const before = readdirSync(night.path('out')).toSorted();
  const dead = await planOf(night);
  expect(dead).toMatchObject({
    isRunning: false,
    counts: { active: 4, waiting: 6 },
    setAside: { inFlight: 4 },
  });
  expect(dead.requests.map(({ scene }) => scene)).toEqual(['s4', 's5', 's6']);
  expect(readdirSync(night.path('out')).toSorted()).toEqual(before);
  expect(service.inputs).toHaveLength(4);
});

firstTier.it('a plan of a preview shows the scenes that the run then renders', async () => {
  const night = nightOf('local', 40, small);
  const told = await planOf(night, '--sample', '10%', '--requests', '10');
  expect(told).toMatchObject({ counts: { waiting: 40 }, part: { waiting: 4 } });
  await night
    .run('--sample=10%')
    .exits(0, 'The 4 scenes of this preview are saved; 36 wait for the full run');
  const made = readdirSync(night.path('out/images')).filter((file) => file.endsWith('.png'));
  expect(made.toSorted()).toEqual(told.requests.map(({ file }) => file).toSorted());
  await night.run('--limit', '4', '--json').printsNo('scene-submitted');
  await night
    .plan('--limit', '4')
    .prints(
      /^Nothing of this preview is left to render in out \(pipeline\.yaml\); 36 scenes wait for a full run\./,
    );
  expect(await night.state()).toMatchObject({ summary: { part: { limit: 4, scenes: 4 } } });
  await night.run('--limit', '0').exits(2);
});

firstTier.it.skipIf(!canMount)(
  'a plan is shown for a read-only folder, and ends with 14 as a run would (skipped if this user may not mount)',
  async () => {
    const night = nightOf('local', 6, small);
    mountSmallDisk(night.path('out'), 16);
    await night.run('--limit', '2', '--quiet');
    setReadOnly(night.path('out'), true);
    await night.plan().exits(14, '4 to render, 2 saved', /problem {3}.*cannot (write|read and write)/);
    await night.run().exits(14);
  },
);

const lastLines = (text: string): string =>
  (text.trimEnd().split('\n\n').at(-1) ?? '').replaceAll(/\n */g, ' ');

firstTier.it(
  'a plan counts submissions of a scene that may have been paid, and not those that the service refused',
  async () => {
    const { url } = await serve(folderWith({}));
    const night = nightOf(url, 1, small);
    const run = (key: string) => night.with({ env: { NIGHTRENDER_API_KEY: key } }).run('--quiet');
    await run('wrong').exits(12);
    await run('wrong').exits(12);
    await night.plan().prints(/^ {2}1\. s0 → images\/s0\.png$/m);
    expect((await planOf(night)).requests[0]).toMatchObject({ scene: 's0', attempt: 3 });
    await night.explain('s0').prints(/^attempt 2 refused \(no job, no bill\) after /m);
  },
);

firstTier.it('`plan --check` sends requests to the service, and starts nothing there', async () => {
  const { url } = await serve(folderWith({}));
  const night = nightOf(url, 2);
  const check = (more: string[] = [], env = withKey.env) => night.with({ env }).plan('--check', ...more);
  await check().exits(0, /asked: key and endpoint are accepted; workers: \d+ /);
  const refused = await check([], { NIGHTRENDER_API_KEY: 'another' }).exits(
    12,
    'asked: the service does not accept the key',
  );
  expect(lastLines(refused.stdout)).toMatch(
    /^No scene was sent and nothing written\. A run would end at once: the service does not accept the key .*\.$/,
  );
  night.write('pipeline.yaml', pipeline(url).replace('id: scene-renderer', 'id: nobody'));
  await check().exits(
    12,
    'the service does not know the endpoint nobody (404): there is scene-renderer; see',
  );
  night.write('pipeline.yaml', pipeline('http://127.0.0.1:9'));
  const nobody = await check().exits(10, 'asked: no usable answer');
  expect(lastLines(nobody.stdout)).toMatch(/The service gave no usable answer: .*; a run would keep trying/);
  night.write('pipeline.yaml', pipeline('local'));
  await check().exits(0, 'the local service starts with the run');
  expect(night.has('out')).toBe(false);
});

firstTier.it('a plan needs no key, and says that a run does', async () => {
  const night = nightOf('https://api.service.example', 2);
  const keyless = night.with({ env: {} });
  const planned = await keyless.plan().exits(0).warnsOnly('');
  const lack = 'the environment variable NIGHTRENDER_API_KEY is not set';
  expect(planned.stdout).toMatch(new RegExp(`warning .*pipeline.yaml:\\d+:\\d+: ${lack}; a run needs it`));
  await keyless.plan('--check').warns(lack);
  await keyless.run().exits(2);
});

firstTier.it.each(
  ['', '/v2', '/v2/', '/v2/scene-renderer', '/scene-renderer'].concat(
    ['run', 'runsync', 'status', 'status/a-1', 'health/'].map((operation) => `/v2/another/${operation}`),
  ),
)('a plan suggests the right address for …%s', async (path) => {
  const night = nightOf(`https://api.service.example/renders${path}`, 2);
  const { code, stdout, stderr } = await night.plan();
  if (path === '') expect([code, stderr]).toEqual([0, '']);
  else expect(stderr).toMatch(/baseUrl is .*; expected https:\/\/api\.service\.example\/renders alone;/);
  if (path === '') expect(stdout).toContain('https://api.service.example/renders/v2/scene-renderer/run');
});

firstTier.it('a plan says how a name that ends in .jpg is changed', async () => {
  const night = nightOf('local', 1);
  const text = pipeline('local').replace('dir: out', "dir: out\n  name: '{{ id }}.jpg'");
  night.write('pipeline.yaml', text);
  const { stdout } = await night.plan();
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'pictures stay PNG, and are called ….jpg.png; leave .jpg out',
  );
});

firstTier.it(
  'a plan takes a folder for the pipeline.yaml in it, and suggests an existing path for a mistyped one',
  async () => {
    const night = nightOf('local', 1);
    night.write('list.json', '["a hill"]');
    mkdirSync(night.path('empty'));
    const plan = (file: string) => night.start('plan', file);
    await plan('.').prints('A run of pipeline.yaml would submit 1 scene.');
    await plan('empty').warns('empty: this is a folder; expected a pipeline.yaml');
    await plan('pipelin.yml').warns('no such file; did you mean pipeline.yaml?');
    for (const list of ['scenes.csv', 'list.json'])
      await plan(list).warns(
        `this is a list of scenes; expected a pipeline.yaml, which \`nightrender init --manifest ${list}\` writes`,
      );
  },
);

it('a plan reads a list up to a quote that is never closed, and compares no ids behind it', async () => {
  const rows = [
    'id,scene',
    'a,"open',
    ...Array.from({ length: runs(200_000, { ms: 0.01, least: 100_000 }) }, () => 'same,some words'),
  ];
  const night = nightOf('local', rows.join('\n'));
  await night.plan().fails(2, /^scenes\.csv:2: has a quote that is not closed .*\nOne problem was found/);
});

firstTier.it.each([404, 400])(
  '`plan --check` requests a job that cannot exist if the service reports no health, and accepts the answer %i',
  async (status) => {
    const { url, requests } = await startStandIn({
      meet: ({ operation, response }) =>
        sendJson(response, { error: 'job not found' }, operation === 'health' ? 404 : status),
    });
    const night = nightOf(url, 1);
    await night.plan('--check').exits(0, 'asked: it answers and accepts the key');
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v2/scene-renderer/health',
      'GET /v2/scene-renderer/status/nightrender-asks-whether-this-endpoint-is-there',
    ]);
  },
);

firstTier.it.each(['missing', 'scenes.csv'])(
  'a plan is refused with a message if the copy of the checkpoint can be made nowhere: TMPDIR is %s',
  async (name) => {
    const night = nightOf('local', 1);
    await night
      .with({ env: { TMPDIR: night.path(name) } })
      .plan()
      .fails(14, `folder for temporary files, ${night.path(name)}, cannot be used`)
      .warnsNo(' at ');
  },
);

firstTier.it.skipIf(!canMount)(
  'a plan says that the folder of temporary files is full, not the output folder (skipped if this user may not mount)',
  async () => {
    const night = nightOf('local', 1);
    const smallDisk = night.path('small');
    mountSmallDisk(smallDisk, 1);
    writeFileSync(join(smallDisk, 'taken'), Buffer.alloc(960 * 1024));
    await night
      .with({ env: { TMPDIR: smallDisk } })
      .plan()
      .fails(14, `the folder for temporary files, ${smallDisk}, cannot be used or is full`);
  },
);
