/**
 * Promise: ComfyUI gets each scene as its own workflow, finds and cancels jobs by our ids, and missing nodes
 * or models stop the run.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it, onTestFinished } from 'vitest';
import { ByteSemaphore } from '../../../src/lib/limits.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { promptIdOf, type Workflow } from '../../../src/protocol/comfyui-workflow.ts';
import type { JobAtService } from '../../../src/runner/core/attempt.ts';
import { ComfyuiDialect } from '../../../src/runner/client/comfyui-dialect.ts';
import { HttpService } from '../../../src/runner/client/http-service.ts';
import { ReceivedFiles } from '../../../src/runner/client/received-files.ts';
import type { StatusReply, SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { startComfyStandIn, type ComfyStandIn } from '../../fakes/comfyui.ts';
import { emptyImage, saving, savingClips, sleeping } from '../../fakes/comfyui-workflows.ts';
import { send, sendJson } from '../../faults/answers.ts';
import { canary, ended, failure, withheld } from './client.ts';

const signal = new AbortController().signal;
const sha256 = 'a'.repeat(64);
const lost = { sentAt: 0, sentBy: 0, overWithinMs: 0, isTaken: async () => false };

interface Client {
  comfy: ComfyStandIn;
  service: HttpService;
  memory: ByteSemaphore;
  submit(key: string, set?: JsonObject): Promise<SubmitReply>;
  find(key: string, set?: JsonObject): Promise<SubmitReply>;
  /** Submits a job, and returns it as accepted. */
  job(key: string, set?: JsonObject): Promise<JobAtService>;
  /** Polls until the job has ended. */
  end(job: JobAtService): Promise<StatusReply>;
}

async function clientOf(
  workflow: Workflow = saving(emptyImage(1)),
  node?: string,
  media?: string,
): Promise<Client> {
  const comfy = await startComfyStandIn();
  const memory = new ByteSemaphore(128_000_000);
  const service = new HttpService({
    dialect: new ComfyuiDialect({ workflow, workflowSha256: sha256, node, media, files: undefined }),
    connectionOf: ({ baseUrl }) => ({ url: baseUrl, apiKey: canary }),
    requestTimeoutMs: 30_000,
    maxBodyBytes: 64_000_000,
    memory,
    received: new ReceivedFiles(mkdtempSync(join(tmpdir(), 'nightrender-clips-')), 64_000_000),
  });
  onTestFinished(() => service.close());
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  const submit = (key: string, set: JsonObject = {}) =>
    service.submit(endpoint, { workflow: sha256, set }, signal, key);
  return {
    comfy,
    service,
    memory,
    submit,
    find: (key, set = {}) => service.submit(endpoint, { workflow: sha256, set }, signal, key, lost),
    job: async (key, set) => {
      const reply = await submit(key, set);
      if (reply.kind !== 'accepted') return expect.fail(JSON.stringify(reply));
      const { jobId, kept } = reply;
      return { endpoint, jobId, ...(kept && { kept }) };
    },
    end: async (job) => {
      for (;;) {
        const reply = await service.status(job, signal);
        if (reply.kind !== 'running') return reply;
      }
    },
  };
}

async function colourOf(reply: StatusReply): Promise<number> {
  const [picture] = reply.kind === 'completed' ? reply.pictures : [];
  if (picture === undefined || !('bytes' in picture)) return expect.fail(JSON.stringify(reply));
  const [r = 0, g = 0, b = 0] = await sharp(picture.bytes).removeAlpha().raw().toBuffer();
  return (r << 16) | (g << 8) | b;
}

