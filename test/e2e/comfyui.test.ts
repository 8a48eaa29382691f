/**
 * Promise: a batch on ComfyUI loses and confuses no scene, whichever side crashes. `comfyui-itself.test.ts`
 * uses a real ComfyUI.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import sharp from 'sharp';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import { startComfyStandIn, type ComfyStandIn } from '../fakes/comfyui.ts';
import { emptyImage, enlarging, failing, saving, savingClips } from '../fakes/comfyui-workflows.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { sendJson } from '../faults/answers.ts';
import { type Night, nightWith, type Started } from './cli.ts';
import { comfyuiNight } from './comfyui-night.ts';

rest.it('ComfyUI renders a night through kills, restarts and lost answers', async () => {
  const comfy = await startComfyStandIn();
  await comfyuiNight({ url: comfy.url, restart: async () => comfy.restart() }, 40);
});

const stages = {
  'draw.json': JSON.stringify(saving(emptyImage(1))),
  'enlarge.json': JSON.stringify(enlarging('x')),
  'scenes.csv': ['id,colour', ...Array.from({ length: 12 }, (_, i) => `s${i},${colourOf(i)}`)].join('\n'),
};

function colourOf(scene: number): number {
  return (scene * 0x010307 + 0x203040) & 0xffffff;
}

function chain(url: string): Night {
  const endpoint = (flow: string, set: string): string =>
    `endpoint: {speaks: comfyui, baseUrl: '${url}', workflow: ${flow}.json, set: {${set}}}
concurrency: 4
polling: {shortest: 10ms}
retry: {firstWait: 10ms, longestWait: 100ms}
`;
  return nightWith({
    ...stages,
    'draw.yaml': `manifest: scenes.csv\noutput: {dir: drawn}\n${endpoint('draw', "'1.color': '{{ colour }}'")}`,
    'enlarge.yaml': `scenes: {from: draw.yaml}\noutput: {dir: enlarged}\n${endpoint('enlarge', "'10.image': '{{ picture | upload }}'")}`,
  });
}

firstTier.it(
  'a stage on ComfyUI enlarges the pictures of the stage before, and sends nothing twice',
  async () => {
    const comfy = await startComfyStandIn();
    const night = chain(comfy.url);
    await night.start('run', 'draw.yaml', 'enlarge.yaml', '--limit', '3').exits(0);
    await night.start('run', 'enlarge.yaml').exits(0);
    await expectEnlarged(night, 3);
    expect([comfy.accepted.length, comfy.uploaded.length]).toEqual([6, 3]);
    const [file = ''] = picturesIn(night, 'enlarged');
    const { stdout } = await night.start('explain', 'enlarge.yaml', basename(file, '.png')).exits(0);
    expect(stdout).toMatch(/"10\.image\\?":\\?"<drawn\/images\/s\d+\.png, \d+ bytes>/);
  },
);

firstTier.it(
  'a stage on ComfyUI sends nothing for a picture that the stage before has replaced',
  async () => {
    const comfy = await startComfyStandIn();
    const night = chain(comfy.url);
    await night.start('run', 'draw.yaml', '--limit', '2').exits(0);
    const [file = ''] = picturesIn(night, 'drawn');
    night.write(`drawn/images/${file}`, 'other');
    await night.start('run', 'enlarge.yaml').exits(3);
    await night.start('explain', 'enlarge.yaml', basename(file, '.png')).prints('nothing was sent');
    expect([comfy.accepted.length, comfy.uploaded.length]).toEqual([3, 1]);
  },
);

firstTier.it('the key of partner nodes is in no file, message or command, and each job has it', async () => {
  const comfy = await startComfyStandIn();
  const key = 'comfyui-4711-0815';
  comfy.complaint = `no credit for ${key}`;
  const night = batch(comfy.url, failing(1, 'x'));
  night.write(
    'pipeline.yaml',
    night.read('pipeline.yaml').replace('flow.json,', "flow.json, comfyApiKey: '${COMFY_KEY}',") +
      'retry: {attempts: 1}\nnotify: [{command: env > env.txt}]\n',
  );
  const { stdout, stderr } = await night
    .with({ env: { COMFY_KEY: key, OTHER: `x${key}` } })
    .run()
    .exits(3);
  expect(stdout + stderr).toContain('no credit for [key]');
  const files = readdirSync(night.cwd, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'));
  expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(['checkpoint.sqlite', 'env.txt']));
  expect([stdout, stderr, ...texts].filter((text) => text.includes(key))).toEqual([]);
  const jobs = comfy.requests.filter(({ path }) => path === '/prompt');
  expect(jobs.map(({ body }) => (JSON.parse(body) as { extra_data: object }).extra_data)).toEqual(
    jobs.map(() => ({ api_key_comfy_org: key })),
  );
});

rest.it('ComfyUI renders a night of uploads through kills, lost answers and an emptied folder', async () => {
  const comfy = await startComfyStandIn();
  const night = chain(comfy.url);
  await night.start('run', 'draw.yaml').exits(0);
  const drawn = comfy.accepted.length;
  comfy.isHeld = true;
  comfy.lostUploads = 2;
  const first = night.program('run', 'enlarge.yaml', '--json');
  await first.event('scene-submitted', 3);
  first.child.kill('SIGKILL');
  await first.finish();
  comfy.isHeld = false;
  await comfy.release();
  comfy.removeFiles('input/');
  comfy.lostAnswers = 1;
  const second = night.program('run', 'enlarge.yaml', '--json');
  await second.event('scene-saved', 3);
  comfy.removeFiles('input/');
  await second.event('scene-saved', 1);
  second.child.kill('SIGKILL');
  await second.finish();
  const last = await night.built('run', 'enlarge.yaml');
  expect(last.code, last.stderr + last.stdout).toBe(0);
  await expectEnlarged(night, 12);
  const jobs = comfy.accepted.slice(drawn);
  expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length);
  expect(new Set(comfy.uploaded).size).toBe(12);
  const attempts = (await night.start('list', 'enlarge.yaml', '--json').lines<{ attempts: number }>()).map(
    (scene) => scene.attempts,
  );
  const [sent, killed] = [attempts.reduce((sum, each) => sum + each, 0), 2];
  // A submission in progress when the program was killed may have an attempt and no job.
  expect(jobs.length).toBeLessThanOrEqual(sent);
  expect(sent).toBeLessThanOrEqual(12 + killed * 4);
});

async function expectEnlarged(night: Night, count: number): Promise<void> {
  const found = picturesIn(night, 'enlarged');
  expect(found).toHaveLength(count);
  for (const file of found) {
    const picture = sharp(night.path(`enlarged/images/${file}`)).removeAlpha();
    const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true });
    const [r = 0, g = 0, b = 0] = data;
    expect([file, info.width, (r << 16) | (g << 8) | b]).toEqual([
      file,
      16,
      colourOf(Number(file.slice(1, -4))),
    ]);
  }
}

function picturesIn(night: Night, folder: string): string[] {
  return readdirSync(night.path(`${folder}/images`)).filter((file) => file.endsWith('.png'));
}

function batch(url: string, workflow: object, more = '', set = "'1.color': '{{ colour }}'"): Night {
  return nightWith({
    'flow.json': JSON.stringify(workflow),
    'scenes.csv': 'id,colour\na,255\nb,65280\n',
    'pipeline.yaml': `manifest: scenes.csv
endpoint: {speaks: comfyui, baseUrl: '${url}', workflow: flow.json, set: {${set}}}
output: {dir: out${more}}
polling: {shortest: 10ms}
`,
  });
}

firstTier.it('a run needs no key and no id, and makes new scenes of an edited workflow', async () => {
  const comfy = await startComfyStandIn();
  const night = batch(comfy.url, saving(emptyImage(1)));
  await night.run().exits(0);
  await night.run().exits(0);
  expect(comfy.accepted).toHaveLength(2);
  const edited = {
    ...emptyImage(1),
    1: { class_type: 'EmptyImage', inputs: { ...emptyImage(1)[1]?.inputs, width: 16 } },
  };
  night.write('flow.json', JSON.stringify(saving(edited)));
  await night.run().exits(0);
  expect(comfy.accepted).toHaveLength(4);
});

firstTier.it('collects the pictures of the node that output.image names', async () => {
  const comfy = await startComfyStandIn();
  const second = { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'x' } };
  const workflow = { ...saving(emptyImage(1)), 10: second };
  for (const [more, files] of [
    ['', 4],
    [", image: '10'", 2],
    [', image: 10', 2],
  ] as const) {
    const night = batch(comfy.url, workflow, more);
    await night.run().exits(0);
    expect(readdirSync(night.path('out/images')).filter((file) => file.endsWith('.png'))).toHaveLength(files);
  }
});

const clips = savingClips(saving(emptyImage(1)), ['SaveVideo', 'VHS_VideoCombine', 'SaveWEBM', 'SaveAudio']);

firstTier.it.each([
  ['video', ['a-2.gif', 'a-3.webm', 'a.mp4', 'b-2.gif', 'b-3.webm', 'b.mp4']],
  ['audio', ['a.flac', 'b.flac']],
  ['31', ['a.gif', 'b.gif']],
])('saves the clips of all nodes that make clips, or of one node: output.media: %s', async (media, files) => {
  const comfy = await startComfyStandIn();
  const night = batch(comfy.url, clips, `, media: ${media}`);
  await night.run().exits(0, / {2}clips +out/);
  expect(readdirSync(night.path('out/images')).toSorted()).toEqual(files);
  await night.run().exits(0);
  expect(comfy.accepted).toHaveLength(2);
});

firstTier.it('`plan --check` names the nodes and models that ComfyUI lacks, and starts nothing', async () => {
  const comfy = await startComfyStandIn();
  const workflow: Workflow = {
    ...saving(emptyImage(1)),
    4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'sd.safetensors' } },
    7: { class_type: 'UltraUpscale', inputs: {} },
  };
  const { code, stdout, stderr } = await batch(comfy.url, workflow).plan('--check');
  expect(code).not.toBe(0);
  const said = (stdout + stderr).replaceAll(/\s+/g, ' ');
  expect(said).toContain(
    'node 4 (CheckpointLoaderSimple): this ComfyUI does not have "sd.safetensors" for ckpt_name',
  );
  expect(said).toContain('node 7 (UltraUpscale): this ComfyUI has no such node');
  expect(comfy.accepted).toEqual([]);
});

firstTier.it.each<[string, Workflow, string, string]>([
  [
    'a missing input',
    saving({ 1: { class_type: 'EmptyImage', inputs: { width: 8, height: 8, color: 1 } } }),
    '',
    'node 1 (EmptyImage): its input batch_size is missing',
  ],
  [
    'an image node that saves nothing',
    saving(emptyImage(1)),
    ', image: 1',
    '`output.image`: node 1 (EmptyImage) saves no pictures; these do: 9 (SaveImage)',
  ],
])('rejects before the night what would fail every scene: %s', async (_, workflow, more, words) => {
  const comfy = await startComfyStandIn();
  const night = batch(comfy.url, workflow, more);
  const { stdout } = await night.plan('--check').exits(12);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(words);
  expect(comfy.accepted).toEqual([]);
});

const missingNode = {
  error: {
    type: 'missing_node_type',
    message: "Node 'Star Filter' not found. The custom node may not be installed.",
    details: "Node ID '#9'",
    extra_info: { node_id: '9', class_type: 'StarFilter', node_title: 'Star Filter' },
  },
  node_errors: {},
};
const wrongColour = {
  error: { type: 'prompt_outputs_failed_validation', message: '', details: '', extra_info: {} },
  node_errors: {
    1: {
      class_type: 'EmptyImage',
      errors: [
        {
          type: 'value_bigger_than_max',
          message: 'too red',
          details: '',
          extra_info: { input_name: 'color' },
        },
      ],
    },
  },
};

/** Refuses the nth submission (from 1) with `answers(nth)`, or answers it as usual if that is undefined. */
function refuse(comfy: ComfyStandIn, answers: (nth: number) => JsonObject | undefined): void {
  comfy.meet = (path: string, response: ServerResponse): boolean => {
    const answer = path === '/prompt' ? answers(submissionsTo(comfy)) : undefined;
    if (answer !== undefined) sendJson(response, answer, 400);
    return answer !== undefined;
  };
}

