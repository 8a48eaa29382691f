/**
 * Promise: an endpoint from the console is checked as one in service.yaml. Each problem names its field, and
 * a saved endpoint reads back unchanged.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { checkEndpoint, endpointFields } from '../../../src/service/config/check-endpoint.ts';
import { publicUrlExpected, writtenEndpoint } from '../../../src/service/config/endpoint-schema.ts';
import { type EndpointSettings, endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { fill } from '../../runner/config/service-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
fill(folder);
afterAll(() => rmSync(folder, { recursive: true }));
const context = {
  others: [{ id: 'night', name: 'Night' }],
  env: { PATH: `${folder}/bin` },
  folder,
  maxQueued: 10_000,
  publicUrlExpected: undefined,
  hasPrograms: true,
  before: undefined,
};

const form = {
  id: 'a',
  name: 'A',
  image: 'user/name:1.0',
  arguments: ['--init'],
  network: 'farm',
  serviceUrl: 'http://172.17.0.1:4747/',
  capabilities: ['CHOWN'],
  workers: { min: 1, max: 2, idle: '5m' },
  quickStart: true,
  gpu: { devices: ['0', '1'] },
  memory: '8GB',
  cpus: 1.5,
  environment: { MODEL: 'x' },
  retries: 0,
  executionTimeout: '10m',
  ttl: '24h',
  recycle: { jobs: 9, time: '6h' },
  stall: '5m',
  maxQueued: 5,
};

/** `fill` creates the programs, folders and modules that these settings name. */
const worker = { id: 'a', name: 'A', command: ['worker', 'x.py'] };

/** Returns the fields with problems if the console may not name programs (`console: { programs: false }`). */
function refusedFields(given: object, before?: EndpointSettings): string[] {
  const read = checkEndpoint(given, { ...context, hasPrograms: false, before });
  return 'problems' in read ? read.problems.map(({ field }) => field) : [];
}

function settingsOf(given: unknown): EndpointSettings {
  const read = checkEndpoint(given, context);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.settings;
}

function problemsOf(changes: object, base: object = worker): string[] {
  const read = checkEndpoint({ ...base, ...changes }, context);
  return 'problems' in read
    ? read.problems.map(({ field, text }) => `${field}: ${text.replaceAll(folder, 'FOLDER')}`)
    : [];
}

it('a form is read as people write it', () => {
  expect(settingsOf(form)).toEqual({
    id: 'a',
    name: 'A',
    image: 'user/name:1.0',
    arguments: ['--init'],
    workers: { min: 1, max: 2, idle: 300_000 },
    quickStart: true,
    recycle: { jobs: 9, time: 21_600_000 },
    stall: 300_000,
    gpu: { devices: ['0', '1'] },
    memory: 8e9,
    cpus: 1.5,
    network: 'farm',
    serviceUrl: 'http://172.17.0.1:4747',
    capabilities: ['CHOWN'],
    environment: { MODEL: 'x' },
    retries: 0,
    executionTimeout: 600_000,
    ttl: 86_400_000,
    maxQueued: 5,
  });
});

it('fills in omitted keys as service.yaml does, and makes an id out of the name', () => {
  expect(settingsOf({ name: ' Über Painter ', quickDeploy: 'scene-renderer' })).toEqual(
    endpointSettings({ id: 'uber-painter', name: 'Über Painter', maxQueued: 10_000 }),
  );
  expect(settingsOf({ name: 'B', quickDeploy: 'blender' }).recycle).toEqual({ jobs: 200 });
  expect(settingsOf({ name: 'F', remote: true }).workers.max).toBe(0);
});

it('an endpoint has a worker for each box with ComfyUI, and comes back unchanged', () => {
  const set = { '3.seed': '{{ seed }}' };
  const comfyui = { url: 'http://box:8188/', workflow: 'flow.json', set };
  const one = settingsOf({ name: 'C', comfyui });
  const read = { url: ['http://box:8188'], workflow: `${folder}/flow.json`, set };
  expect(one).toMatchObject({ comfyui: read, workers: { min: 1, max: 1 } });
  const two = settingsOf({ name: 'C', comfyui: { ...comfyui, url: ['http://a', 'http://b'] } });
  expect(two).toMatchObject({ workers: { min: 2, max: 2 } });
  expect([one, two].map((each) => settingsOf(writtenEndpoint(each)))).toEqual([one, two]);
});