it('sends each scene as a workflow of its own, and collects its picture, seed and time', async () => {
  const { comfy, job, end } = await clientOf({
    ...saving(emptyImage(1)),
    3: { class_type: 'LatentCut', inputs: { seed: 1 } },
  });
  const set = { '1.color': 0x336699, '3.seed': '18446744073709551615' };
  const submitted = await job('scene 1', set);
  expect(submitted.jobId).toBe(promptIdOf('scene 1'));
  const reply = await end(submitted);
  expect(reply).toMatchObject({
    kind: 'completed',
    status: 'success',
    pictures: [{ seed: '18446744073709551615' }],
    executionTimeMs: expect.any(Number) as number,
  });
  expect(await colourOf(reply)).toBe(0x336699);
  const [sent = { body: '' }] = comfy.requests;
  expect(JSON.parse(sent.body)).toEqual({
    prompt: expect.objectContaining({
      1: { class_type: 'EmptyImage', inputs: { width: 8, height: 8, batch_size: 1, color: 0x336699 } },
      9: {
        class_type: 'SaveImage',
        inputs: { images: ['1', 0], filename_prefix: `nightrender/${submitted.jobId}` },
      },
    }) as object,
    prompt_id: submitted.jobId,
    client_id: 'nightrender',
    extra_data: {},
  });
});

const clips = savingClips(saving(emptyImage(1)), ['SaveVideo', 'VHS_VideoCombine', 'SaveAudio']);

it.each([
  ['video', ['mp4', 'gif']],
  ['audio', ['flac']],
  ['31', ['gif']],
])('collects clips with output.media: %s, and no pictures', async (media, endings) => {
  const { comfy, job, end } = await clientOf(clips, undefined, media);
  const reply = await end(await job('one'));
  expect(reply).toMatchObject({
    kind: 'completed',
    pictures: endings.map(() => ({ isClip: true, received: { length: expect.any(Number) as number } })),
  });
  const viewed = comfy.requests.flatMap(({ path }) => /filename=[^&]+\.(\w+)&/.exec(path)?.[1] ?? []);
  expect(viewed).toEqual(endings);
});

it('keeps a job that made only clips until output.media is set, and takes the picture of one that made both', async () => {
  const both = await clientOf(clips);
  expect(await both.end(await both.job('one'))).toMatchObject({ kind: 'completed', pictures: [{}] });
  const { job, end } = await clientOf(savingClips(emptyImage(1), ['SaveAudio']));
  expect(await end(await job('one'))).toMatchObject({
    kind: 'ended',
    failure: {
      kind: 'picture-not-found',
      text: 'no picture came from any node; node 30 saved a clip: set `output.media: audio` to save it',
      isOtherMedia: true,
    },
  });
  const other = await clientOf(saving(emptyImage(1)), undefined, 'video');
  expect(await other.end(await other.job('one'))).toMatchObject({
    failure: { kind: 'picture-not-found', text: 'no clip came from any node' },
  });
});

it('a job can be found under its own id, and under no other', async () => {
  const { comfy, service, submit } = await clientOf();
  const accepted = { kind: 'accepted', jobId: promptIdOf('one'), status: 'pending' };
  expect(await submit('one')).toEqual({ ...accepted, idempotencyMs: 86_400_000 });
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  const withoutKey = await service.submit(endpoint, { workflow: sha256, set: {} }, signal);
  expect(withoutKey).toEqual({ ...accepted, jobId: comfy.accepted[1]?.id });
  comfy.meet = (_, response) => (sendJson(response, { prompt_id: 'its-own', node_errors: {} }), true);
  expect(await submit('two')).toEqual({ ...accepted, jobId: 'its-own' });
});

it("sends the requested seed in the place of the scene's own, and of nothing else", async () => {
  const { comfy, service } = await clientOf({
    ...saving(emptyImage(1)),
    3: { class_type: 'LatentCut', inputs: { noise_seed: 1 } },
  });
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  const input = { workflow: sha256, set: { '1.color': 5, '3.noise_seed': 7 }, seed: 8 };
  expect(await service.submit(endpoint, input, signal, 'one')).toMatchObject({ kept: { seed: '8' } });
  expect(comfy.accepted[0]?.workflow).toMatchObject({
    1: { inputs: { color: 5 } },
    3: { inputs: { noise_seed: 8 } },
  });
});

