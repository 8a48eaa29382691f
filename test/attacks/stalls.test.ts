/**
 * Promise: a machine with many pictures, a service that answers at once, and 256 submitting connections do
 * not delay other work.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import { packageFile } from '../../src/lib/files/package-file.ts';
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { emptyImage, saving } from '../fakes/comfyui-workflows.ts';
import { answer, answerJson, scriptedServer } from '../fakes/scripted-server.ts';
import { addKey } from '../service/pull-harness.ts';
import { folderWith, nightWith, Program, testKey } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

function peakBytes({ child }: Program): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

it.skipIf(process.platform !== 'linux')(
  'a ComfyUI job with 400 pictures of 5 MB fails with a message once they pass a result, and takes no memory (skipped if there is no /proc)',
  async () => {
    const save = saving(emptyImage(1))['9'];
    const nodes = Array.from({ length: 400 }, (_, index) => [String(20 + index), save]);
    const flow = { ...emptyImage(1), ...(Object.fromEntries(nodes) as Workflow) };
    const comfy = await startComfyStandIn();
    const picture = Buffer.alloc(5_000_000, 'x');
    let viewed = 0;
    comfy.meet = (path, response) => {
      if (!path.startsWith('/view')) return false;
      viewed += 1;
      response.end(picture);
      return true;
    };
    const cwd = folderWith({
      'service.yaml': `endpoints: [{name: Box, comfyui: {url: '${comfy.url}', workflow: flow.json, set: {'1.color': '{{ color }}'}}}]`,
      'flow.json': JSON.stringify(flow),
    });
    const served = await Served.start(cwd, ['service.yaml'], env);
    const before = peakBytes(served.program);
    const job = await served.done('box', { color: 1 });
    expect(job.status).toBe('FAILED');
    expect(job.error).toMatch(/the result would exceed \d+ bytes with picture \d+ of 400/);
    expect(viewed).toBeLessThan(40);
    // All pictures together have 2 GB.
    expect(peakBytes(served.program) - before).toBeLessThan(800_000_000);
    await served.stop();
  },
);

it('`work` asks a service that answers 204 at once less and less often', async () => {
  const report = answerJson({ drain: false, jobs: [], runs: null });
  const server = await scriptedServer((socket, request) =>
    (request.path.includes('job-take') ? answer(204) : report)(socket, request),
  );
  const args = [
    'work',
    server.url,
    '--endpoint',
    'farm',
    '--data',
    'box',
    '--allow',
    'painter',
    '--idle',
    '6s',
  ];
  const worker = nightWith({})
    .with({ env: { NIGHTRENDER_WORKER_KEY: 'any-key' } })
    .program(...args);
  await worker.finish().exits(0, 'there was nothing to do');
  const takes = server.requests.filter(({ path }) => path.includes('job-take'));
  expect(takes.length).toBeGreaterThan(1);
  // Without the pauses it asked 4,700 times a second.
  expect(takes.length).toBeLessThan(30);
});

it('two workers finish jobs while 256 connections submit', async () => {
  const cwd = folderWith({
    'service.yaml': 'limits: {maxQueued: 1000000}\nendpoints: [{name: Scene renderer, remote: true}]',
    ids: '',
  });
  const served = await Served.start(cwd, ['service.yaml'], env);
  const data = {
    clientKeys: [testKey],
    workerKey: addKey(join(cwd, 'service'), 'worker'),
    idsFile: join(cwd, 'ids'),
  };
  const load = (kind: 'submit' | 'pull', connections: number, requests: number) => {
    const traffic = { url: served.url, kind, data, connections, requests };
    const child = spawn(process.execPath, [
      packageFile('dist/test/bench/serve-load.js'),
      JSON.stringify(traffic),
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return new Promise<number | null>((ended) => child.once('exit', ended));
  };
  void load('submit', 256, 1_000_000);
  expect(await load('pull', 2, 500)).toBe(0);
  const { jobs } = (await (await served.ask('/v2/scene-renderer/health')).json()) as {
    jobs: { inQueue: number; completed: number };
  };
  expect(jobs.completed).toBe(500);
  // Without turns for workers they finished one job per 190 submissions.
  expect(jobs.inQueue).toBeLessThan(60 * jobs.completed);
  await served.kill();
});