it('reports problems of boxes at their keys', () => {
  const comfyui = { url: ['box'], set: { '6.text': '{{ a.b }}' } };
  expect(problemsOf({ comfyui }, { id: 'a', name: 'A' })).toEqual([
    'comfyui.url.0: expected an address such as http://box:8188, or several in a list, each once',
    'comfyui.workflow: expected a text',
    'comfyui.set.6.text: expected a value, or a text with placeholders such as {{ prompt }}, without filters (`upload` works in pipeline.yaml only)',
  ]);
});

it('a form begins with the defaults', () => {
  const begun = { ...endpointFields(7).begun, id: 'a', name: 'A' };
  expect(settingsOf(begun)).toEqual(endpointSettings({ id: 'a', name: 'A', quickStart: true, maxQueued: 7 }));
});

it('keeps containers of the console apart unless they are said to be otherwise', () => {
  const image = { name: 'I', image: 'user/name:1.0' };
  expect(problemsOf({}, image)).toEqual([
    'serviceUrl: expected the address at which the containers reach this service, such as http://172.17.0.1:4747, or `network: host`',
  ]);
  const bounds = (given: object) => {
    const { network, serviceUrl, capabilities } = settingsOf(given);
    return { network, serviceUrl, capabilities };
  };
  const serviceUrl = 'http://172.17.0.1:4747';
  expect(bounds({ ...image, serviceUrl })).toEqual({ network: 'default', serviceUrl, capabilities: [] });
  expect(bounds({ ...image, network: 'host' })).toEqual({ network: 'host', capabilities: [] });
  expect(bounds({ name: 'B', quickDeploy: 'blender' })).toEqual({ capabilities: [] });
  const known = checkEndpoint(image, { ...context, publicUrl: 'https://render.example' });
  expect(known).toMatchObject({ settings: { network: 'default', capabilities: [] } });
});

it('a container of an earlier version stays as it was, also when another field is changed', () => {
  const workload = { image: 'user/name:1.0', arguments: [] };
  const shown = writtenEndpoint(endpointSettings({ id: 'i', name: 'I', maxQueued: 10_000 }, workload));
  expect(shown).toMatchObject({ network: 'host', capabilities: ['default'] });
  expect(settingsOf(shown)).toMatchObject({ network: 'host', capabilities: ['default'] });
});

it('accepts a cluster if the service says how its workers reach it', () => {
  const on = { on: { slurm: ['--gres=gpu:1'] }, workers: { min: 0, max: 64, idle: '5m' } };
  expect(settingsOf({ ...worker, ...on }).on).toEqual({ slurm: ['--gres=gpu:1'] });
  const without = { ...context, publicUrlExpected: publicUrlExpected(undefined, false) };
  expect(checkEndpoint({ ...worker, ...on }, without)).toEqual({
    problems: [{ field: 'on', text: expect.stringContaining('`publicUrl` in service.yaml') }],
  });
});

it('all problems of a form are reported at once, each beside its field', () => {
  const changes = {
    id: 'Night',
    name: 'NIGHT',
    command: ['gone'],
    cwd: 'gone',
    workers: -1,
    gpu: { devices: ['0', '-1'] },
    memory: '8 gigs',
    cpus: 'four',
    environment: { RUNPOD_POD_ID: 'x', A: 1 },
    ttl: 'soon',
    recycle: { jobs: 0, age: '1h' },
    colour: 'red',
  };
  expect(problemsOf(changes).toSorted()).toEqual([
    'colour: unknown field',
    'command.0: expected an existing program: gone is in no folder of PATH',
    'cpus: expected processors, a number from 0.01 to 1024',
    'cwd: expected an existing folder: FOLDER/gone is not one',
    'environment.A: expected a text',
    'environment.RUNPOD_POD_ID: expected another name: the service sets this one itself',
    'gpu.devices.1: expected a device of this machine: a number from 0, or a name such as GPU-5f3c or /dev/dri/renderD128',
    'id: expected an id that is not taken',
    'memory: expected a size from 16MB to 16000GB, such as 500kB, 64MB or 128MiB',
    'name: expected a name that is not taken',
    'recycle.age: unknown field',
    'recycle.jobs: expected jobs of one worker, a whole number from 1 to 1000000',
    'ttl: expected a duration from 1s to 20d, such as 30s, 5m or 2h',
    'workers: expected workers that are started here, a whole number from 0 to 1000',
  ]);
});

