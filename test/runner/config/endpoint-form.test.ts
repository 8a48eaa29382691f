/** Promise: the console's form is checked as service.yaml is, each problem beside its field, and comes back as it was. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { checkEndpointForm, endpointForm } from '../../../src/service/config/check-endpoint-form.ts';
import {
  type EndpointSettings,
  endpointSettings,
  neverRecycled,
} from '../../../src/service/endpoint-settings.ts';
import type { EndpointForm } from '../../../src/protocol/console-data.ts';
import { fill } from './service-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
fill(folder);
afterAll(() => rmSync(folder, { recursive: true }));
const context = {
  others: [{ id: 'night', name: 'Night' }],
  env: { PATH: `${folder}/bin` },
  maxQueued: 10_000,
};

const form: EndpointForm = {
  id: 'a',
  name: 'A',
  workload: { kind: 'image', image: 'user/name:1.0', arguments: ['--init'] },
  workers: 2,
  quickStart: true,
  gpu: { devices: ['0', '1'] },
  memory: '8GB',
  cpus: 1.5,
  environment: { MODEL: 'x' },
  retries: 0,
  executionTimeout: '10m',
  ttl: '24h',
  maxQueued: 5,
};

const worker: EndpointForm = {
  ...form,
  memory: null,
  cpus: null,
  workload: { kind: 'command', command: ['worker', 'x.py'], cwd: null },
};

function settingsOf(given: unknown): EndpointSettings {
  const read = checkEndpointForm(given, context);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.settings;
}

function problemsOf(changes: object, base: object = worker): string[] {
  const read = checkEndpointForm({ ...base, ...changes }, context);
  return 'problems' in read
    ? read.problems.map(({ field, text }) => `${field}: ${text.replaceAll(folder, 'FOLDER')}`)
    : [];
}

/** What only service.yaml can say. */
const unsaid = { on: null, minWorkers: 0, idleMs: 60_000, recycle: neverRecycled, stallMs: null };

it('reads what people write', () => {
  expect(settingsOf(form)).toEqual({
    ...unsaid,
    id: 'a',
    name: 'A',
    workload: { kind: 'image', image: 'user/name:1.0', arguments: ['--init'] },
    workers: 2,
    quickStart: true,
    gpu: { devices: ['0', '1'] },
    memoryBytes: 8e9,
    cpus: 1.5,
    environment: { MODEL: 'x' },
    retries: 0,
    executionTimeoutMs: 600_000,
    ttlMs: 86_400_000,
    maxQueued: 5,
  });
});

it('gives what is left out as service.yaml does, and an empty id out of the name', () => {
  expect(
    settingsOf({ id: '', name: ' Über Painter ', workload: { kind: 'prebuilt', name: 'painter' } }),
  ).toEqual({
    ...unsaid,
    id: 'uber-painter',
    name: 'Über Painter',
    workload: { kind: 'prebuilt', name: 'painter' },
    workers: 1,
    quickStart: false,
    gpu: null,
    memoryBytes: null,
    cpus: null,
    environment: {},
    retries: 2,
    executionTimeoutMs: 600_000,
    ttlMs: 86_400_000,
    maxQueued: 10_000,
  });
});

it('tells every problem at once, each beside its field', () => {
  const changes = {
    id: 'Night',
    name: 'NIGHT',
    workload: { kind: 'command', command: ['gone'], cwd: 'bin' },
    workers: -1,
    gpu: { devices: ['0', '-1'] },
    memory: '8 gigs',
    cpus: '4',
    environment: { RUNPOD_POD_ID: 'x', A: 1 },
    ttl: 'soon',
    colour: 'red',
  };
  expect(problemsOf(changes).toSorted()).toEqual([
    'colour: unknown field',
    'cpus: expected processors, a number from 0.01 to 1024',
    'environment.A: expected a text',
    'environment.RUNPOD_POD_ID: expected another name: the service sets this one itself',
    'gpu.devices.1: expected a device of this machine: a number from 0, or a name such as GPU-5f3c or /dev/dri/renderD128',
    'id: expected an id that is not taken',
    'memory: expected a size from 16MB to 16000GB, such as 500kB, 64MB or 128MiB',
    'name: expected a name that is not taken',
    'ttl: expected a duration from 1s to 20d, such as 30s, 5m or 2h',
    'workers: expected workers that are started here, a whole number from 0 to 1000',
    'workload.command.0: expected an existing program: gone is in no folder of PATH',
    'workload.cwd: expected an absolute path',
  ]);
});

