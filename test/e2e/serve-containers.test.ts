/**
 * Promise: a container image works as a worker. A killed container loses no job, and no container is left
 * behind.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { prepareWithPython, testImage } from '../service/workloads/container-image.ts';
import { folderWith, nightWith, testKey } from './cli.ts';
import { Served } from './served.ts';

const run = promisify(execFile);
const { prepared, python, skipped } = await prepareWithPython();

function podman(...args: string[]): Promise<string> {
  if (typeof prepared === 'string') throw new Error(prepared);
  const [program = '', ...rest] = prepared.tool.command;
  return run(program, [...rest, ...args]).then(({ stdout }) => stdout);
}

async function start(cwd: string, file = 'service.yaml'): Promise<Served> {
  if (typeof prepared === 'string') throw new Error(prepared);
  return await Served.start(cwd, [file], {
    NIGHTRENDER_API_KEY: testKey,
    NIGHTRENDER_CONTAINER_TOOL: prepared.tool.command.join(' '),
    NIGHTRENDER_CONTAINER_ARGUMENTS: prepared.tool.containerArguments.join(' '),
  });
}

/** Returns the folders of this machine that a container needs for Python and the worker. */
function mounted(): string[] {
  const fixtures = resolve(import.meta.dirname, '../fixtures');
  const folders = ['/usr', '/lib', '/lib64', python?.folder ?? '', fixtures];
  return [...new Set(folders)].filter((path) => existsSync(path));
}

function folder(): string {
  const worker = resolve(import.meta.dirname, '../fixtures/pull-worker.py');
  const image = {
    name: 'Box',
    image: testImage,
    arguments: mounted().map((path) => `--volume=${path}:${path}:ro`),
    network: 'host',
    capabilities: [],
    environment: { SCRIPT: `exec ${python?.program} ${worker}` },
    retries: 1,
  };
  return folderWith({
    'service.yaml': JSON.stringify({ endpoints: [image] }),
    'empty.yaml': JSON.stringify({ endpoints: [{ name: 'Painter', quickDeploy: 'painter' }] }),
  });
}

const names = async () => (await podman('ps', '--all', '--format', '{{.Names}}')).split('\n').filter(Boolean);

it.skipIf(skipped !== '')(
  `a container worker does its jobs, also after its container was killed in one ${skipped}`,
  async () => {
    const service = await start(folder());
    expect(await service.done('box', { a: 1 })).toMatchObject({
      status: 'COMPLETED',
      output: { input: { a: 1 } },
    });
    const [first = ''] = await names();
    expect(first).toMatch(/^nightrender-box-/);
    const id = await service.submit('box', { sleep: 5 });
    await expect.poll(async () => (await service.status('box', id)).status).toBe('IN_PROGRESS');
    await podman('kill', first);
    const job = await service.ended('box', id);
    expect(job).toMatchObject({ status: 'COMPLETED' });
    expect(service.program.stderr).toMatch(
      /^service: endpoint box: a worker ended: the container was killed/,
    );
    expect((await service.stop()).code).toBe(0);
    expect(await names()).toEqual([]);
  },
);

it.skipIf(skipped !== '')(
  `the service ends containers that a killed service has left, whatever it serves now ${skipped}`,
  async () => {
    const cwd = folder();
    const service = await start(cwd);
    await service.done('box', { a: 1 });
    const [name = ''] = await names();
    const label = await podman('inspect', '--format', '{{json .Config.Labels}}', name);
    await service.kill();
    await expect.poll(names).toEqual([]);
    // All processes that watch over the container are killed too.
    const labels = Object.entries(JSON.parse(label) as Record<string, string>).flatMap(([key, value]) => [
      '--label',
      `${key}=${value}`,
    ]);
    const { containerArguments } = typeof prepared === 'string' ? { containerArguments: [] } : prepared.tool;
    await podman(
      'create',
      '--name',
      'left',
      '--network',
      'host',
      ...containerArguments,
      ...labels,
      testImage,
    );
    expect(await names()).toEqual(['left']);
    const again = await start(cwd, 'empty.yaml');
    await expect.poll(names).toEqual([]);
    await expect
      .poll(() => again.program.stderr)
      .toBe('service: a container of a service that was killed was removed\n');
  },
);