describe('a field', () => {
  it.each([
    ['name', { name: '' }, 'expected a name of at most 64 characters, on one line'],
    ['id', { id: 'night' }, 'expected an id that is not taken'],
    ['', { remote: true }, 'expected exactly one of quickDeploy, image, command, module, comfyui, remote'],
    ['command', { command: [] }, 'expected a list such as [python3, worker.py]'],
    ['command.0', { command: ['gone/x'] }, 'expected an existing program: FOLDER/gone/x is not one'],
    [
      'command.1',
      { command: ['worker', '${TOKEN}'] },
      'expected the value itself: ${NAME} works in service.yaml only',
    ],
    ['arguments', { arguments: ['--x'] }, 'expected none: only an image takes options of `docker run`'],
    ['workers.min', { workers: { min: 3, max: 2 } }, 'expected at most `max`'],
    ['recycle', { recycle: 5 }, 'expected keys with values'],
    ['stall', { stall: 'long' }, 'expected a duration from 1s to 20d, such as 30s, 5m or 2h'],
    ['on.slurm.0', { on: { slurm: ['gpu'] }, workers: 1 }, /^expected an option of sbatch/],
    [
      'environment.TOKEN',
      { environment: { TOKEN: 'a${TOKEN}' } },
      'expected the value itself: ${NAME} works in service.yaml only',
    ],
    ['gpu', { gpu: '' }, 'expected a label such as 24 GB'],
    ['gpu.devices', { gpu: { devices: [] } }, 'expected devices of this machine, such as [0, 1], each once'],
    ['network', { network: 'host' }, 'expected none: only an image has a network of its own'],
    ['serviceUrl', { serviceUrl: 'http://a' }, 'expected none: only an image has a network of its own'],
    ['capabilities', { capabilities: [] }, 'expected none: only containers have capabilities'],
    ['cpus', { cpus: 2 }, 'expected no processor limit: only an image can have one'],
    [
      'executionTimeout',
      { executionTimeout: '30h' },
      'expected at most the ttl of 24h, after which a job ends anyway',
    ],
    [
      'executionTimeout',
      { executionTimeout: '' },
      'expected a duration from 1s to 20d, such as 30s, 5m or 2h',
    ],
    ['maxQueued', { maxQueued: 0 }, 'expected jobs that wait, a whole number from 1 to 10000000'],
    ['colour', { colour: 'red' }, 'unknown field'],
  ])('%s of %j', (field, changes, text) => {
    const said = typeof text === 'string' ? `${field}: ${text}` : expect.stringMatching(text.source.slice(1));
    expect(problemsOf(changes)).toEqual([said]);
  });

  it.each([
    ['network', { network: 'none' }, 'expected host, default, or the name of a network of docker or podman'],
    ['network', { network: 'a b' }, 'expected host, default, or the name of a network of docker or podman'],
    ['arguments', { arguments: ['--network=x'] }, 'expected no --network: the key `network` says it'],
    ['serviceUrl', { serviceUrl: 'box:1' }, /^expected the address at which the containers reach/],
    ['capabilities.0', { capabilities: ['chown'] }, 'expected a capability such as CHOWN, or default'],
  ])('%s of a container, as %j', (field, changes, text) => {
    const said = typeof text === 'string' ? `${field}: ${text}` : expect.stringMatching(text.source.slice(1));
    expect(problemsOf(changes, form)).toEqual([said]);
  });

  it.each([null, 5, 'x', []])('of %j is rejected', (given) => {
    expect(checkEndpoint(given, context)).toEqual({
      problems: [{ field: '', text: 'expected the fields of an endpoint' }],
    });
  });
});

