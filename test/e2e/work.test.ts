/** Promise: a machine elsewhere does the jobs of a service, gives back what it cannot finish, and runs what its owner allows. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answer, answerJson, inTurn, type Script, scriptedServer } from '../fakes/scripted-server.ts';
import { selfSigned } from '../fakes/self-signed.ts';
import { folderWith, nightrender, Program, testKey } from './cli.ts';
import { Served } from './served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

/** Says what it is at; a job's input says what becomes of it. */
const program = `
import { existsSync } from 'node:fs';
process.stdin.setEncoding('utf8').on('data', async (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id, input } = JSON.parse(line);
    console.error('at ' + id);
    if ('exit' in input) process.exit(input.exit);
    while ('until' in input && !existsSync(input.until)) await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(JSON.stringify({ id, output: { worker: process.pid, gpu: process.env.CUDA_VISIBLE_DEVICES } }));
  }
});`;

async function start() {
  const cwd = folderWith({
    'service.yaml':
      'endpoints:\n  - {name: Farm, remote: true, retries: 1}\n  - {name: Paint, quickDeploy: painter, workers: 0}\n',
    'program.mjs': program,
  });
  const service = await Served.start(cwd, ['service.yaml'], env);
  const key = await addKey(cwd, 'box');
  const work = (...args: string[]) =>
    new Program(['work', service.url, '--endpoint', 'farm', '--data', 'box', '--json', ...args], {
      cwd,
      env: { NIGHTRENDER_WORKER_KEY: key },
    });
  return { cwd, service, key, work };
}

async function addKey(cwd: string, name: string, endpoint = 'farm'): Promise<string> {
  const args = ['keys', 'add', name, '--kind', 'worker', '--endpoint', endpoint, '--data', 'service'];
  return (await nightrender(args, { cwd })).stdout.trim();
}

/** Until it has said so. */
async function heard(worker: Program, text: string): Promise<void> {
  await expect.poll(() => worker.stdout, { timeout: 60_000 }).toContain(text);
}

it('paints for a service, and ends in order when it has nothing to do', async () => {
  const { service, work } = await start();
  const worker = work('--allow', 'painter', '--idle', '2s');
  const job = await service.done('farm', { scene: 'A lighthouse', width: 64, height: 64 });
  expect(job).toMatchObject({ status: 'COMPLETED', output: [{ rendered_image: expect.any(String) }] });
  const { code, stdout } = await worker.finish();
  expect([code, stdout]).toEqual([0, expect.stringContaining('Ended: there was nothing to do.')]);
});

it('gives what it runs the variables that it is told to', async () => {
  const { cwd, service, key } = await start();
  const args = [
    'work',
    service.url,
    '--endpoint',
    'farm',
    '--data',
    'box',
    '--allow',
    'command:node program.mjs',
  ];
  const variables = { NIGHTRENDER_WORKER_KEY: key, CUDA_VISIBLE_DEVICES: '2' };
  const worker = new Program([...args, '--env', 'CUDA_VISIBLE_DEVICES,NONE'], { cwd, env: variables });
  expect(await service.done('farm', { a: 1 })).toMatchObject({ status: 'COMPLETED', output: { gpu: '2' } });
  worker.child.kill('SIGTERM');
  expect((await worker.finish()).code).toBe(0);
});

it('runs the program of its owner on the GPU that it is given, and starts it anew after so many jobs', async () => {
  const { service, work } = await start();
  work('--allow', 'command:node program.mjs', '--gpu', '3', '--recycle', '1');
  const first = await service.done('farm', { a: 1 });
  const second = await service.done('farm', { a: 2 });
  expect(first).toMatchObject({ status: 'COMPLETED', output: { gpu: '3' } });
  expect(second.output).not.toEqual(first.output);
});

it('finishes its job when it is told to end, and takes no more', async () => {
  const { cwd, service, work } = await start();
  const worker = work('--allow', 'command:node program.mjs');
  const until = join(cwd, 'go');
  const first = await service.submit('farm', { until });
  await heard(worker, 'begins');
  const second = await service.submit('farm', { a: 1 });
  worker.child.kill('SIGTERM');
  writeFileSync(until, '');
  expect((await worker.finish()).code).toBe(0);
  expect((await service.status('farm', first)).status).toBe('COMPLETED');
  expect((await service.status('farm', second)).status).toBe('IN_QUEUE');
});

