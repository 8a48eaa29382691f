/**
 * Promise: machines with ComfyUI work as workers. A job is completed, fails with a message, is cancelled by
 * its id, or returns to the queue if its machine is lost.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it, onTestFinished, vi } from 'vitest';
import { textOf, type Workflow } from '../../../src/protocol/comfyui-workflow.ts';
import { comfyuiWorkload, type ComfyuiOptions } from '../../../src/service/workloads/comfyui-workload.ts';
import {
  outputText,
  WorkerAway,
  WorkerDied,
  type Workload,
} from '../../../src/service/workloads/workload-definition.ts';
import { startComfyStandIn, type ComfyStandIn } from '../../fakes/comfyui.ts';
import { clip } from '../../fakes/clips.ts';
import { emptyImage, failing, saving, savingClips, sleeping } from '../../fakes/comfyui-workflows.ts';
import { unusedPort } from '../../e2e/listen-on-loopback.ts';
import { reset, send, sendJson } from '../../faults/answers.ts';
import { makeFolder, start, type StartedWorker } from './started-worker.ts';

const set = { '1.color': '{{ color }}' };

async function workloadOf(
  boxes: { url: string }[],
  workflow: Workflow = saving(emptyImage(1)),
  options: Partial<ComfyuiOptions> = {},
): Promise<Workload> {
  const file = join(await makeFolder(), 'flow.json');
  writeFileSync(file, JSON.stringify(workflow));
  return comfyuiWorkload({ urls: boxes.map(({ url }) => url), workflow: file, set, pollMs: 1, ...options });
}

async function boxOf(
  workflow?: Workflow,
  options?: Partial<ComfyuiOptions>,
): Promise<{ comfy: ComfyStandIn; worker: StartedWorker; workload: Workload }> {
  const comfy = await startComfyStandIn();
  const workload = await workloadOf([comfy], workflow, options);
  return { comfy, workload, worker: await start(workload) };
}

/** Waits until a request for this path was received. */
async function asked(comfy: ComfyStandIn, path: string): Promise<void> {
  await expect.poll(() => comfy.requests.map((request) => request.path)).toContain(path);
}

function away(comfy: ComfyStandIn): void {
  comfy.meet = (_, response) => {
    reset(response);
    return true;
  };
}

it('a ComfyUI worker does one job after another, each with files of its own', async () => {
  const { comfy, worker } = await boxOf();
  for (const [id, color] of [
    ['a', 0x00ff00],
    ['b', 0x0000ff],
  ] as const) {
    const { images } = (await worker.job({ color }, id).output) as {
      images: { filename: string; type: string; data: string }[];
    };
    expect(images).toMatchObject([{ filename: expect.stringMatching(/\.png$/), type: 'base64' }]);
    const [r = 0, g = 0, b = 0] = await sharp(Buffer.from(images[0]?.data ?? '', 'base64'))
      .raw()
      .toBuffer();
    expect((r << 16) | (g << 8) | b).toBe(color);
  }
  const prefixes = comfy.accepted.map(({ workflow }) => workflow['9']?.inputs['filename_prefix']);
  expect(new Set(prefixes).size).toBe(2);
  expect(worker.log).toEqual([`ComfyUI 0.3.64 at ${comfy.url}`]);
});

it('a ComfyUI worker returns clips beside pictures, each kind in a list of its own, and no previews of them', async () => {
  const workflow = savingClips(saving(emptyImage(1)), ['SaveVideo', 'VHS_VideoCombine', 'SaveAudio']);
  const preview = { class_type: 'PreviewImage', inputs: { images: ['1', 0] } };
  const { comfy, worker } = await boxOf({ ...workflow, 8: preview });
  type File = { filename: string; data: string };
  const output = (await worker.job({}).output) as Record<string, File[]>;
  const endings = Object.entries(output).map(([list, files]) => [
    list,
    files.map(({ filename }) => filename.split('.').at(-1)),
  ]);
  expect(endings).toEqual([
    ['images', ['png']],
    ['videos', ['mp4', 'gif']],
    ['audio', ['flac']],
  ]);
  const [video] = output['videos'] ?? [];
  const prefix = textOf(comfy.accepted[0]?.workflow['30']?.inputs['filename_prefix']);
  const whole = clip('MP4', { mark: `${prefix} 30` });
  expect(whole.equals(Buffer.from(video?.data ?? '', 'base64'))).toBe(true);
  const only = await boxOf(savingClips(emptyImage(1), ['SaveAudio']));
  expect(await only.worker.job({}).output).toMatchObject({ audio: [{ type: 'base64' }] });
});