it('two scenes of equal values each run, and each get their own file', async () => {
  const { comfy, job, end } = await clientOf();
  for (const key of ['one', 'two']) expect(await end(await job(key))).toMatchObject({ kind: 'completed' });
  expect(
    new Set(comfy.requests.map(({ path }) => path).filter((path) => path.startsWith('/view'))).size,
  ).toBe(2);
});

it('finds a submission whose answer was lost, in any state, and nothing if it never arrived', async () => {
  const { comfy, submit, find, job, end } = await clientOf();
  comfy.isHeld = true;
  comfy.lostAnswers = 2;
  for (const key of ['runs', 'waits']) expect(await submit(key)).toEqual(failure('unanswered'));
  for (const key of ['runs', 'waits'])
    expect(await find(key)).toEqual({
      kind: 'accepted',
      jobId: promptIdOf(key),
      status: 'pending',
      idempotencyMs: 86_400_000,
    });
  comfy.isHeld = false;
  await comfy.release();
  await end(await job('the last one'));
  expect(await find('runs')).toMatchObject({ kind: 'accepted', jobId: promptIdOf('runs') });
  expect(await find('never sent')).toMatchObject({ kind: 'not-found' });
  expect(comfy.accepted).toHaveLength(3);
  comfy.restart();
  await expect.poll(() => find('runs')).toMatchObject({ kind: 'not-found' });
});

it('refuses a scene that was listed with another workflow, and sends nothing', async () => {
  const { comfy, service } = await clientOf();
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  expect(await service.submit(endpoint, { workflow: 'b'.repeat(64), set: {} }, signal, 'one')).toEqual(
    failure('file-changed'),
  );
  expect(comfy.requests).toEqual([]);
});

it('distinguishes a node or a choice that is missing for every scene from one that this scene has set', async () => {
  const scaled = {
    ...saving(emptyImage(1)),
    2: { class_type: 'TestIntMathOperation', inputs: { a: 1, b: 2, operation: 'nope' } },
    1: { class_type: 'EmptyImage', inputs: { width: ['2', 0], height: 8, batch_size: 1, color: 1 } },
  };
  const { submit } = await clientOf(scaled);
  expect(await submit('two', { '2.operation': 'nor this' })).toEqual(failure('input-refused', 'nor this'));
  expect(await submit('one')).toEqual(failure('workflow-refused', "operation: 'nope' not in"));
  const other = await clientOf({ ...scaled, 2: { class_type: 'UltraUpscale', inputs: {} } });
  expect(await other.submit('one')).toEqual(failure('workflow-refused', 'UltraUpscale'));
});

it('a workflow that is accepted in part counts as refused, and no part of it runs', async () => {
  const second = { class_type: 'EmptyImage', inputs: { width: 0, height: 8, batch_size: 1, color: 1 } };
  const save = { class_type: 'SaveImage', inputs: { images: ['2', 0], filename_prefix: '' } };
  const { comfy, service, submit, job, end } = await clientOf({
    ...saving(emptyImage(1)),
    2: second,
    10: save,
  });
  comfy.isHeld = true;
  const before = await job('before', { '2.width': 8 });
  expect(await submit('one')).toEqual(failure('workflow-refused', 'node 2 (EmptyImage): Value 0 smaller'));
  expect(comfy.requests.filter(({ method, path }) => method === 'POST' && path === '/queue')).toHaveLength(1);
  comfy.isHeld = false;
  await comfy.release();
  await end(before);
  const [last] = comfy.accepted.slice(-1);
  expect(await service.status({ ...before, jobId: last?.id ?? '' }, signal)).toMatchObject(
    ended('job-cancelled'),
  );
});

it('sends no other workflow after one that is refused for a value that no scene sets', async () => {
  const { comfy, submit } = await clientOf({
    ...saving(emptyImage(1)),
    2: { class_type: 'Nope', inputs: {} },
  });
  for (const id of ['one', 'two'])
    expect(await submit(id)).toEqual(failure('workflow-refused', 'node Nope does not exist'));
  expect(comfy.requests.map(({ path }) => path)).toEqual(['/prompt']);
});