it('accepts paths that are relative to the folder of service.yaml, and names of programs', () => {
  const command = [`${folder}/bin/worker`];
  expect(settingsOf({ ...worker, command: ['bin/worker'], cwd: 'bin' })).toMatchObject({
    command,
    cwd: `${folder}/bin`,
  });
  expect(settingsOf({ ...worker, command })).toMatchObject({ command, cwd: folder });
  expect(settingsOf({ name: 'A', module: 'handler.mjs' })['module']).toBe(`${folder}/handler.mjs`);
});

it.each([
  ['90s', '1GB'],
  ['24h', '8GB'],
  ['2d', '1500MB'],
  ['1500ms', '128MiB'],
  ['90m', '1000MiB'],
  ['36h', '16GiB'],
])('shows %s and %s as they were written', (ttl, memory) => {
  const shown = writtenEndpoint(settingsOf({ ...form, executionTimeout: '1s', ttl, memory }));
  expect(shown).toMatchObject({ ttl, memory });
});

it('an endpoint comes back unchanged: settings, texts, and settings again', () => {
  fc.assert(
    fc.property(settings, (given) => {
      const shown = writtenEndpoint(given);
      const read = settingsOf(shown);
      expect(read).toEqual(given);
      expect(writtenEndpoint(read)).toEqual(shown);
    }),
  );
});

describe('an endpoint of a console that may name no programs', () => {
  const image = { id: 'a', name: 'A', image: 'user/name:1.0', network: 'host' };
  const drawn = { id: 'a', name: 'A', quickDeploy: 'scene-renderer' };
  const blender = { id: 'a', name: 'A', quickDeploy: 'blender' };
  const code = { NODE_OPTIONS: '--import=data:text/javascript,0' };

  it.each<[object, string[]]>([
    [worker, ['command']],
    [{ id: 'a', name: 'A', module: 'handler.mjs' }, ['module']],
    [{ ...image, arguments: ['--volume=/:/host'] }, ['arguments']],
    [{ ...image, capabilities: ['SYS_ADMIN'] }, ['capabilities']],
    [{ ...image, capabilities: ['default'], environment: { MODEL: 'x' } }, []],
    [{ ...drawn, environment: code }, ['environment']],
    [{ ...drawn, on: { slurm: ['--gres=gpu:1'] }, workers: 1 }, ['on']],
    [drawn, []],
    [{ ...blender, blender: { program: 'bin/worker' } }, ['blender.program']],
    [{ ...blender, blender: { scripts: 'bin' } }, ['blender.scripts']],
    [{ ...blender, environment: code }, ['environment']],
    [{ id: 'a', name: 'A', remote: true }, []],
  ])('%j is refused at %j', (given, fields) => {
    expect(refusedFields(given)).toEqual(fields);
  });

  it('keeps the program that it was made with, and gets no other', () => {
    const before = settingsOf({ ...worker, environment: { A: 'x' } });
    const kept = writtenEndpoint(before);
    expect(refusedFields({ ...kept, workers: 3 }, before)).toEqual([]);
    expect(refusedFields({ ...kept, command: ['worker', 'y.py'] }, before)).toEqual(['command']);
    expect(refusedFields({ ...kept, environment: code }, before)).toEqual(['environment']);
    expect(refusedFields(worker, settingsOf(image))).toEqual(['command']);
  });
});

const text = fc.string({ maxLength: 20 }).filter((each) => !each.includes('${') && !each.includes('\0'));
const device = fc.oneof(fc.nat(9).map(String), fc.stringMatching(/^GPU-[0-9a-f]{4}$/));
const ms = fc.integer({ min: 1_000, max: 86_400_000 });
/** Omits this key in half of the cases. */
const maybe = <T>(key: string, value: fc.Arbitrary<T>) => fc.record({ [key]: value }, { requiredKeys: [] });
const size = fc.oneof(
  fc.integer({ min: 16, max: 64_000 }).map((megabytes) => megabytes * 1e6),
  fc.integer({ min: 16e6, max: 64e9 }),
);
const recycleOf = (memory: fc.Arbitrary<number>, requiredKeys: []) =>
  fc.record({ jobs: fc.integer({ min: 1, max: 1_000_000 }), memory, time: ms }, { requiredKeys });