it('a ComfyUI worker sets the values of the input, and leaves the rest of the workflow', async () => {
  const text = saving({ ...emptyImage(7), 6: { class_type: 'LatentCut', inputs: { dim: 'x', seed: 3 } } });
  const all = { ...set, '6.dim': 'a {{ kind }} of {{ n }}', '6.seed': '{{ seed }}', '1.width': 9 };
  const { comfy, worker } = await boxOf(text, { set: all });
  const seed = '18446744073709551615';
  const { signal } = new AbortController();
  const quiet = { signal, progress: async () => undefined, stream: async () => undefined };
  const job = { id: 'a', inputText: `{"seed": ${seed}, "kind": "sort"}`, s3Config: null };
  const output = outputText(await worker.run(job, quiet)).toString();
  expect(JSON.parse(output)).toMatchObject({ images: [{}], seed });
  await worker.job({ kind: 'sort', n: 2 }, 'b').output;
  const [first, second] = comfy.accepted.map(({ workflow }) => [
    workflow['1']?.inputs,
    workflow['6']?.inputs,
  ]);
  expect(first).toMatchObject([
    { color: 7, width: 9 },
    { dim: 'x', seed },
  ]);
  expect(second).toMatchObject([{}, { dim: 'a sort of 2', seed: 3 }]);
});

it('a ComfyUI worker downloads no more pictures once they are larger than a result may be', async () => {
  const nodes = Object.fromEntries(
    Array.from({ length: 6 }, (_, index) => [`${20 + index}`, saving(emptyImage(1))['9']] as const),
  ) as Workflow;
  const { comfy, worker } = await boxOf({ ...saving(emptyImage(1)), ...nodes }, { maxBytes: 1_000 });
  const failed = /^the result would exceed 1000 bytes with picture (\d) of 7 \(.+\.png\)$/;
  await expect(worker.job({}).output).rejects.toThrow(failed);
  const viewed = comfy.requests.filter(({ path }) => path.startsWith('/view')).length;
  expect(viewed).toBeGreaterThan(1);
  expect(viewed).toBeLessThan(7);
  // The next job is done as usual.
  const { worker: roomy } = await boxOf({ ...saving(emptyImage(1)), ...nodes });
  expect(((await roomy.job({}).output) as { images: unknown[] }).images.length).toBe(7);
});

it.each([
  [{ colour: 1 }, 'the input has "colour"; did you mean color?'],
  [{ steps: 1 }, 'the input has "steps"; expected color'],
  [{ color: ['9', 0] }, '"color" of the input is not a text, number, true or false'],
])('a ComfyUI worker refuses the input %j', async (input, text) => {
  const { comfy, worker } = await boxOf();
  await expect(worker.job(input).output).rejects.toThrow(text);
  expect(comfy.accepted).toEqual([]);
});

it('a ComfyUI worker fails the job with the node that failed and its message', async () => {
  const { worker } = await boxOf(failing(1, 'x'));
  const { output } = worker.job({});
  await expect(output).rejects.toThrow(/node 5 \(TestSyncError\): RuntimeError: Intentional sync/);
  await expect(output).rejects.not.toBeInstanceOf(WorkerDied);
});

it('a ComfyUI worker fails the job if ComfyUI refuses its workflow', async () => {
  const { worker } = await boxOf();
  await expect(worker.job({ color: -1 }).output).rejects.toThrow(
    'ComfyUI refused what the input sets: node 1 (EmptyImage): Value -1 smaller than min of 0 (color)',
  );
});

it('a ComfyUI worker fails the job if a part of its workflow is refused, and has the rest stopped', async () => {
  const bad = { class_type: 'EmptyImage', inputs: { width: 0, height: 8, batch_size: 1, color: 0 } };
  const save = { class_type: 'SaveImage', inputs: { images: ['2', 0], filename_prefix: 'x' } };
  const { comfy, worker } = await boxOf({ ...sleeping(1, 'x', 9), 2: bad, 3: save });
  await expect(worker.job({}).output).rejects.toThrow(/refused the workflow: node 2 \(EmptyImage\)/);
  await comfy.release();
  expect(await historyOf(comfy)).toMatch(/execution_interrupted/);
});