it('says that a part which ComfyUI took runs on, if it could not be cancelled', async () => {
  const { comfy, submit } = await clientOf();
  const answer = { prompt_id: 'its-own', node_errors: { 9: { errors: [], class_type: 'SaveImage' } } };
  comfy.meet = (path, response) => {
    if (path === '/prompt') sendJson(response, answer);
    else send(response, 500);
    return true;
  };
  expect(await submit('one')).toEqual(
    failure('workflow-refused', /node 9 \(SaveImage\): no reason.*may still run.*\/queue was answered 500/),
  );
});

it('stops the running job by its id, removes a waiting one, and touches nothing else', async () => {
  const { comfy, service, job, end } = await clientOf(sleeping(1, 'x', 60));
  const [first, second, third] = [await job('one'), await job('two'), await job('three')];
  expect(await service.cancel(second, signal)).toEqual({ kind: 'cancelled' });
  expect(await service.status(second, signal)).toMatchObject(ended('job-cancelled'));
  expect(await service.status(first, signal)).toMatchObject({ status: 'running' });
  expect(await service.cancel(first, signal)).toEqual({ kind: 'cancelled' });
  expect(await end(first)).toMatchObject(ended('job-cancelled', 'node 5 (TestSleep)'));
  expect(await service.status(third, signal)).toMatchObject({ status: 'running' });
  const interrupts = comfy.requests.filter(({ path }) => path === '/interrupt');
  expect(interrupts.map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ prompt_id: first.jobId }]);
});

it("repeats a stop that ComfyUI did not notice at the moment of the job's start", async () => {
  const { comfy, service, job, end } = await clientOf(sleeping(1, 'x', 60));
  const submitted = await job('one');
  const interrupts = () => comfy.requests.filter(({ path }) => path === '/interrupt').length;
  comfy.meet = (path, response) => path === '/interrupt' && interrupts() === 1 && (send(response, 200), true);
  expect(await service.cancel(submitted, signal)).toEqual({ kind: 'cancelled' });
  expect(await end(submitted)).toMatchObject(ended('job-cancelled'));
});

it('reports a job as not cancelled if its request failed', async () => {
  const { comfy, service, job } = await clientOf(sleeping(1, 'x', 60));
  const [runs, waits] = [await job('one'), await job('two')];
  comfy.meet = (_, response) => comfy.requests.at(-1)?.method === 'POST' && (send(response, 500), true);
  expect(await service.cancel(runs, signal)).toEqual(failure('poll-failed', '/interrupt was answered 500'));
  expect(await service.cancel(waits, signal)).toEqual(failure('poll-failed', '/queue was answered 500'));
  comfy.meet = (path, response) => path === '/queue' && (send(response, 401), true);
  expect(await service.cancel(runs, signal)).toEqual(failure('key-refused'));
});

it('ComfyUI is healthy if it answers for itself, even if it reports no queue', async () => {
  const { comfy, service } = await clientOf();
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  comfy.meet = (path, response) => path === '/queue' && (sendJson(response, {}), true);
  expect(await service.health(endpoint, signal)).toEqual({ kind: 'answers', idempotencyMs: 86_400_000 });
  comfy.meet = (path, response) => path === '/system_stats' && (send(response, 401), true);
  expect(await service.health(endpoint, signal)).toEqual(failure('key-refused'));
});

it('collects what all nodes have saved, or the one that is named, and previews if nothing is saved', async () => {
  const two = { ...saving(emptyImage(1)), 8: { class_type: 'PreviewImage', inputs: { images: ['1', 0] } } };
  const save = { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'x' } };
  const counts = async (workflow: Workflow, node?: string): Promise<unknown> => {
    const { comfy, job, end } = await clientOf(workflow, node);
    const reply = await end(await job('one'));
    const views = comfy.requests.filter(({ path }) => path.startsWith('/view')).map(({ path }) => path);
    return reply.kind === 'completed' ? views.map((path) => /type=(\w+)/.exec(path)?.[1]) : reply;
  };
  expect(await counts({ ...two, 10: save })).toEqual(['output', 'output']);
  expect(await counts({ ...two, 10: save }, '10')).toEqual(['output']);
  expect(await counts(two, '8')).toEqual(['temp']);
  expect(await counts({ ...emptyImage(1), 8: two[8] })).toEqual(['temp']);
  expect(await counts(two, '7')).toEqual(expect.objectContaining(ended('picture-not-found', 'node 7')));
});