describe('a field', () => {
  it.each([
    ['name', { name: '' }, 'expected a name of at most 64 characters, on one line'],
    ['id', { id: 'night' }, 'expected an id that is not taken'],
    ['workload', { workload: null }, 'expected a workload: prebuilt, image, command, module or remote'],
    [
      'workload.kind',
      { workload: { kind: 'other' } },
      'expected a workload: prebuilt, image, command, module or remote',
    ],
    [
      'workload.image',
      { workload: { kind: 'image', image: 'user/name', arguments: [] } },
      'expected a tag or digest as well, such as user/name:1.0',
    ],
    [
      'workload.command',
      { workload: { kind: 'command', command: [], cwd: null } },
      'expected a list such as [python3, worker.py]',
    ],
    [
      'workload.command.0',
      { workload: { kind: 'command', command: ['./worker'], cwd: null } },
      'expected an absolute path',
    ],
    [
      'workload.command.0',
      { workload: { kind: 'command', command: [`${folder}/gone`], cwd: null } },
      'expected an existing program: FOLDER/gone is not one',
    ],
    [
      'workload.command.1',
      { workload: { kind: 'command', command: ['worker', '${TOKEN}'], cwd: null } },
      'expected the value itself: ${NAME} works in service.yaml only',
    ],
    [
      'workload.cwd',
      { workload: { kind: 'command', command: ['worker'], cwd: 'bin' } },
      'expected an absolute path',
    ],
    ['workload.path', { workload: { kind: 'module', path: './handler.mjs' } }, 'expected an absolute path'],
    [
      'workload.path',
      { workload: { kind: 'module', path: `${folder}/gone.mjs` } },
      'expected an existing file: FOLDER/gone.mjs is not one',
    ],
    ['workload.arguments', { workload: { kind: 'remote', arguments: [] } }, 'unknown field'],
    [
      'environment.TOKEN',
      { environment: { TOKEN: 'a${TOKEN}' } },
      'expected the value itself: ${NAME} works in service.yaml only',
    ],
    ['gpu.label', { gpu: { label: '' } }, 'expected a label such as 24 GB'],
    ['gpu.devices', { gpu: { devices: [] } }, 'expected devices of this machine, such as [0, 1], each once'],
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
    const isOfWorkload = 'workload' in changes;
    const base = isOfWorkload
      ? { ...worker, workers: 0, quickStart: false, gpu: null, environment: {} }
      : worker;
    expect(problemsOf(changes, base)).toEqual([`${field}: ${text}`]);
  });

  it.each([null, 5, 'x', []])('of %j is told to be no form', (given) => {
    expect(checkEndpointForm(given, context)).toEqual({
      problems: [{ field: '', text: 'expected the fields of an endpoint' }],
    });
  });
});

it('takes absolute paths, names of programs and modules that are there', () => {
  for (const workload of [
    { kind: 'command', command: [`${folder}/bin/worker`], cwd: `${folder}/bin` },
    { kind: 'command', command: ['worker'], cwd: null },
    { kind: 'module', path: `${folder}/handler.mjs` },
  ])
    expect(settingsOf({ ...worker, workload }).workload).toEqual(workload);
});

it.each([
  ['90s', '1GB'],
  ['24h', '8GB'],
  ['2d', '1500MB'],
  ['1500ms', '128MiB'],
  ['90m', '1000MiB'],
  ['36h', '16GiB'],
])('shows %s and %s as they were written', (ttl, memory) => {
  const shown = endpointForm(settingsOf({ ...form, executionTimeout: '1s', ttl, memory }));
  expect(shown).toMatchObject({ ttl, memory });
});

it('comes back as it was: form, settings and form again', () => {
  fc.assert(
    fc.property(settings, (given) => {
      const shown = endpointForm(given);
      const read = settingsOf(shown);
      expect(read).toEqual(given);
      expect(endpointForm(read)).toEqual(shown);
    }),
  );
});

const text = fc.string({ maxLength: 20 }).filter((each) => !each.includes('${') && !each.includes('\0'));
const device = fc.oneof(fc.nat(9).map(String), fc.stringMatching(/^GPU-[0-9a-f]{4}$/));
const inContainer = fc.record({
  workload: fc.record({
    kind: fc.constant('image' as const),
    image: fc
      .stringMatching(/^[a-z0-9]{1,8}\/[a-z0-9]{1,8}:[a-z0-9.]{0,4}[a-z0-9]$/)
      .filter((each) => !each.includes(':.')),
    arguments: fc.array(
      text.map((each) => `--label=${each}`),
      { maxLength: 3 },
    ),
  }),
  memoryBytes: fc.option(
    fc.oneof(
      fc.integer({ min: 16, max: 64_000 }).map((megabytes) => megabytes * 1e6),
      fc.integer({ min: 16e6, max: 64e9 }),
    ),
  ),
  cpus: fc.option(fc.integer({ min: 1, max: 4_000 }).map((hundredths) => hundredths / 100)),
});
const onItsOwn = fc.record({
  workload: fc.oneof(
    fc.constant({ kind: 'prebuilt' as const, name: 'scene-renderer' as const }),
    fc.constant({ kind: 'module' as const, path: `${folder}/handler.mjs` }),
    fc.array(text).map((rest) => ({ kind: 'command' as const, command: ['worker', ...rest], cwd: folder })),
  ),
  memoryBytes: fc.constant(null),
  cpus: fc.constant(null),
});

const settings: fc.Arbitrary<EndpointSettings> = fc
  .tuple(
    fc.oneof(inContainer, onItsOwn),
    fc.record({
      id: fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/),
      name: fc.stringMatching(/^[A-Za-zäöüß☾]([A-Za-z äöüß☾.]{0,20}[A-Za-zäöüß☾])?$/),
      workers: fc.nat(1_000),
      quickStart: fc.boolean(),
      gpu: fc.option(
        fc.oneof(
          fc.record({ label: fc.stringMatching(/^[0-9]{1,3} GB$/) }),
          fc.record({ devices: fc.uniqueArray(device, { minLength: 1, maxLength: 4 }) }),
        ),
      ),
      environment: fc.dictionary(
        fc.stringMatching(/^[A-Z_][A-Z0-9]{0,5}$/).filter((name) => name !== 'PATH'),
        text,
      ),
      retries: fc.nat(100),
      executionTimeoutMs: fc.integer({ min: 1_000, max: 86_400_000 }),
      ttlMs: fc.oneof(
        fc.integer({ min: 86_400_000, max: 20 * 86_400_000 }),
        fc.integer({ min: 1, max: 20 }).map((days) => days * 86_400_000),
      ),
      maxQueued: fc.integer({ min: 1, max: 10_000_000 }),
    }),
  )
  .map(([workload, others]) => endpointSettings({ ...others, ...workload }))
  .filter(({ workload, gpu }) => workload.kind !== 'prebuilt' || gpu === null || 'label' in gpu)
  .filter(({ id, name }) => id.toLowerCase() !== 'night' && name.toLowerCase() !== 'night');