it('a ComfyUI worker fails the job if a part of its workflow is refused and its box does not stop the rest in time', async () => {
  const { comfy, worker } = await boxOf(undefined, { cancelMs: 20 });
  const errors = { '9': { class_type: 'SaveImage', errors: [{ message: 'no images', details: '' }] } };
  let isRefused = false;
  comfy.meet = (path, response) => {
    if (path === '/prompt') sendJson(response, { prompt_id: 'its-own', node_errors: errors });
    else if (isRefused) sendJson(response, { queue_running: [[0, 'its-own']], queue_pending: [] });
    else return false;
    isRefused = true;
    return true;
  };
  await expect(worker.job({}).output).rejects.toThrow('refused the workflow: node 9 (SaveImage): no images');
  // Without the time limit, the worker would ask nine times.
  const stops = comfy.requests.filter(({ path }) => path === '/interrupt');
  expect(stops.length).toBeLessThan(9);
});

it('a ComfyUI worker cancels the running job by its id, and takes the next', async () => {
  const { comfy, worker } = await boxOf(sleeping(1, 'x', 9));
  const job = worker.job({}, 'a');
  await asked(comfy, '/prompt');
  job.callOff();
  await expect(job.output).rejects.toThrow('the job is no longer wanted');
  await comfy.release();
  expect(await historyOf(comfy)).toMatch(/execution_interrupted/);
  const ids = comfy.requests.filter(({ path }) => path === '/interrupt').map(({ body }) => body);
  expect(ids).toEqual([JSON.stringify({ prompt_id: comfy.accepted[0]?.id })]);
  const next = worker.job({}, 'b').output;
  await expect.poll(() => comfy.accepted.length).toBe(2);
  await comfy.release();
  expect(await next).toMatchObject({ images: [{}] });
});

it("a ComfyUI worker cancels a job that waits behind somebody else's, and leaves that alone", async () => {
  const { comfy, worker } = await boxOf();
  await fetch(`${comfy.url}/prompt`, {
    method: 'POST',
    body: JSON.stringify({ prompt: sleeping(2, 'y', 9) }),
  });
  const job = worker.job({});
  await expect.poll(() => comfy.accepted.length).toBe(2);
  await worker.stop();
  await expect(job.output).rejects.toThrow();
  await comfy.release();
  expect(comfy.requests.filter(({ path }) => path === '/interrupt')).toEqual([]);
  const all = await historyOf(comfy);
  expect(all).not.toContain(comfy.accepted[1]?.id);
  expect(all).toMatch(/execution_success/);
});

it('a ComfyUI worker gives its job back if the box is restarted, and has another worker there', async () => {
  const { comfy, worker, workload } = await boxOf(sleeping(1, 'x', 9));
  const { output } = worker.job({});
  await asked(comfy, '/prompt');
  comfy.restart();
  await expect(output).rejects.toThrow(WorkerDied);
  await expect(output).rejects.not.toBeInstanceOf(WorkerAway);
  expect(await worker.ended).toMatch(/lost the job: it was restarted/);
  const again = (await start(workload)).job({}).output;
  await expect.poll(() => comfy.accepted.length).toBe(2);
  await comfy.release();
  expect(await again).toMatchObject({ images: [{}] });
});

it('a ComfyUI worker tolerates a machine that is cut off for a moment', async () => {
  const { comfy, worker } = await boxOf(sleeping(1, 'x', 9));
  const { output } = worker.job({});
  await asked(comfy, '/prompt');
  let cuts = 2;
  comfy.meet = (_, response) => {
    if (cuts === 0) return false;
    cuts -= 1;
    reset(response);
    return true;
  };
  await expect.poll(() => cuts).toBe(0);
  await comfy.release();
  expect(await output).toMatchObject({ images: [{}] });
  expect(comfy.accepted).toHaveLength(1);
});

it('a ComfyUI worker requeues a job unchanged if its machine was lost before the job began', async () => {
  const { comfy, worker } = await boxOf();
  away(comfy);
  await expect(worker.job({}).output).rejects.toThrow(WorkerAway);
  expect(await worker.ended).toContain(`${comfy.url} does not answer`);
  await expect(worker.job({}).output).rejects.toThrow(WorkerAway);
});