function submissionsTo({ requests }: ComfyStandIn): number {
  return requests.filter(({ path }) => path === '/prompt').length;
}

function runOf(night: Night): Started {
  return night.run();
}

firstTier.it(
  'stops at the first answer if ComfyUI lacks a node, and renders all by the same command once it is there',
  async () => {
    const comfy = await startComfyStandIn();
    const night = batch(comfy.url, saving(emptyImage(1)));
    refuse(comfy, () => missingNode);
    const { stdout } = await runOf(night).exits(12);
    expect(submissionsTo(comfy)).toBe(1);
    const said = stdout.replaceAll(/\s+/g, ' ');
    expect(said).toContain("node 9 (StarFilter): Node 'Star Filter' not found");
    expect(said).toContain('`nightrender plan pipeline.yaml --check` names all that is wrong');
    expect(said).toContain('Nothing is lost: once that is fixed, the same command resumes.');
    expect(await night.state()).toMatchObject({ summary: { scenes: { waiting: 2, failed: 0 } } });
    comfy.meet = undefined;
    await runOf(night).exits(0);
    expect(comfy.accepted).toHaveLength(2);
  },
);

firstTier.it(
  'stops at the first answer if ComfyUI takes a part of the workflow, and cancels that part',
  async () => {
    const comfy = await startComfyStandIn();
    comfy.isHeld = true;
    const part = { class_type: 'EmptyImage', inputs: { width: 0, height: 8, batch_size: 1, color: 1 } };
    const save = { class_type: 'SaveImage', inputs: { images: ['2', 0], filename_prefix: '' } };
    const night = batch(comfy.url, { ...saving(emptyImage(1)), 2: part, 10: save });
    await runOf(night).exits(12, 'node 2 (EmptyImage): Value 0 smaller than min of 1 (width)');
    expect(await night.state()).toMatchObject({ summary: { scenes: { waiting: 2, failed: 0 } } });
    const [id = ''] = comfy.accepted.map((job) => job.id);
    expect(comfy.accepted).toHaveLength(1);
    expect(await (await fetch(`${comfy.url}/history/${id}`)).json()).toMatchObject({
      [id]: { status: { completed: false } },
    });
  },
);