it('holds memory for all pictures of a job until they are saved', async () => {
  const inputs = { width: 8, height: 8, batch_size: 2, color: 1 };
  const { comfy, job, end, memory } = await clientOf(saving({ 1: { class_type: 'EmptyImage', inputs } }));
  comfy.meet = (path, response) =>
    path.startsWith('/view') && (send(response, 200, Buffer.alloc(100_000)), true);
  const reply = await end(await job('one'));
  const share = reply.kind === 'completed' ? reply.share : undefined;
  expect(share?.bytes).toBe(200_000);
  expect(memory.tryTake(128_000_000)).toBe(false);
  share?.release();
  let views = 0;
  comfy.meet = (path, response) =>
    path.startsWith('/view') && (send(response, views++ === 0 ? 200 : 502, Buffer.alloc(100_000)), true);
  expect(await end(await job('two'))).toEqual(
    withheld('download-failed', /_00002_\.png of node 9 was answered 502$/),
  );
  expect(memory.tryTake(128_000_000)).toBe(true);
});

it('sends the key of a proxy with every request, and repeats it in no reply', async () => {
  const { comfy, service, submit, job, end } = await clientOf();
  const submitted = await job('one');
  await end(submitted);
  await service.health(submitted.endpoint, signal);
  expect(comfy.requests.map(({ path }) => path)).toContainEqual(expect.stringContaining('/view'));
  expect(new Set(comfy.requests.map(({ key }) => key))).toEqual(new Set([`Bearer ${canary}`]));
  for (const status of [302, 400, 403, 500]) {
    comfy.meet = (_, response) => {
      const echoed = JSON.stringify({ error: `no such key: ${canary}` });
      send(response, status, echoed, { location: `/login?key=${encodeURIComponent(canary)}` });
      return true;
    };
    const replies = [
      await submit('two'),
      await service.status(submitted, signal),
      await service.cancel(submitted, signal),
      await service.health(submitted.endpoint, signal),
    ];
    expect(JSON.stringify(replies)).not.toContain(canary);
    expect(JSON.stringify(replies)).not.toContain(encodeURIComponent(canary));
    expect(JSON.stringify(replies)).toContain('[key]');
  }
});

it('names nodes and models that a ComfyUI lacks, and starts nothing', async () => {
  const workflow: Workflow = {
    ...saving(emptyImage(1)),
    4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'sd.safetensors' } },
    5: { class_type: 'LatentCut', inputs: { dim: 'x', samples: ['4', 0] } },
    6: { class_type: 'VAELoader', inputs: { vae_name: 'sd.pt' } },
    7: { class_type: 'UltraUpscale', inputs: {} },
  };
  const { comfy, service } = await clientOf(workflow);
  const endpoint = { baseUrl: comfy.url, id: '', version: 'comfyui' };
  expect(await service.problems(endpoint, { set: { '5.dim': 'z' } }, signal)).toEqual([
    'node 4 (CheckpointLoaderSimple): this ComfyUI does not have "sd.safetensors" for ckpt_name; it has "v1-5-pruned-emaonly-fp16.safetensors"',
    'node 5 (LatentCut): this ComfyUI does not have "z" for dim; it has "x", "y", "t"',
    'node 6 (VAELoader): this ComfyUI does not have "sd.pt" for vae_name; it has none',
    'node 7 (UltraUpscale): this ComfyUI has no such node; install it there',
  ]);
  expect(comfy.accepted).toEqual([]);
  comfy.meet = (_, response) => (send(response, 500), true);
  expect(await service.problems(endpoint, {}, signal)).toMatchObject({ kind: 'poll-failed' });
});
