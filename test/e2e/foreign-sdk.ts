/** The public Python SDK of such services, from a checkout: its worker and its client as processes. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { workerEnvironment } from '../../src/service/workloads/worker-environment.ts';
import { endpointId, key } from '../service/service-harness.ts';

export const checkout = process.env['NIGHTRENDER_FOREIGN'];
const python = process.env['NIGHTRENDER_FOREIGN_PYTHON'] ?? 'python3';

export type Handler = 'plain' | 'async' | 'stream' | 'async-stream' | 'pair';

export interface ForeignProcess {
  child: ChildProcess;
  /** What it has written so far. */
  said: () => string;
}

/** `url`: of the service, or of what hands on to it. It and what it has started end with the test. */
export function foreignWorker(
  url: string,
  workerKey: string,
  workerId: string,
  handler: Handler,
): ForeignProcess {
  const identity = { baseUrl: url, endpointId, workerId, workerKey, gpuName: 'TEST' };
  return started([], handler, { ...workerEnvironment(identity), RUNPOD_PING_INTERVAL: '1000' });
}

export function foreignDevelopmentServer(port: number, picture: string): ForeignProcess {
  return started(['--rp_serve_api', '--rp_api_port', String(port)], 'plain', { PICTURE: picture });
}

function started(more: string[], handler: Handler, env: Record<string, string>): ForeignProcess {
  // Of a process group of its own: its pings come from a process that outlives it.
  const child = spawn(python, [pathOf('foreign-worker.py'), ...more], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...baseEnv(),
      ...env,
      HANDLER: handler,
      // They want the internet and gigabytes of free memory.
      RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: 'true',
      RUNPOD_SKIP_GPU_CHECK: 'true',
    },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (text += String(part)));
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // None of them lives.
    }
  });
  return { child, said: () => text };
}

/** What one operation of the client returns. */
export async function foreignClient(url: string, operation: string, input: object): Promise<unknown> {
  const env = { ...baseEnv(), ENDPOINT: endpointId, KEY: key, RUNPOD_ENDPOINT_BASE_URL: `${url}/v2` };
  const ended = promisify(execFile)(python, [pathOf('foreign-client.py'), operation], {
    env,
    maxBuffer: 64_000_000,
  });
  ended.child.stdin?.end(JSON.stringify(input));
  return JSON.parse((await ended).stdout) as unknown;
}

function baseEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: '/nonexistent', PYTHONPATH: checkout, PYTHONUNBUFFERED: '1' };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}
