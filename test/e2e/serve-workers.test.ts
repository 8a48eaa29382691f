/** Promise: workers of every kind work side by side, and a failing one does not harm the service. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isWhole, rest } from '../fakes/tier.ts';
import { workerEnvironment } from '../../src/service/workloads/worker-environment.ts';
import { type Night, nightWith, pipeline, scenes, testKey } from './cli.ts';
import { childrenOf, Served } from './served.ts';

const picture = { scene: 'A lighthouse at dawn', width: 64, height: 64 };

/** A worker program that does what the input of a job says. */
const program = `
process.stdin.setEncoding('utf8').on('data', (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id, input } = JSON.parse(line);
    if ('exit' in input) process.exit(input.exit);
    if ('hang' in input) return;
    if ('leak' in input) for (const kept = []; ; ) kept.push(Buffer.alloc(1e6, 1));
    console.log(JSON.stringify({ id, output: { command: input } }));
  }
});`;

const handler = `
export async function handler({ input }) {
  if ('exit' in input) process.exit(input.exit);
  if ('hang' in input) for (;;);
  if ('leak' in input) for (const kept = []; ; ) kept.push(Buffer.alloc(1e6, 1));
  return { module: input };
}`;

const file = `
endpoints:
  - {name: Painter, quickDeploy: painter}
  - {name: Second, quickDeploy: painter}
  - {name: Program, command: [node, program.cjs], memory: 300MB, retries: 1}
  - {name: Module, module: ./handler.mjs, memory: 300MB, retries: 1}
  - {name: Farm, remote: true, retries: 1}
`;

const env = { NIGHTRENDER_API_KEY: testKey };

async function start(): Promise<{ night: Night; service: Served }> {
  const night = nightWith({ 'service.yaml': file, 'program.cjs': program, 'handler.mjs': handler });
  return { night, service: await Served.start(night.cwd, ['service.yaml'], env) };
}

rest.it('a service has a painter, a program and a module work side by side', async () => {
  const { service } = await start();
  const [painted, told, handled] = await Promise.all([
    service.done('painter', picture),
    service.done('program', { a: 1 }),
    service.done('module', { a: 1 }),
  ]);
  expect(painted.status).toBe('COMPLETED');
  expect(told).toMatchObject({ status: 'COMPLETED', output: { command: { a: 1 } } });
  expect(handled).toMatchObject({ status: 'COMPLETED', output: { module: { a: 1 } } });
});

rest.it.each(['program', 'module'])(
  'a service says how a crashing %s ended, and continues',
  async (endpoint) => {
    const { service } = await start();
    const job = await service.done(endpoint, { exit: 3 });
    expect(job.status).toBe('FAILED');
    expect(job.error).toMatch(/exited with code 3/);
    expect(service.program.stderr.match(/a worker ended: .* exited with code 3/g)).toHaveLength(1);
    expect((await service.done(endpoint, { a: 1 })).status).toBe('COMPLETED');
    expect((await service.done('painter', picture)).status).toBe('COMPLETED');
  },
);

rest.it.each(['program', 'module'])(
  'a service kills a leaking %s before it takes all memory, and continues',
  async (endpoint) => {
    const { service } = await start();
    const job = await service.done(endpoint, { leak: true });
    expect(job.status).toBe('FAILED');
    expect(job.error).toMatch(/exceeded its \d+ MiB of memory and was killed/);
    expect((await service.done(endpoint, { a: 1 })).status).toBe('COMPLETED');
  },
);

rest.it.each(['program', 'module'])(
  'a service ends a hanging %s in time, for the next job',
  async (endpoint) => {
    const { service } = await start();
    const hanging = service.done(endpoint, { hang: true }, { executionTimeout: 5_000 });
    const next = service.done(endpoint, { a: 1 });
    expect((await service.done('painter', picture)).status).toBe('COMPLETED');
    expect((await hanging).status).toBe('TIMED_OUT');
    expect((await next).status).toBe('COMPLETED');
  },
);

it.each(isWhole ? (['SIGTERM', 'SIGKILL'] as const) : (['SIGKILL'] as const))(
  'a service leaves no process after %s, and its jobs in the queue',
  async (how) => {
    const { night, service } = await start();
    const id = await service.submit('program', { hang: true });
    const other = await service.submit('module', { hang: true });
    const isAt = async (endpoint: string, job: string) => (await service.status(endpoint, job)).status;
    await expect.poll(() => isAt('program', id)).toBe('IN_PROGRESS');
    await expect.poll(() => isAt('module', other)).toBe('IN_PROGRESS');
    const workers = childrenOf(service.program.child.pid);
    expect(workers.length).toBeGreaterThan(1);
    if (how === 'SIGTERM') expect((await service.stop()).code).toBe(0);
    else await service.kill();
    await expect.poll(() => workers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    night.write('service.yaml', file.replaceAll(/command: .*?MB,|module: .*?MB,/g, 'remote: true,'));
    const again = await Served.start(night.cwd, ['service.yaml'], env);
    expect((await again.status('program', id)).status).toBe('IN_QUEUE');
    expect((await again.status('module', other)).status).toBe('IN_QUEUE');
  },
);

rest.it('a service gives jobs to programs elsewhere that have a key for workers', async () => {
  const { night, service } = await start();
  const added = await night.built('keys', 'add', 'attic', '--kind', 'worker', '--data', 'service');
  const worker = resolve(import.meta.dirname, '../fixtures/pull-worker.py');
  const startPullWorker = (workerId: string) => {
    const identity = { endpointId: 'farm', workerId, gpuName: null, baseUrl: service.url };
    const of = workerEnvironment({ ...identity, workerKey: added.stdout.trim() });
    const child = spawn('python3', [worker], { env: { ...process.env, ...of }, stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  startPullWorker('attic-1');
  startPullWorker('attic-2');
  const jobs = await Promise.all([1, 2, 3, 4].map((sleep) => service.done('farm', { sleep: sleep / 4 })));
  const workers = jobs.map(({ output }) => (output as { worker: string }).worker);
  expect(new Set(workers)).toEqual(new Set(['attic-1', 'attic-2']));
  expect((await service.done('farm', { error: 'no' })).status).toBe('FAILED');
  expect((await service.stop()).code).toBe(0);
});

rest.it('a service renders a batch at each of two endpoints at once', async () => {
  const { service } = await start();
  const batch = async (id: string) => {
    const text = pipeline(service.url).replace('id: scene-renderer', `id: ${id}`);
    const night = nightWith({
      'scenes.csv': scenes(6),
      'pipeline.yaml': `${text}input: {scene: '{{ scene }}', width: 64, height: 64}\n`,
    });
    return await night.with({ env }).built('run', 'pipeline.yaml');
  };
  const ran = await Promise.all([batch('painter'), batch('second')]);
  for (const { code, stderr } of ran) expect(code, stderr).toBe(0);
});