const workers = fc.oneof(
  fc.nat(1_000).map((max) => ({ min: 0, max, idle: 60_000 })),
  fc.record({ min: fc.nat(9), max: fc.integer({ min: 9, max: 1_000 }), idle: ms }),
);
const inContainer = fc
  .tuple(
    fc.record({
      image: fc
        .stringMatching(/^[a-z0-9]{1,8}\/[a-z0-9]{1,8}:[a-z0-9.]{0,4}[a-z0-9]$/)
        .filter((each) => !each.includes(':.')),
      arguments: fc.array(
        text.map((each) => `--label=${each}`),
        { maxLength: 3 },
      ),
      recycle: recycleOf(size, []).map(({ jobs, time }) => ({
        ...(jobs !== undefined && { jobs }),
        ...(time !== undefined && { time }),
      })),
      network: fc.constantFrom('host', 'default', 'farm'),
      serviceUrl: fc.constant('http://172.17.0.1:4747'),
      capabilities: fc.constantFrom<string[][]>([], ['default'], ['CHOWN', 'SETUID']),
    }),
    maybe('memory', size),
    maybe(
      'cpus',
      fc.integer({ min: 1, max: 4_000 }).map((hundredths) => hundredths / 100),
    ),
  )
  .map((all) => Object.assign({}, ...all) as Record<string, unknown>);
const onItsOwn = fc
  .tuple(
    fc.oneof(
      fc.constant({ quickDeploy: 'scene-renderer' }),
      fc.constant({ module: `${folder}/handler.mjs` }),
      fc.record({
        quickDeploy: fc.constant('blender'),
        blender: fc.record({
          program: fc.constantFrom(null, `${folder}/bin/worker`),
          assets: fc.constantFrom(null, folder),
          scripts: fc.constantFrom(null, `${folder}/bin`),
          image: fc.constantFrom(null, 'user/blender:4'),
        }),
        capabilities: fc.constant([]),
      }),
      fc.array(text).map((rest) => ({ command: ['worker', ...rest], cwd: folder })),
    ),
    fc.record({ recycle: recycleOf(size, []) }),
  )
  .map(([workload, recycle]): Record<string, unknown> => ({ ...workload, ...recycle }));
const gpu = fc.oneof(
  fc.stringMatching(/^[0-9]{1,3} GB$/),
  fc.record({ devices: fc.uniqueArray(device, { minLength: 1, maxLength: 4 }) }),
);

const settings: fc.Arbitrary<EndpointSettings> = fc
  .tuple(
    fc.oneof(inContainer, onItsOwn),
    fc.record({
      workers,
      id: fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
      name: fc.stringMatching(/^[A-Za-zäöüß☾]([A-Za-z äöüß☾.]{0,20}[A-Za-zäöüß☾])?$/),
      quickStart: fc.boolean(),
      environment: fc.dictionary(
        fc.stringMatching(/^[A-Z_][A-Z0-9]{0,5}$/).filter((name) => name !== 'PATH'),
        text,
      ),
      retries: fc.nat(100),
      executionTimeout: fc.integer({ min: 1_000, max: 86_400_000 }),
      ttl: fc.oneof(
        fc.integer({ min: 86_400_000, max: 20 * 86_400_000 }),
        fc.integer({ min: 1, max: 20 }).map((days) => days * 86_400_000),
      ),
      maxQueued: fc.integer({ min: 1, max: 10_000_000 }),
    }),
    maybe('gpu', gpu),
    maybe('stall', ms),
  )
  .map(([{ recycle, ...workload }, others, ...more]) =>
    endpointSettings({ ...others, ...(Object.assign({ recycle }, ...more) as object) }, workload),
  )
  .filter(({ quickDeploy, gpu: given }) => quickDeploy !== 'scene-renderer' || typeof given !== 'object')
  .filter(({ id, name }) => id.toLowerCase() !== 'night' && name.toLowerCase() !== 'night');
