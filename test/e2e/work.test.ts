/**
 * Promise: a remote machine does jobs of a service, gives back unfinished ones, and runs only what its owner
 * allows.
 */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AnswerOf } from '../../src/protocol/operations.ts';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { answer, answerJson, inTurn, type Script, scriptedServer } from '../fakes/scripted-server.ts';
import { selfSigned } from '../fakes/self-signed.ts';
import { isWhole, rest } from '../fakes/tier.ts';
import { addKey, revokeKey } from '../service/pull-harness.ts';
import { ask, askStatus, endpointId, openService, submit } from '../service/service-harness.ts';
import {
  type CliOptions,
  type Finished,
  folderWith,
  inProcess,
  nightWith,
  Program,
  type Started,
  testKey,
} from './cli.ts';
import { Served } from './served.ts';

/** A worker program that prints its job and does what the input says. */
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

/** Starts a service with an endpoint for remote workers, and a worker key for it. */
async function start(runs: Record<string, unknown> = { remote: true }) {
  const night = nightWith({ 'program.mjs': program });
  const { url, dataDir } = await openService({
    endpoints: [endpointSettings({ id: endpointId, workers: 0, retries: 1 }, runs)],
  });
  const key = addKey(dataDir, 'worker', [endpointId]);
  const argsOf = (args: string[]) => ['work', url, '--endpoint', endpointId, '--data', 'box', ...args];
  const env = { NIGHTRENDER_WORKER_KEY: key };
  return {
    night,
    url,
    dataDir,
    key,
    work: (...args: string[]) => startWork(argsOf([...args, '--json']), { cwd: night.cwd, env }),
    /** Runs the built program in both tiers. */
    workProgram: (...args: string[]) => night.with({ env }).program(...argsOf(args)),
    status: async (id: string) => (await askStatus(url, id)).json as AnswerOf<'status'>,
    done: async (input: Record<string, unknown>) => await untilEnded(url, await submit(url, input)),
  };
}

async function untilEnded(url: string, id: string): Promise<AnswerOf<'status'>> {
  for (;;) {
    const job = (await ask(url, `/v2/${endpointId}/status-sync/${id}`)).json as AnswerOf<'status'>;
    if (!job.status.startsWith('IN_')) return job;
  }
}

interface Working {
  /** Returns the output so far. */
  said(): string;
  signal(name: 'SIGINT' | 'SIGTERM'): void;
  finish(): Started;
}

/** Starts the built program, or in `npm test` the command within this process. It ends with the test. */
function startWork(args: string[], options: CliOptions): Working {
  return isWhole ? startProgram(args, options) : startHere(args, options);
}

function startProgram(args: string[], options: CliOptions): Working {
  const worker = new Program(args, options);
  return {
    said: () => worker.stdout + worker.stderr,
    signal: (name) => void worker.child.kill(name),
    finish: () => worker.finish(),
  };
}

/** Starts the command within this process. Signals reach only its own listeners. */
function startHere(args: string[], options: CliOptions): Working {
  const others = new Set([...process.listeners('SIGINT'), ...process.listeners('SIGTERM')]);
  const finished = inProcess(args, options);
  let result: Finished | undefined;
  const settled = finished.then(
    (end) => (result = end),
    () => undefined,
  );
  const signal: Working['signal'] = (name) => {
    for (const listener of process.listeners(name)) if (!others.has(listener)) listener(name);
  };
  onTestFinished(async () => {
    for (const name of ['SIGTERM', 'SIGTERM'] as const) signal(name);
    await settled;
  });
  const written = (stream: 'stdout' | 'stderr'): string =>
    result?.[stream] ??
    vi
      .mocked(process[stream].write)
      .mock.calls.map(([text]) => String(text))
      .join('');
  return { said: () => written('stdout') + written('stderr'), signal, finish: () => finished };
}

async function heard(worker: Working, text: string | RegExp): Promise<void> {
  await expect.poll(() => worker.said(), { interval: 10 }).toMatch(text);
}

it('a remote worker paints for a service, and ends in order when it has nothing to do', async () => {
  const { done, work } = await start();
  const worker = work('--allow', 'painter', '--idle', '1s');
  const job = await done({ scene: 'A lighthouse', width: 32, height: 32 });
  expect(job).toMatchObject({ status: 'COMPLETED', output: [{ rendered_image: expect.any(String) }] });
  await worker.finish().exits(0, 'Ended: there was nothing to do.');
});

it('a remote worker passes the given variables to its program', async () => {
  const { night, url, key, done } = await start();
  const args = [
    'work',
    url,
    '--endpoint',
    endpointId,
    '--data',
    'box',
    '--allow',
    'command:node program.mjs',
  ];
  const variables = { NIGHTRENDER_WORKER_KEY: key, CUDA_VISIBLE_DEVICES: '2' };
  const worker = startWork([...args, '--env', 'CUDA_VISIBLE_DEVICES,NONE'], {
    cwd: night.cwd,
    env: variables,
  });
  expect(await done({ a: 1 })).toMatchObject({ status: 'COMPLETED', output: { gpu: '2' } });
  worker.signal('SIGTERM');
  await worker.finish().exits(0);
});