it('gives its job back at a second signal, which counts as no retry', async () => {
  const { cwd, service, work } = await start();
  const worker = work('--allow', 'command:node program.mjs');
  const until = join(cwd, 'go');
  const id = await service.submit('farm', { until });
  await heard(worker, 'begins');
  worker.child.kill('SIGINT');
  await heard(worker, 'Ending: this worker takes no more jobs');
  worker.child.kill('SIGINT');
  expect((await worker.finish()).code).toBe(0);
  expect(existsSync(until)).toBe(false);
  const given = await service.status('farm', id);
  expect(given).toMatchObject({ status: 'IN_QUEUE' });
  expect(given).not.toHaveProperty('retries');
});

it('has a job whose program dies tried again, and then fails it in words', async () => {
  const { service, work } = await start();
  work('--allow', 'command:node program.mjs');
  const job = await service.done('farm', { exit: 7 });
  expect(job).toMatchObject({ status: 'FAILED', error: expect.stringContaining('7') });
  expect((await service.done('farm', { a: 1 })).status).toBe('COMPLETED');
});

it('starts what has ended while it waited before the next job, which counts as no retry of that', async () => {
  const { service, work } = await start();
  const worker = work('--allow', 'command:test -e first && exec node program.mjs; touch first');
  await heard(worker, 'ended');
  const job = await service.done('farm', { a: 2 });
  expect(job).toMatchObject({ status: 'COMPLETED' });
  expect(job).not.toHaveProperty('retries');
});

it('lets go of a job that is cancelled', async () => {
  const { cwd, service, work } = await start();
  const worker = work('--allow', 'command:node program.mjs');
  const id = await service.submit('farm', { until: join(cwd, 'never') });
  await heard(worker, 'begins');
  await service.ask(`/v2/farm/cancel/${id}`, { method: 'POST' });
  expect((await service.done('farm', { a: 1 })).status).toBe('COMPLETED');
});

it('ends in words where its key is revoked', async () => {
  const { cwd, work } = await start();
  const worker = work('--allow', 'painter', '--idle', '10m');
  await worker.event('work');
  await nightrender(['keys', 'revoke', 'box', '--data', 'service'], { cwd });
  const { code, stderr } = await worker.finish();
  expect([code, stderr]).toEqual([2, expect.stringContaining('The service refused this worker (401')]);
}, 120_000);

it('runs of what its owner allows what the endpoint has, and nothing else', async () => {
  const { cwd, service } = await start();
  const NIGHTRENDER_WORKER_KEY = await addKey(cwd, 'painters', 'paint');
  const work = (allow: string) =>
    new Program(
      ['work', service.url, '--endpoint', 'paint', '--data', 'box', '--allow', allow, '--idle', '2s'],
      { cwd, env: { NIGHTRENDER_WORKER_KEY } },
    );
  const refused = await work('command:echo a,b, image:me/worker:2').finish();
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('--allow: the endpoint paint runs painter, which is not allowed'),
  ]);
  const worker = work('scene, image:me/worker:2');
  const job = await service.done('paint', { scene: 'a hill', width: 64, height: 64 });
  expect(job).toMatchObject({ status: 'COMPLETED', output: [{ rendered_image: expect.any(String) }] });
  expect((await worker.finish()).code).toBe(0);
});