firstTier.it('collects what is in flight when ComfyUI lacks a node in the middle of the night', async () => {
  const comfy = await startComfyStandIn();
  comfy.isHeld = true;
  const night = batch(comfy.url, saving(emptyImage(1)));
  refuse(comfy, (nth) => {
    if (nth < 2) return undefined;
    comfy.isHeld = false;
    void comfy.release();
    return missingNode;
  });
  await runOf(night).exits(12);
  expect(await night.state()).toMatchObject({ summary: { scenes: { saved: 1, waiting: 1, failed: 0 } } });
});

firstTier.it('leaves scenes alone that ComfyUI refuses for their own values', async () => {
  const comfy = await startComfyStandIn();
  const night = batch(comfy.url, saving(emptyImage(1)));
  refuse(comfy, () => wrongColour);
  for (let runs = 0; runs < 2; runs += 1) expect((await runOf(night)).code).toBe(3);
  // No submission was accepted yet, so each is sent once more, because the refusal may apply to all scenes.
  expect(submissionsTo(comfy)).toBe(4);
  await night.retry().prints('At least 2 new jobs will run: `nightrender run pipeline.yaml`');
});

firstTier.it.each([
  ['', ''],
  ['pricing: {expect: 30s}\n', ''],
  ['pricing: {perSecond: 0.001, currency: USD}\n', ', possibly billed'],
])('mentions bills in its last lines only if there is a price: %s', async (price, bills) => {
  const comfy = await startComfyStandIn();
  comfy.isHeld = true;
  const night = batch(comfy.url, saving(emptyImage(1)));
  const file = night.path('pipeline.yaml');
  writeFileSync(file, readFileSync(file, 'utf8') + price);
  await night.cutOff(2);
  await night.retry('--id', 'b', '--give-up').prints(bills === '' ? 'they may run on' : 'they may be billed');
  comfy.isHeld = false;
  await comfy.release();
  await runOf(night).exits(0, `1 submission without an answer or a result${bills}; the report`);
});