it('a remote worker runs the program of its owner on the given GPU, and restarts it after a number of jobs', async () => {
  const { done, work } = await start();
  work('--allow', 'command:node program.mjs', '--gpu', '3', '--recycle', '1');
  const first = await done({ a: 1 });
  const second = await done({ a: 2 });
  expect(first).toMatchObject({ status: 'COMPLETED', output: { gpu: '3' } });
  expect(second.output).not.toEqual(first.output);
});

it('a remote worker finishes its job when it is told to end, and takes no other', async () => {
  const { night, url, status, workProgram } = await start();
  const worker = workProgram('--allow', 'command:node program.mjs');
  const until = night.path('go');
  const first = await submit(url, { until });
  await worker.says(/begins/);
  const second = await submit(url, { a: 1 });
  worker.child.kill('SIGTERM');
  writeFileSync(until, '');
  await worker.finish().exits(0);
  expect((await status(first)).status).toBe('COMPLETED');
  expect((await status(second)).status).toBe('IN_QUEUE');
});

it('a remote worker gives its job back at a second signal, which counts as no retry', async () => {
  const { night, url, status, workProgram } = await start();
  const worker = workProgram('--allow', 'command:node program.mjs');
  const until = night.path('go');
  const id = await submit(url, { until });
  await worker.says(/begins/);
  worker.child.kill('SIGINT');
  await worker.says(/Ending: this worker takes no more jobs/);
  worker.child.kill('SIGINT');
  await worker.finish().exits(0);
  expect(existsSync(until)).toBe(false);
  const given = await status(id);
  expect(given).toMatchObject({ status: 'IN_QUEUE' });
  expect(given).not.toHaveProperty('retries');
});

it('a remote worker retries a job whose program ended, then fails it with a message', async () => {
  const { done, work } = await start();
  work('--allow', 'command:node program.mjs');
  const job = await done({ exit: 7 });
  expect(job).toMatchObject({ status: 'FAILED', error: expect.stringContaining('7') });
  // The worker is restarted after two seconds.
  if (isWhole) expect((await done({ a: 1 })).status).toBe('COMPLETED');
});

it('a remote worker restarts a program that ended while it waited, before the next job, which counts as no retry', async () => {
  const { done, work } = await start();
  const worker = work('--allow', 'command:test -e first && exec node program.mjs; touch first');
  await heard(worker, 'ended');
  const job = await done({ a: 2 });
  expect(job).toMatchObject({ status: 'COMPLETED' });
  expect(job).not.toHaveProperty('retries');
});

it('a remote worker lets go of a job that is cancelled', async () => {
  const { night, url, done, work } = await start();
  const worker = work('--allow', 'command:node program.mjs');
  const id = await submit(url, { until: night.path('never') });
  await heard(worker, 'begins');
  await ask(url, `/v2/${endpointId}/cancel/${id}`, { method: 'POST' });
  expect((await done({ a: 1 })).status).toBe('COMPLETED');
});

it('a remote worker ends with a message if its key is revoked', async () => {
  const { dataDir, work } = await start();
  const worker = work('--allow', 'command:node program.mjs', '--idle', '10m');
  await heard(worker, 'Working for');
  revokeKey(dataDir, 'worker-0');
  await worker.finish().fails(2, 'The service refused this worker (401');
});

it('a remote worker runs only what its owner allows, of what the endpoint has', async () => {
  const { done, work } = await start({ quickDeploy: 'painter' });
  await work('--allow', 'command:echo a,b, image:me/worker:2')
    .finish()
    .fails(2, `--allow: the endpoint ${endpointId} runs painter, which is not allowed`);
  const worker = work('--allow', 'scene, image:me/worker:2');
  const job = await done({ scene: 'a hill', width: 32, height: 32 });
  expect(job).toMatchObject({ status: 'COMPLETED', output: [{ rendered_image: expect.any(String) }] });
  worker.signal('SIGTERM');
  await worker.finish().exits(0);
});

