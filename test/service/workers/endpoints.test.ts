/**
 * Promise: workers that wait at an endpoint notice its changes, and endpoints saved by earlier versions are
 * read.
 */
import { expect, it, onTestFinished } from 'vitest';
import { endpointSettings } from '../../../src/service/model/endpoint-settings.ts';
import { Endpoints } from '../../../src/service/workers/endpoints.ts';
import { JobResults } from '../../../src/service/jobs/job-work.ts';
import { openStore } from '../service-harness.ts';

async function open() {
  const store = await openStore();
  const opened: Endpoints[] = [];
  const start = (): Endpoints => {
    const endpoints = new Endpoints({
      store,
      results: new JobResults(store, 1e6),
      given: [],
      workloadOf: () => undefined,
      silenceMs: undefined,
      onProblem: () => undefined,
    });
    opened.push(endpoints);
    return endpoints;
  };
  onTestFinished(async () => {
    for (const endpoints of opened) await endpoints.stop();
    store.close();
  });
  return { store, start };
}

it('a worker that waited at an endpoint finds the changed one with its next request', async () => {
  const { store, start } = await open();
  const endpoints = start();
  const before = endpointSettings({ id: 'farm', workers: 0, retries: 0 }, { remote: true });
  await endpoints.add(before);
  const found: unknown[] = [];
  onTestFinished(
    store.signals.on('queued farm', () => {
      const endpoint = endpoints.find('farm');
      found.push([endpoint?.settings.retries, endpoint?.remote.isStopped]);
    }),
  );
  await endpoints.change('farm', { ...before, retries: 5 });
  expect(found).toEqual([[5, false]]);
});

/** Keys that version 0.2.0 wrote for every endpoint. */
const first = {
  name: 'Old',
  workers: 2,
  quickStart: true,
  gpu: null,
  memoryBytes: null,
  cpus: null,
  environment: { A: 'x' },
  retries: 1,
  executionTimeoutMs: 60_000,
  ttlMs: 120_000,
  maxQueued: 5,
};

/** Keys that later versions wrote too. */
const later = {
  ...first,
  on: null,
  minWorkers: 1,
  idleMs: 90_000,
  recycle: { jobs: 9, memoryBytes: 1e9, ms: null },
  stallMs: 30_000,
};

const same = {
  name: 'Old',
  quickStart: true,
  environment: { A: 'x' },
  retries: 1,
  executionTimeout: 60_000,
  ttl: 120_000,
  maxQueued: 5,
};
const asFirst = { ...same, workers: { min: 0, max: 2, idle: 60_000 }, recycle: {} };
const asLater = {
  ...same,
  workers: { min: 1, max: 2, idle: 90_000 },
  recycle: { jobs: 9, memory: 1e9 },
  stall: 30_000,
};

it.each<[object, object]>([
  [
    { ...first, workload: { kind: 'prebuilt', name: 'painter' } },
    { ...asFirst, quickDeploy: 'painter' },
  ],
  [
    {
      ...first,
      workload: { kind: 'image', image: 'u/x:1', arguments: ['--init'] },
      gpu: { devices: ['0'] },
      memoryBytes: 8e9,
      cpus: 2,
    },
    { ...asFirst, image: 'u/x:1', arguments: ['--init'], gpu: { devices: ['0'] }, memory: 8e9, cpus: 2 },
  ],
  [
    { ...first, workload: { kind: 'command', command: ['cat'], cwd: null } },
    { ...asFirst, command: ['cat'], cwd: process.cwd() },
  ],
  [
    { ...first, workload: { kind: 'module', path: '/srv/a.mjs' }, gpu: { label: '24 GB' } },
    { ...asFirst, module: '/srv/a.mjs', gpu: '24 GB' },
  ],
  [
    { ...first, workers: 0, workload: { kind: 'remote' } },
    { ...asFirst, remote: true, workers: { min: 0, max: 0, idle: 60_000 } },
  ],
  [
    {
      ...later,
      workload: { kind: 'command', command: ['cat'], cwd: '/srv' },
      on: { slurm: ['--gres=gpu:1'], folder: '/srv' },
    },
    { ...asLater, command: ['cat'], cwd: '/srv', on: { slurm: ['--gres=gpu:1'] } },
  ],
  [
    {
      ...later,
      workload: { kind: 'blender', program: null, assets: '/srv', scripts: null, image: 'u/b:1' },
      capabilities: ['CHOWN'],
    },
    {
      ...asLater,
      quickDeploy: 'blender',
      blender: { program: null, assets: '/srv', scripts: null, image: 'u/b:1' },
      capabilities: ['CHOWN'],
    },
  ],
  [
    {
      ...later,
      workload: { kind: 'comfyui', urls: ['http://a'], workflow: '/srv/f.json', set: { '3.seed': 1 } },
    },
    { ...asLater, comfyui: { url: ['http://a'], workflow: '/srv/f.json', set: { '3.seed': 1 } } },
  ],
  [
    {
      ...later,
      workload: { kind: 'image', image: 'u/x:1', arguments: [] },
      network: 'farm',
      serviceUrl: 'http://b',
      capabilities: [],
    },
    { ...asLater, image: 'u/x:1', arguments: [], network: 'farm', serviceUrl: 'http://b', capabilities: [] },
  ],
])('opens endpoints that an earlier version kept as %j', async (kept, settings) => {
  const { store, start } = await open();
  const row = { id: 'old', ...kept };
  store.file.db
    .prepare('INSERT INTO endpoint (id, settings, madeAt) VALUES (?, ?, 0)')
    .run('old', JSON.stringify(row));
  expect(start().find('old')?.settings).toEqual({ id: 'old', ...settings });
});

it('a service reads the endpoints that it has saved', async () => {
  const { start } = await open();
  const made = endpointSettings({ id: 'a', workers: 3, stall: 5_000 }, { module: '/srv/a.mjs' });
  await start().add(made);
  expect(start().find('a')?.settings).toEqual(made);
});