it.skipIf(skipped !== '').each([
  [
    'that ends again and again',
    { environment: { SCRIPT: 'echo no module named torch >&2; exit 3' } },
    'exited with code 3; its last line was: no module named torch',
  ],
  [
    'that cannot be made',
    { image: 'localhost/nightrender/absent:1' },
    'podman cannot make a container of localhost/nightrender/absent:1: ',
  ],
  ['whose command is missing', { arguments: ['--entrypoint=/absent'] }, '/absent'],
  [
    'whose options podman does not take',
    { arguments: ['--no-such-option=1'] },
    'unknown flag: --no-such-option',
  ],
])(
  `a container worker is unhealthy, in the words of the tool, with a container %s ${skipped}`,
  async (_, wrong, words) => {
    const cwd = folderWith({
      'service.yaml': JSON.stringify({
        endpoints: [
          { name: 'Box', image: testImage, network: 'host', capabilities: [], quickStart: true, ...wrong },
        ],
      }),
    });
    const service = await start(cwd);
    const unhealthy = async () => {
      const health = await service.ask('/v2/box/health');
      return ((await health.json()) as { workers: { unhealthy: number } }).workers.unhealthy;
    };
    await expect.poll(unhealthy).toBe(1);
    expect(service.program.stderr.split('\n')[0]).toContain(words);
    await service.stop();
  },
);

it.skipIf(skipped !== '')(
  `a container worker runs on a machine elsewhere, and a killed container or agent costs no job ${skipped}`,
  async () => {
    const image = 'localhost/nightrender/puller:1';
    const worker = resolve(import.meta.dirname, '../fixtures/pull-worker.py');
    const command = JSON.stringify([python?.program, worker]);
    await podman('create', '--name=base', testImage);
    await podman('commit', `--change=CMD ${command}`, 'base', image);
    await podman('rm', 'base');
    const night = nightWith({ 'service.yaml': 'endpoints: [{name: Farm, remote: true, retries: 3}]' });
    const service = await start(night.cwd);
    const keyAdd = ['keys', 'add', 'box', '--kind', 'worker', '--endpoint', 'farm', '--data', 'service'];
    const NIGHTRENDER_WORKER_KEY = (await night.built(...keyAdd)).stdout.trim();
    const volumes = mounted().map((path) => `--volume=${path}:${path}:ro`);
    const { tool } = prepared as Exclude<typeof prepared, string>;
    const env = {
      NIGHTRENDER_WORKER_KEY,
      NIGHTRENDER_CONTAINER_TOOL: tool.command.join(' '),
      NIGHTRENDER_CONTAINER_ARGUMENTS: [...tool.containerArguments, ...volumes].join(' '),
    };
    const work = (...more: string[]) =>
      night
        .with({ env })
        .program(
          'work',
          service.url,
          '--endpoint',
          'farm',
          '--allow',
          `image:${image}`,
          '--data',
          'box',
          ...more,
        );
    const agent = work();
    expect(await service.done('farm', { a: 1 })).toMatchObject({ output: { input: { a: 1 } } });
    const atWork = async (id: string) => {
      await expect.poll(async () => (await service.status('farm', id)).status).toBe('IN_PROGRESS');
    };
    const first = await service.submit('farm', { sleep: 3 });
    await atWork(first);
    await podman('kill', ...(await names()));
    expect(await service.ended('farm', first)).toMatchObject({ status: 'COMPLETED', retries: 1 });

    const drained = await service.submit('farm', { sleep: 3 });
    await atWork(drained);
    agent.child.kill('SIGTERM');
    await agent.finish().exits(0);
    expect(await service.status('farm', drained)).toMatchObject({ status: 'COMPLETED' });
    expect(await names()).toEqual([]);

    const killed = work();
    const second = await service.submit('farm', { sleep: 3 });
    await atWork(second);
    killed.child.kill('SIGKILL');
    await killed.finish();
    await expect.poll(names).toEqual([]);
    const next = work('--idle', '2s');
    expect(await service.ended('farm', second)).toMatchObject({ status: 'COMPLETED' });
    await next.finish().exits(0);
    expect(await names()).toEqual([]);
  },
);
