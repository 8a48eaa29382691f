/** Starts programs of the public Python SDK, and the service for them. */
import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { workerEnvironment } from '../../src/service/workloads/worker-environment.ts';
import { folderWith, nightWith, root, testKey } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';

const python = process.env['NIGHTRENDER_FOREIGN_PYTHON'] ?? 'python3';
const path = process.env['NIGHTRENDER_FOREIGN'];

type PythonProcess = ChildProcessByStdio<Writable, Readable, null>;

function lackOf(): string | undefined {
  if (path === undefined) return 'NIGHTRENDER_FOREIGN names no checkout of the SDK';
  const { status, stderr } = spawnSync(python, ['-c', 'import runpod'], {
    env: environment({}),
    encoding: 'utf8',
  });
  return status === 0 ? undefined : `the SDK cannot be imported: ${stderr.trim().split('\n').at(-1)}`;
}

/** Reason why these tests cannot run. Undefined if they can. */
export const lack = lackOf();

function environment(more: Record<string, string>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, PYTHONPATH: path ?? '', PYTHONUNBUFFERED: '1', ...more };
}

/** Starts a Python program. The program and its child processes end with the test. */
function startPython(script: string, env: Record<string, string>, args: string[] = []): PythonProcess {
  const child = spawn(python, [join(root, 'test/foreign', script), ...args], {
    // The program writes files into its working directory.
    cwd: folderWith({}),
    env: environment(env),
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  onTestFinished(() => kill(child));
  return child;
}

/** Kills the process and its child processes. */
export function kill({ pid }: ChildProcess): void {
  spawnSync('kill', ['-KILL', '--', `-${pid}`], { stdio: 'ignore' });
}

export class Client {
  readonly #process: PythonProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(url: string) {
    this.#process = startPython('client.py', {
      RUNPOD_ENDPOINT_BASE_URL: `${url}/v2`,
      RUNPOD_API_KEY: testKey,
    });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  async call(name: string, argument: unknown = null): Promise<unknown> {
    this.#process.stdin.write(`${JSON.stringify([name, argument])}\n`);
    const { value } = (await this.#lines.next()) as { value: string };
    return JSON.parse(value) as unknown;
  }
}

/** Starts a worker. `args` are arguments of the SDK. */
export function startWorker(env: Record<string, string>, args: string[] = []): PythonProcess {
  // The checks of the SDK need internet access and gigabytes of free memory.
  const unchecked = { RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: 'true', RUNPOD_SKIP_GPU_CHECK: 'true' };
  const worker = startPython('worker.py', { ...env, ...unchecked, RUNPOD_PING_INTERVAL: '1000' }, args);
  worker.stdout.resume();
  return worker;
}

/** Returns a function that gives all output from now on. */
export function heardOf({ stdout }: PythonProcess): () => string {
  let text = '';
  stdout.on('data', (part) => (text += String(part)));
  return () => text;
}

export async function start(file = 'endpoints: [{name: Farm, remote: true, retries: 1}]\n') {
  const night = nightWith({ 'service.yaml': file });
  const service = await Served.start(night.cwd, ['service.yaml'], { NIGHTRENDER_API_KEY: testKey });
  const args = ['keys', 'add', 'box', '--kind', 'worker', '--endpoint', 'farm', '--data', 'service'];
  const workerKey = (await night.built(...args)).stdout.trim();
  const work = (HANDLER: string, workerId = 'gpu-1.example.org:0', baseUrl = service.url) =>
    startWorker({
      ...workerEnvironment({ baseUrl, endpointId: 'farm', workerId, workerKey, gpuName: null }),
      HANDLER,
    });
  const done = (input: object) => service.done('farm', input);
  return { cwd: night.cwd, service, workerKey, work, done, client: () => new Client(service.url) };
}