it('a ComfyUI worker has an attempt counted if the box answers a workflow with an error of its own', async () => {
  const { comfy, worker } = await boxOf();
  comfy.meet = (path, response) => path === '/prompt' && (send(response, 500, 'Got itself in trouble'), true);
  const { output } = worker.job({});
  await expect(output).rejects.toThrow(`${comfy.url}/prompt answered 500: Got itself in trouble`);
  await expect(output).rejects.toThrow(WorkerDied);
  await expect(output).rejects.not.toBeInstanceOf(WorkerAway);
});

it('a ComfyUI worker finds its submission if the answer was lost', async () => {
  const { comfy, worker } = await boxOf();
  comfy.lostAnswers = 1;
  expect(await worker.job({}).output).toMatchObject({ images: [{}] });
  expect(comfy.accepted).toHaveLength(1);
});

it('a ComfyUI worker follows the job under the id that ComfyUI gave it', async () => {
  const { comfy, worker } = await boxOf();
  const messages = [['execution_error', { exception_type: 'Error', exception_message: 'of its own' }]];
  const entry = { outputs: {}, status: { completed: false, messages } };
  comfy.meet = (path, response) => {
    if (path === '/prompt') sendJson(response, { prompt_id: 'its-own', node_errors: {} });
    else if (path === '/history/its-own') sendJson(response, { 'its-own': entry });
    else return false;
    return true;
  };
  await expect(worker.job({}).output).rejects.toThrow('it failed: Error: of its own');
});

it('a ComfyUI worker finds the job that a killed service had started', async () => {
  const { comfy, worker, workload } = await boxOf(sleeping(1, 'x', 9));
  const before = worker.job({}, 'a');
  await asked(comfy, '/prompt');
  const other = comfyuiWorkload({ urls: [comfy.url], workflow: pathOf(workload), set, pollMs: 1 });
  const { output } = (await start(other)).job({}, 'a');
  await comfy.release();
  expect(await output).toEqual(await before.output);
  expect(comfy.accepted).toHaveLength(1);
});

it('a ComfyUI worker leaves out a box that is away, and takes it when it is back', async () => {
  const gone = { url: `http://127.0.0.1:${await unusedPort()}` };
  const [late, there] = [await startComfyStandIn(), await startComfyStandIn()];
  away(late);
  const workload = await workloadOf([gone, late, there]);
  await expect(start(workload)).rejects.toThrow(`${gone.url} does not answer: connect ECONNREFUSED`);
  await expect(start(workload)).rejects.toThrow(`${late.url} does not answer`);
  const first = await start(workload);
  expect(first.log).toEqual([`ComfyUI 0.3.64 at ${there.url}`]);
  await expect(start(workload)).rejects.toThrow(gone.url);
  late.meet = undefined;
  const second = await start(workload);
  expect(second.log).toEqual([`ComfyUI 0.3.64 at ${late.url}`]);
  await first.stop();
  await expect(start(workload)).rejects.toThrow(gone.url);
  expect((await start(workload)).log).toEqual([`ComfyUI 0.3.64 at ${there.url}`]);
});

it('a ComfyUI worker reports that the workflow has changed', async () => {
  const workload = await workloadOf([await startComfyStandIn()]);
  writeFileSync(pathOf(workload), '{"nodes": []}');
  await expect(start(workload)).rejects.toThrow(/flow\.json is in the format of ComfyUI's editor/);
  writeFileSync(pathOf(workload), JSON.stringify({ 2: { class_type: 'SaveImage', inputs: {} } }));
  await expect(start(workload)).rejects.toThrow(/flow\.json has changed: 1\.color: the workflow has no node/);
});

function pathOf({ name }: Workload): string {
  return name.replace('ComfyUI ', '');
}

async function historyOf({ url }: ComfyStandIn): Promise<string> {
  return (await fetch(`${url}/history`)).text();
}

it('a ComfyUI worker tries a box again that a wrong HTTP_PROXY keeps out of reach', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('HTTP_PROXY', 'socks5://proxy.example:1080');
  const workload = await workloadOf([{ url: 'http://box.example:8188' }]);
  for (let tries = 0; tries < 2; tries++)
    await expect(start(workload)).rejects.toThrow('HTTP_PROXY: not the address of a proxy');
});
