/**
 * Promise: a batch works the same with every service. Runs the contract of `RenderService` on each implementation, and
 * on a real endpoint if the environment names one.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { RenderService, StatusReply } from '../../src/runner/pipeline/ports.ts';
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { imagesOf } from '../fakes/comfyui-nodes.ts';
import { emptyImage, failing, saving } from '../fakes/comfyui-workflows.ts';
import { FakeService } from '../fakes/fake-service.ts';
import { startStandIn } from '../e2e/stand-ins.ts';
import { retentionMs } from '../fakes/service-jobs.ts';
import { endpointId, key, openService, type TestService } from '../service/service-harness.ts';
import { complaint, renderServiceContract, type World } from './render-service.contract.ts';
import { openAt, openComfyui } from './spoken-services.ts';

const picture = {
  base64: Buffer.from('a picture, as far as the service knows').toString('base64'),
  seed: '7',
};

renderServiceContract('the stand-in in memory', async (ending): Promise<World> => {
  let now = 0;
  const failure = { kind: 'job-failed', text: complaint } as const;
  const service = new FakeService(
    () => now,
    () => ({ queueMs: 10, executionMs: 10, pictures: [picture], ...(ending === 'failure' && { failure }) }),
  );
  service.knowsKeysMs = retentionMs;
  const passTime = async (): Promise<void> => void (now += 10);
  return {
    service,
    endpoint: { baseUrl: 'https://service.example', id: endpointId, version: 'v2' },
    picture,
    knowsKeys: true,
    begin: passTime,
    complete: passTime,
    fail: passTime,
    scenesTaken: async () => service.jobs.map(({ scene }) => scene),
  };
});

renderServiceContract('HTTP and the stand-in', async (ending): Promise<World> => {
  let now = 0;
  const output = [{ rendered_image: picture.base64, seed: Number(picture.seed) }];
  const failed = { status: 'FAILED', error: complaint };
  const end = () => (ending === 'failure' ? failed : { status: 'COMPLETED', output });
  const plan = () => ({ queueMs: 10, executionMs: 10, end });
  const { url, jobs } = await startStandIn({ now: () => now, plan });
  jobs.knowsKeysMs = retentionMs;
  const passTime = async (): Promise<void> => void (now += 10);
  return {
    service: clientOf(url, key),
    endpoint: { baseUrl: url, id: endpointId, version: 'v2' },
    picture,
    knowsKeys: true,
    begin: passTime,
    complete: passTime,
    fail: passTime,
    scenesTaken: async () => jobs.all.map(({ scene }) => scene),
  };
});

renderServiceContract('ComfyUI and its stand-in', async (ending): Promise<World> => {
  const comfy = await startComfyStandIn();
  comfy.complaint = complaint;
  comfy.isHeld = true;
  const workflow = ending === 'failure' ? failing(1, 'x') : saving(emptyImage(1));
  // The only worker is busy with another job at first.
  const prompt = saving(emptyImage(2));
  await fetch(`${comfy.url}/prompt`, { method: 'POST', body: JSON.stringify({ prompt }) });
  const goOn = (): Promise<void> => comfy.release();
  return {
    ...openComfyui(comfy.url, workflow, 3),
    picture: { bytes: (await imagesOf(saving(emptyImage(3)), '9'))[0] ?? Buffer.of(), isDownloaded: true },
    begin: goOn,
    complete: goOn,
    fail: goOn,
    scenesTaken: async () =>
      comfy.accepted.slice(1).map(({ workflow: { 1: node } }) => node?.inputs['color']),
  };
});

for (const version of ['v2', 'v1'] as const) {
  renderServiceContract(`HTTP ${version} and the local service`, () => openLocal(version));
}

type HeldRun = Awaited<ReturnType<TestService['held']['next']>>;

/** Opens a local service whose only worker is busy with another job at first. */
async function openLocal(version: Endpoint['version']): Promise<World> {
  const { url, held } = await openService();
  const endpoint: Endpoint = { baseUrl: url, id: endpointId, version };
  const service = clientOf(url, key);
  const signal = new AbortController().signal;
  let run: HeldRun | undefined;
  await service.submit(endpoint, { scene: 'the one before' }, signal);
  const before = await held.next();
  const statusIs = async (status: string): Promise<void> => {
    const id = run?.job.id ?? '';
    let reply: StatusReply | undefined;
    while (reply === undefined || !('status' in reply) || reply.status !== status) {
      reply = await service.status({ endpoint, jobId: id }, signal);
    }
  };
  return {
    service,
    endpoint,
    picture,
    knowsKeys: true,
    begin: async () => {
      before.complete([1]);
      run = await held.next();
    },
    complete: async () => {
      run?.complete([{ rendered_image: picture.base64, seed: Number(picture.seed) }]);
      await statusIs('COMPLETED');
    },
    fail: async () => {
      run?.fail(new Error(complaint));
      await statusIs('FAILED');
    },
    // The worker takes jobs in order, so all jobs before the last one are found.
    scenesTaken: async () => {
      await service.submit(endpoint, { scene: 'the last one' }, signal);
      before.complete([1]);
      const scenes: unknown[] = [];
      for (;;) {
        const next = await held.next();
        if (next.job.input['scene'] === 'the last one') return scenes;
        scenes.push(next.job.input['scene']);
        next.complete([1]);
      }
    },
    withWrongKey: clientOf(url, `not-${key}`),
  };
}

const { env } = process;
const real = {
  baseUrl: env['NIGHTRENDER_TEST_BASE_URL'],
  id: env['NIGHTRENDER_TEST_ENDPOINT'],
  apiKey: env['NIGHTRENDER_TEST_API_KEY'],
};
const missing = Object.values(real).some((value) => value === undefined || value === '');
const reason =
  'skipped without NIGHTRENDER_TEST_BASE_URL, NIGHTRENDER_TEST_ENDPOINT and NIGHTRENDER_TEST_API_KEY';

it.skipIf(missing)(
  `a real endpoint takes one job and completes it (${reason})`,
  async () => {
    const { baseUrl = '', id = '', apiKey = '' } = real;
    const service = clientOf(baseUrl, apiKey);
    const endpoint: Endpoint = { baseUrl, id, version: 'v2' };
    const signal = new AbortController().signal;
    expect(await service.status({ endpoint, jobId: 'no-such-job' }, signal)).toMatchObject({
      kind: 'missing',
    });
    expect(await clientOf(baseUrl, 'no-key-at-all').status({ endpoint, jobId: 'any' }, signal)).toMatchObject(
      {
        failure: { kind: 'key-refused' },
      },
    );
    expect(await service.cancel({ endpoint, jobId: 'no-such-job' }, signal)).not.toMatchObject({
      kind: 'failure',
    });
    expect(await service.health(endpoint, signal)).not.toMatchObject({ kind: 'failure' });
    const submitted = await service.submit(endpoint, { scene: 'a hill under two moons' }, signal);
    expect(submitted).toMatchObject({ kind: 'accepted' });
    const jobId = submitted.kind === 'accepted' ? submitted.jobId : '';
    let reply: StatusReply = { kind: 'running', status: '', isExecuting: false };
    while (reply.kind === 'running' || reply.kind === 'missing' || reply.kind === 'failure') {
      await wait(2_000);
      reply = await service.status({ endpoint, jobId }, signal);
    }
    expect(reply).toMatchObject({ kind: 'completed', status: 'COMPLETED' });
  },
  30 * 60_000,
);

function clientOf(url: string, apiKey: string): RenderService {
  return openAt('jobs', url, { apiKey }).client;
}
