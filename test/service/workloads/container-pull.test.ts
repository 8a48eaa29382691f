/** Promise: a worker in a container finds its jobs and returns results, in any programming language. */
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { containerWorkload } from '../../../src/service/workloads/container-workload.ts';
import { workerEnvironment } from '../../../src/service/workloads/worker-environment.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import { prepareWithPython, testImage } from './container-image.ts';

const { prepared, python, skipped } = await prepareWithPython();

/** Starts a queue that gives out each job once and records the results. */
async function startQueue(jobs: object[]) {
  const handedIn: unknown[] = [];
  const keys = new Set<string | undefined>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    keys.add(request.headers.authorization);
    const { pathname } = new URL(request.url ?? '/', 'http://queue');
    if (request.method === 'POST') handedIn.push([pathname, JSON.parse(await text(request))]);
    const job = pathname === '/v2/endpoint/job-take/worker-1' ? jobs.shift() : undefined;
    response.writeHead(job === undefined ? 204 : 200, { 'content-type': 'application/json' });
    response.end(job === undefined ? undefined : JSON.stringify(job));
  };
  const server = createServer((request, response) => void answer(request, response));
  return { baseUrl: await listenOnLoopback(server), handedIn, keys };
}

it.skipIf(skipped !== '')(
  `a container worker takes its jobs, answers them and is stopped ${skipped}`,
  async () => {
    if (typeof prepared === 'string' || python === undefined) return;
    const queue = await startQueue([
      { id: 'a', input: { scene: 'Ä 🎨' } },
      { id: 'b', input: { error: 'no' } },
    ]);
    const worker = resolve(import.meta.dirname, '../../fixtures/pull-worker.py');
    const folders = ['/usr', '/lib', '/lib64', python.folder, dirname(worker)];
    const mounted = [...new Set(folders)].filter((folder) => existsSync(folder));
    const identity = { endpointId: 'endpoint', workerKey: 'key-1', gpuName: null, baseUrl: queue.baseUrl };
    const workload = containerWorkload({
      pullEnvironment: (workerId) => workerEnvironment({ ...identity, workerId }),
      tool: prepared.tool,
      serviceId: 'service-1',
      endpointId: 'endpoint',
      image: testImage,
      arguments: mounted.map((folder) => `--volume=${folder}:${folder}:ro`),
      environment: { SCRIPT: `exec ${python.program} ${worker}` },
    });
    const log: string[] = [];
    const container = await workload.startPullWorker({
      workerId: 'worker-1',
      log: (line) => log.push(line),
    });
    onTestFinished(() => container.stop());
    await expect.poll(() => log).toContain('handed in b');
    expect(queue.handedIn).toEqual([
      ['/v2/endpoint/job-done/worker-1/a', { output: { worker: 'worker-1', input: { scene: 'Ä 🎨' } } }],
      ['/v2/endpoint/job-done/worker-1/b', { error: 'no' }],
    ]);
    expect([...queue.keys]).toEqual(['key-1']);
    await container.stop();
    expect(await container.ended).toBe('the container was stopped');
  },
);