describe('a remote worker ends at once, in order and without a job to give back', () => {
  /** A server, and a function that resolves once a worker has sent a request to it. */
  const never: [
    what: string,
    begin: () => Promise<[url: string, asked: (worker: Working) => Promise<void>]>,
  ][] = [
    [
      'that is not there',
      () => Promise.resolve(['http://127.0.0.1:1', (worker) => heard(worker, /ECONNREFUSED/)]),
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
        return [`https://localhost:${port}`, (worker) => heard(worker, /self-signed certificate/)];
      },
    ],
    [
      'of which a page comes',
      async () => [
        (await scriptedServer(answer(200, '<p>Sign in</p>'))).url,
        (worker) => heard(worker, /Sign in/),
      ],
    ],
  ];

  async function startAt(allow: string, begin: (typeof never)[0][1]): Promise<Working> {
    const [url, asked] = await begin();
    const args = ['work', url, '--endpoint', 'farm', '--data', 'box', '--allow', allow];
    const worker = startWork(args, { cwd: folderWith({}), env: { NIGHTRENDER_WORKER_KEY: 'any-key' } });
    await asked(worker);
    return worker;
  }

  it.each(never)('for a service %s, with one workload or several', async (_, begin) => {
    for (const allow of ['painter', 'painter,scene']) {
      const worker = await startAt(allow, begin);
      worker.signal('SIGTERM');
      await worker.finish().exits(0, 'Ended: it was told to end.').warnsOnly('');
    }
  });

  it.each(never)('also at further signals, for a service %s', async (_, begin) => {
    const worker = await startAt('painter', begin);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) worker.signal(signal);
    await worker.finish().warnsOnly('');
  });

  it('while the driver of its GPUs hangs', async () => {
    const night = nightWith({
      'nvidia-smi': '#!/bin/sh\ntrap "" TERM\ntouch asked\nwhile :; do sleep 0.1; done\n',
    });
    chmodSync(night.path('nvidia-smi'), 0o755);
    const args = ['work', 'http://127.0.0.1:1', '--endpoint', 'farm', '--data', 'box', '--allow', 'painter'];
    const NIGHTRENDER_WORKER_KEY = 'any-key';
    const worker = startWork(args, {
      cwd: night.cwd,
      env: { NIGHTRENDER_WORKER_KEY, PATH: `${night.cwd}:${process.env['PATH']}` },
    });
    await expect.poll(() => night.has('asked')).toBe(true);
    worker.signal('SIGTERM');
    await worker.finish().exits(0);
  });

  rest.it('while the service is away', async () => {
    const night = nightWith({ 'service.yaml': 'endpoints:\n  - {name: Farm, remote: true, retries: 1}\n' });
    const service = await Served.start(night.cwd, ['service.yaml'], { NIGHTRENDER_API_KEY: testKey });
    const add = ['keys', 'add', 'box', '--kind', 'worker', '--endpoint', 'farm', '--data', 'service'];
    const env = { NIGHTRENDER_WORKER_KEY: (await night.built(...add)).stdout.trim() };
    const args = ['work', service.url, '--endpoint', 'farm', '--data', 'box', '--allow', 'painter'];
    const worker = night.with({ env }).program(...args);
    expect(await service.done('farm', { scene: 'a hill', width: 64, height: 64 })).toMatchObject({
      status: 'COMPLETED',
    });
    // The worker has a result to return, and waits for the service because of it.
    await worker.says(/is done/);
    await service.kill();
    await worker.says(/the service does not answer/);
    worker.child.kill('SIGTERM');
    await worker.finish().exits(0);
  });
});

it('a remote worker brings the result of one slot although the service refuses another slot for good', async () => {
  const ended = new Map([
    ['job-take', answerJson({ id: 'j1', input: {} })],
    ['job-done', inTurn(...Array<Script>(isWhole ? 4 : 1).fill(answer(503)), answerJson({ accepted: true }))],
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
    'command:node program.mjs',
    '--jobs',
    '2',
  ];
  const night = nightWith({ 'program.mjs': program });
  const worker = startWork(args, { cwd: night.cwd, env: { NIGHTRENDER_WORKER_KEY: 'any-key' } });
  await worker.finish().exits(2, 'job j1 is done (');
});

it('a remote worker returns the result of a job that wrote more than a report may contain', async () => {
  const { done, work } = await start();
  const lines = 'for (let line = 0; line < 1000; line++) console.error("é".repeat(2000));';
  work('--allow', `command:node -e '${lines}' ; node program.mjs`);
  expect(await done({ a: 1 })).toMatchObject({ status: 'COMPLETED' });
  expect(await done({ a: 2 })).toMatchObject({ status: 'COMPLETED' });
});

it('a remote worker says what is wrong with its arguments', async () => {
  const { url, key } = await start();
  const said = async (address: string, options: string[], given = key) => {
    const args = ['work', address, '--endpoint', endpointId, '--data', 'box', ...options];
    const night = nightWith({});
    const { stderr } = await night
      .with({ env: { NIGHTRENDER_WORKER_KEY: given } })
      .start(...args)
      .exits(2);
    return stderr;
  };
  expect(await said('http://render.example', [])).toContain('is not encrypted');
  expect(await said('render.example', [])).toContain('expected for example https://render.example');
  expect(await said(`${url}/v2/farm`, [])).toContain(`the service alone, ${url}`);
  expect(await said(url, ['--allow', 'diffusion'])).toContain('expected scene, image:NAME or command:LINE');
  expect(await said(url, ['--allow', 'painter,scene'])).toContain(
    'scene-renderer does not name its workload; allow only one',
  );
  expect(await said(url, ['--idle', 'soon'])).toContain('expected a duration such as 30s');
  expect(await said(url, [], '')).toContain('keys add NAME --kind worker');
  expect(await said(url, ['--allow', 'painter'], 'wrong')).toContain('refused this worker (401');
});
