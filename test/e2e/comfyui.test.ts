/** Promise: a night on ComfyUI loses no scene and mixes up none, whichever side dies; `comfyui-itself.test.ts` tries a real one. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Workflow } from '../../src/protocol/comfyui.ts';
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { emptyImage, saving } from '../fakes/comfyui-workflows.ts';
import { rest } from '../fakes/tier.ts';
import { folderWith, inProcess, Program } from './cli.ts';
import { comfyuiNight } from './comfyui-night.ts';

rest.it('a night through kills, restarts and lost answers', async () => {
  const comfy = await startComfyStandIn();
  await comfyuiNight({ url: comfy.url, restart: async () => comfy.restart() }, 40);
});

function batch(url: string, workflow: object, more = '', set = "'1.color': '{{ colour }}'"): string {
  return folderWith({
    'flow.json': JSON.stringify(workflow),
    'scenes.csv': 'id,colour\na,255\nb,65280\n',
    'pipeline.yaml': `manifest: scenes.csv
endpoint: {speaks: comfyui, baseUrl: '${url}', workflow: flow.json, set: {${set}}}
output: {dir: out${more}}
polling: {shortest: 10ms}
`,
  });
}

it('needs no key and no id, and makes new scenes of an edited workflow', async () => {
  const comfy = await startComfyStandIn();
  const cwd = batch(comfy.url, saving(emptyImage(1)));
  const first = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(first.code, first.stderr).toBe(0);
  expect((await inProcess(['run', 'pipeline.yaml'], { cwd })).code).toBe(0);
  expect(comfy.accepted).toHaveLength(2);
  const edited = {
    ...emptyImage(1),
    1: { class_type: 'EmptyImage', inputs: { ...emptyImage(1)[1]?.inputs, width: 16 } },
  };
  writeFileSync(join(cwd, 'flow.json'), JSON.stringify(saving(edited)));
  expect((await inProcess(['run', 'pipeline.yaml'], { cwd })).code).toBe(0);
  expect(comfy.accepted).toHaveLength(4);
});

it('collects the pictures of the node that output.image names', async () => {
  const comfy = await startComfyStandIn();
  const second = { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'x' } };
  const workflow = { ...saving(emptyImage(1)), 10: second };
  for (const [more, files] of [
    ['', 4],
    [", image: '10'", 2],
    [', image: 10', 2],
  ] as const) {
    const cwd = batch(comfy.url, workflow, more);
    const { code, stderr } = await inProcess(['run', 'pipeline.yaml'], { cwd });
    expect(code, stderr).toBe(0);
    expect(readdirSync(join(cwd, 'out/images')).filter((file) => file.endsWith('.png'))).toHaveLength(files);
  }
});

it('names before the night what ComfyUI lacks, and starts nothing', async () => {
  const comfy = await startComfyStandIn();
  const workflow: Workflow = {
    ...saving(emptyImage(1)),
    4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'sd.safetensors' } },
    7: { class_type: 'UltraUpscale', inputs: {} },
  };
  const { code, stdout, stderr } = await inProcess(['plan', 'pipeline.yaml', '--check'], {
    cwd: batch(comfy.url, workflow),
  });
  expect(code).not.toBe(0);
  const said = (stdout + stderr).replaceAll(/\s+/g, ' ');
  expect(said).toContain(
    'node 4 (CheckpointLoaderSimple): this ComfyUI does not have "sd.safetensors" for ckpt_name',
  );
  expect(said).toContain('node 7 (UltraUpscale): this ComfyUI has no such node');
  expect(comfy.accepted).toEqual([]);
});

it.each<[string, object, string, string, string]>([
  ['a file of the editor', { nodes: [], links: [] }, "'1.color': 1", '', 'Export (API)'],
  [
    'a node that is not there',
    saving(emptyImage(1)),
    "'2.color': 1",
    '',
    'the workflow has no node "2"; it has 1 (EmptyImage)',
  ],
  ['an input that is not there', saving(emptyImage(1)), "'1.colour': 1", '', 'did you mean color?'],
  [
    'a node to collect from that is not there',
    saving(emptyImage(1)),
    "'1.color': 1",
    ', image: 8',
    'output.image: the workflow has no node "8"; it has 1 (EmptyImage), 9 (SaveImage)',
  ],
  [
    'more than pictures',
    saving(emptyImage(1)),
    "'1.color': 1",
    ', values: {score: score}',
    'output.values: ComfyUI brings nothing but pictures',
  ],
])('says what is wrong with the pipeline: %s', async (_, workflow, set, more, words) => {
  const cwd = batch('http://127.0.0.1:1', workflow, more, set);
  const { code, stderr } = await inProcess(['plan', 'pipeline.yaml'], { cwd });
  expect(code).toBe(2);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(words);
});

it('says that more jobs are asked for at once than ComfyUI gets, and nothing where none are', async () => {
  const cwd = batch('http://127.0.0.1:1', saving(emptyImage(1)));
  const plan = async (...options: string[]): Promise<string> =>
    (await inProcess(['plan', 'pipeline.yaml', ...options], { cwd })).stdout.replaceAll(/\s+/g, ' ');
  expect(await plan()).not.toContain('at once at most');
  expect(await plan('--concurrency', '40')).toContain(
    'concurrency is 40, and this service gets 8 jobs at once',
  );
});

it('cancels what runs and what waits', async () => {
  const comfy = await startComfyStandIn();
  comfy.isHeld = true;
  const cwd = batch(comfy.url, saving(emptyImage(1)));
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd });
  await run.event('scene-submitted', 2);
  run.child.kill('SIGKILL');
  await run.finish();
  const { code, stdout, stderr } = await inProcess(['cancel', 'pipeline.yaml'], { cwd });
  expect(code, stdout + stderr).toBe(0);
  expect(await (await fetch(`${comfy.url}/queue`)).json()).toEqual({ queue_running: [], queue_pending: [] });
});