describe('ends at once, in order and without a job to give back', () => {
  /** A server, and what resolves once a worker has asked there. */
  const never: [
    what: string,
    begin: () => Promise<[url: string, asked: (worker: Program) => Promise<void>]>,
  ][] = [
    [
      'that is not there',
      () => Promise.resolve(['http://127.0.0.1:1', (worker) => worker.says(/ECONNREFUSED/)]),
    ],
    [
      'that answers nothing',
      async () => {
        const server = await scriptedServer(() => undefined);
        return [server.url, () => server.received(1)];
      },
    ],
    [
      'whose certificate is not trusted',
      async () => {
        const { port } = await scriptedServer(() => undefined, { tls: selfSigned() });
        return [`https://localhost:${port}`, (worker) => worker.says(/self-signed certificate/)];
      },
    ],
    [
      'of which a page comes',
      async () => [
        (await scriptedServer(answer(200, '<p>Sign in</p>'))).url,
        (worker) => worker.says(/Sign in/),
      ],
    ],
  ];

  async function startAt(allow: string, begin: (typeof never)[0][1]): Promise<Program> {
    const [url, asked] = await begin();
    const args = ['work', url, '--endpoint', 'farm', '--data', 'box', '--allow', allow];
    const worker = new Program(args, { cwd: folderWith({}), env: { NIGHTRENDER_WORKER_KEY: 'any-key' } });
    await asked(worker);
    return worker;
  }

  it.each(never)('for a service %s, with one workload or several', async (_, begin) => {
    for (const allow of ['painter', 'painter,scene']) {
      const worker = await startAt(allow, begin);
      worker.child.kill('SIGTERM');
      const { code, stdout, stderr } = await worker.finish();
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain('Ended: it was told to end.');
    }
  });

  it.each(never)('also at further signals, for a service %s', async (_, begin) => {
    const worker = await startAt('painter', begin);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) worker.child.kill(signal);
    expect((await worker.finish()).stderr).toBe('');
  });

  it('while the driver of its GPUs hangs', async () => {
    const cwd = folderWith({
      'nvidia-smi': '#!/bin/sh\ntrap "" TERM\ntouch asked\nwhile :; do sleep 0.1; done\n',
    });
    chmodSync(join(cwd, 'nvidia-smi'), 0o755);
    const args = ['work', 'http://127.0.0.1:1', '--endpoint', 'farm', '--data', 'box', '--allow', 'painter'];
    const NIGHTRENDER_WORKER_KEY = 'any-key';
    const worker = new Program(args, {
      cwd,
      env: { NIGHTRENDER_WORKER_KEY, PATH: `${cwd}:${process.env['PATH']}` },
    });
    await expect.poll(() => existsSync(join(cwd, 'asked'))).toBe(true);
    worker.child.kill('SIGTERM');
    expect((await worker.finish()).code).toBe(0);
  });

  it('while the service is away', async () => {
    const { service, work } = await start();
    const worker = work('--allow', 'painter');
    await worker.event('work');
    expect(await service.done('farm', { scene: 'a hill', width: 64, height: 64 })).toMatchObject({
      status: 'COMPLETED',
    });
    // Until then it has a result to bring, and waits for the service with it.
    await heard(worker, 'is done');
    await service.kill();
    await heard(worker, 'the service does not answer');
    worker.child.kill('SIGTERM');
    expect((await worker.finish()).code).toBe(0);
  });
});

it('brings the result of one lane though another is refused for good', async () => {
  const ended = new Map([
    ['job-take', answerJson({ id: 'j1', input: { scene: 'a hill', width: 16, height: 16 } })],
    ['job-done', inTurn(...Array<Script>(4).fill(answer(503)), answerJson({ accepted: true }))],
    ['report', answerJson({ drain: false, jobs: [], runs: null })],
  ]);
  let refuse = (): void => undefined;
  const server = await scriptedServer((socket, request) => {
    const [, , , operation = '', worker = ''] = request.path.split('/');
    if (worker.endsWith('.2'))
      refuse = () => answerJson({ error: 'the API key is unknown' }, 401)(socket, request);
    else ended.get(operation)?.(socket, request);
    if (operation === 'job-done') refuse();
  });
  const args = [
    'work',
    server.url,
    '--endpoint',
    'farm',
    '--data',
    'box',
    '--allow',
    'painter',
    '--jobs',
    '2',
  ];
  const worker = new Program(args, { cwd: folderWith({}), env: { NIGHTRENDER_WORKER_KEY: 'any-key' } });
  const { code, stdout } = await worker.finish();
  expect([code, stdout]).toEqual([2, expect.stringContaining('job j1 is done (')]);
});

it('hands in a result whose job wrote more than a report may hold', async () => {
  const { service, work } = await start();
  const lines = 'for (let line = 0; line < 1000; line++) console.error("é".repeat(2000));';
  work('--allow', `command:node -e '${lines}' ; node program.mjs`);
  expect(await service.done('farm', { a: 1 })).toMatchObject({ status: 'COMPLETED' });
  expect(await service.done('farm', { a: 2 })).toMatchObject({ status: 'COMPLETED' });
});

it('says what is wrong with what it is given', async () => {
  const { service, key } = await start();
  const said = async (address: string, options: string[], given = key) => {
    const args = ['work', address, '--endpoint', 'farm', ...options];
    const { code, stderr } = await nightrender(args, { env: { NIGHTRENDER_WORKER_KEY: given } });
    expect(code).toBe(2);
    return stderr;
  };
  expect(await said('http://render.example', [])).toContain('is not encrypted');
  expect(await said('render.example', [])).toContain('expected one such as https://render.example');
  expect(await said(`${service.url}/v2/farm`, [])).toContain(`the service alone, ${service.url}`);
  expect(await said(service.url, ['--allow', 'diffusion'])).toContain('expected scene, command:LINE');
  expect(await said(service.url, ['--allow', 'painter,scene'])).toContain(
    'farm does not say what it runs; allow one alone',
  );
  expect(await said(service.url, ['--idle', 'soon'])).toContain('expected a duration such as 30s');
  expect(await said(service.url, [], '')).toContain('keys add NAME --kind worker');
  expect(await said(service.url, ['--allow', 'painter'], 'wrong')).toContain('refused this worker (401');
});