firstTier.it.each<[string, object, string, string, string]>([
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
    'animations that are no clips',
    savingClips(emptyImage(1), ['SaveAnimatedWEBP']),
    "'1.color': 1",
    '',
    'output.image: node 30 (SaveAnimatedWEBP) saves animations as WebP or PNG',
  ],
  [
    'clips of a node that is not there',
    savingClips(emptyImage(1), ['SaveVideo']),
    "'1.color': 1",
    ', media: 31',
    'output.media: the workflow has no node "31"',
  ],
  [
    'more than pictures',
    saving(emptyImage(1)),
    "'1.color': 1",
    ', values: {score: score}',
    'output.values: ComfyUI returns only pictures and clips',
  ],
])('says what is wrong with the pipeline: %s', async (_, workflow, set, more, words) => {
  const night = batch('http://127.0.0.1:1', workflow, more, set);
  const { stderr } = await night.plan().exits(2);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(words);
});

firstTier.it('says if more jobs are wanted at once than ComfyUI gets, and nothing otherwise', async () => {
  const night = batch('http://127.0.0.1:1', saving(emptyImage(1)));
  const plan = async (...options: string[]): Promise<string> =>
    (await night.plan(...options)).stdout.replaceAll(/\s+/g, ' ');
  expect(await plan()).not.toContain('this service accepts');
  expect(await plan('--concurrency', '40')).toContain(
    'concurrency is 40, and this service accepts 8 jobs at once',
  );
});

firstTier.it('cancels running and waiting jobs', async () => {
  const comfy = await startComfyStandIn();
  comfy.isHeld = true;
  const night = batch(comfy.url, saving(emptyImage(1)));
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.event('scene-submitted', 2);
  run.child.kill('SIGKILL');
  await run.finish();
  const { code, stdout, stderr } = await night.do('cancel');
  expect(code, stdout + stderr).toBe(0);
  expect(await (await fetch(`${comfy.url}/queue`)).json()).toEqual({ queue_running: [], queue_pending: [] });
});
