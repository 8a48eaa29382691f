/**
 * Promise: workflows and answers of ComfyUI are read correctly, and problems of a workflow are reported
 * before the run.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import {
  chosenFiles,
  historyIn,
  isFaultOfWorkflow,
  queueIn,
  refusalIn,
  viewPath,
} from '../../src/protocol/comfyui-driver.ts';
import {
  fillWorkflow,
  promptIdOf,
  readWorkflow,
  setProblems,
  workflowProblems,
  type Workflow,
} from '../../src/protocol/comfyui-workflow.ts';
import { objectInfo } from '../fakes/comfyui-nodes.ts';
import { emptyImage, saving, savingClips } from '../fakes/comfyui-workflows.ts';

const id = 'e1b2c3d4-5f60-4c77-9d3b-0a1b2c3d4e5f';

const workflow: Workflow = {
  3: { class_type: 'KSampler', inputs: { seed: 5, model: ['4', 0], 'sampler.name': 'euler' } },
  6: { class_type: 'CLIPTextEncode', inputs: { text: 'a hill', clip: ['4', 1] }, _meta: { title: 'Prompt' } },
  9: { class_type: 'SaveImage', inputs: { images: ['3', 0], filename_prefix: 'ComfyUI' } },
};

describe('a workflow', () => {
  it('is read from its file, with seeds in all their digits', () => {
    const text = JSON.stringify(workflow).replace('"seed":5', '"seed":18446744073709551615');
    const inputs = { ...workflow[3]?.inputs, seed: '18446744073709551615' };
    expect(readWorkflow(text)).toEqual({ workflow: { ...workflow, 3: { class_type: 'KSampler', inputs } } });
  });

  it.each([
    ['{"nodes": [], "links": [], "version": 0.4}', "format of ComfyUI's editor"],
    ['{"prompt": {"3": {}}}', '"prompt" has no class_type and inputs'],
    ['{"3": {"class_type": "KSampler"}}', '"3" has no class_type and inputs'],
    ['[]', 'not a JSON object'],
    ['{', 'not a JSON object'],
    ['{}', 'has no nodes'],
  ])('that ComfyUI would not run is refused with the way to export it: %s', (text, words) => {
    expect(readWorkflow(text)).toEqual({
      problem: expect.stringMatching(new RegExp(`${words}.*Export \\(API\\)`)) as string,
    });
  });

  it('is filled without a change of what was read, under a prefix of its own', () => {
    const before = structuredClone(workflow);
    const filled = fillWorkflow(
      workflow,
      { '6.text': 'a lake', '3.seed': 7, '3.sampler.name': 'ddim' },
      'nightrender/x',
    );
    expect(workflow).toEqual(before);
    expect(filled).toEqual({
      3: { class_type: 'KSampler', inputs: { seed: 7, model: ['4', 0], 'sampler.name': 'ddim' } },
      6: { ...workflow[6], inputs: { text: 'a lake', clip: ['4', 1] } },
      9: { class_type: 'SaveImage', inputs: { images: ['3', 0], filename_prefix: 'nightrender/x' } },
    });
  });

  it('says which keys of `set` would change nothing', () => {
    expect(setProblems(workflow, ['6.text', '3.sampler.name', '9.filename_prefix'])).toEqual([]);
    expect(setProblems(workflow, ['7.text', 'text', '6.txt', '3.prompt', 'constructor.name'])).toEqual([
      '7.text: the workflow has no node "7"; it has 3 (KSampler), 6 (CLIPTextEncode), 9 (SaveImage)',
      'text: the workflow has no node "text"; it has 3 (KSampler), 6 (CLIPTextEncode), 9 (SaveImage)',
      '6.txt: node 6 (CLIPTextEncode) has no input "txt"; did you mean text?',
      '3.prompt: node 3 (KSampler) has no input "prompt"; it has seed, model, sampler.name',
      'constructor.name: the workflow has no node "constructor"; it has 3 (KSampler), 6 (CLIPTextEncode), 9 (SaveImage)',
    ]);
  });

  it('that lacks nothing has no problems, whichever way its choices are declared', () => {
    const loading = (name: string): Workflow => ({
      4: { class_type: 'Loader', inputs: { name, model: ['5', 0] } },
      5: { class_type: 'Source', inputs: {} },
    });
    const required = { model: ['MODEL'], name: [['a', 'b'], {}] };
    for (const declared of [required.name, ['COMBO', { options: ['a', 'b'] }]]) {
      for (const kind of ['required', 'optional']) {
        const loader = { input: { required: { model: ['MODEL'] }, [kind]: { name: declared } } };
        const info = { Loader: loader, Source: { input: {} } };
        expect(workflowProblems(loading('a'), info)).toEqual([]);
        expect(workflowProblems(loading('c'), info)).toEqual([
          'node 4 (Loader): this ComfyUI does not have "c" for name; it has "a", "b"',
        ]);
      }
    }
  });

  it('may name a file in a folder that is not listed', () => {
    const image = { 2: { class_type: 'LoadImage', inputs: { image: 'sub/a.png' } } };
    const info = { LoadImage: { input: { required: { image: [['b.png'], { image_upload: true }] } } } };
    expect(workflowProblems(image, info)).toEqual([]);
  });
});

describe('before the night, of a workflow that every scene would fail with', () => {
  const image = { class_type: 'EmptyImage', inputs: { width: 8, height: 8, batch_size: 1, color: 1 } };
  const withImage = (inputs: JsonObject): Workflow =>
    saving({ 1: { ...image, inputs: { ...image.inputs, ...inputs } } });
  const { color: _, ...lacking } = image.inputs;
  const saved = saving({ 1: image });
  const preview = { class_type: 'PreviewImage', inputs: { images: ['1', 0] } };
  const text = { class_type: 'SaveText', inputs: { text: 'x' } };
  const info = {
    ...objectInfo,
    SaveText: { input: { required: { text: ['STRING', {}] } }, output: [], output_node: true },
  };

  it.each<[string, Workflow, string[], Parameters<typeof workflowProblems>[2]?]>([
    ['all is right', saved, []],
    ['all is right of the node whose pictures are saved', { ...saved, 8: preview }, [], { node: '8' }],
    [
      'an input is missing',
      saving({ 1: { ...image, inputs: lacking } }),
      ['node 1 (EmptyImage): its input color is missing'],
    ],
    ['a value is too small', withImage({ width: 0 }), ['node 1 (EmptyImage): width is 0; the minimum is 1']],
    [
      'a value is too large',
      withImage({ width: '99999' }),
      ['node 1 (EmptyImage): width is "99999"; the maximum is 16384'],
    ],
    [
      'a value is no number',
      withImage({ width: 'wide' }),
      ['node 1 (EmptyImage): width is "wide", which is not a number'],
    ],
    [
      'a link leads nowhere',
      withImage({ color: ['7', 0] }),
      ['node 1 (EmptyImage): its input color is linked to node "7", which the workflow does not have'],
    ],
    [
      'a link leads to no output',
      { ...saved, 9: { class_type: 'SaveImage', inputs: { images: ['1', 2], filename_prefix: '' } } },
      ['node 9 (SaveImage): its input images is linked to output 2 of node 1 (EmptyImage), which has 1'],
    ],
    ['nothing is an output', { 1: image }, ['no node of the workflow is an output, such as SaveImage']],
    ['no output is a picture', { 1: text }, ['no node of the workflow saves pictures']],
    ['a clip is saved', saved, [], { media: 'video' }],
    ['no output is a sound', saved, ['no node of the workflow saves audio'], { media: 'audio' }],
    [
      'the only output is a clip',
      savingClips({ 1: image }, ['SaveVideo']),
      ['no node of the workflow saves pictures; node 30 (SaveVideo) saves clips: set `output.media: video`'],
    ],
    [
      'the only output is a sound, and not a video',
      savingClips({ 1: image }, ['SaveAudio']),
      ['no node of the workflow saves video; node 30 (SaveAudio) saves clips: set `output.media: audio`'],
      { media: 'video' },
    ],
    [
      'the only output is an animated WebP',
      savingClips({ 1: image }, ['SaveAnimatedWEBP']),
      ['no node of the workflow saves video'],
      { media: 'video' },
    ],
    [
      'the node whose clips are saved saves texts',
      { ...saved, 2: text },
      ['`output.media`: node 2 (SaveText) saves no clips; these do: 9 (SaveImage)'],
      { node: '2', media: 'any' },
    ],
    [
      'the node whose pictures are saved makes none',
      { ...saved, 8: preview },
      ['`output.image`: node 1 (EmptyImage) saves no pictures; these do: 8 (PreviewImage), 9 (SaveImage)'],
      { node: '1' },
    ],
    [
      'the node whose pictures are saved saves texts',
      { ...saved, 2: text },
      ['`output.image`: node 2 (SaveText) saves no pictures; these do: 9 (SaveImage)'],
      { node: '2' },
    ],
    // ComfyUI does not check this node.
    ['what no output needs lacks an input', { ...saved, 2: { ...image, inputs: { width: 0 } } }, []],
  ])('%s', (_what, filled, problems, choice) => {
    expect(workflowProblems(filled, info, choice)).toEqual(problems);
  });
});

describe('a refusal', () => {
  const set = ['6.text', '3.seed', '10.image'];
  const ofNode = (node: string, type: string, input?: string): JsonObject => {
    const info = input === undefined ? {} : { input_name: input };
    return { [node]: { errors: [{ type, message: 'm', details: 'd', extra_info: info }], class_type: 'C' } };
  };
  const whole = (type: string, info: JsonObject = {}): JsonObject => ({
    error: { type, message: 'm', details: '', extra_info: info },
    node_errors: {},
  });

  it.each<[string, JsonObject, boolean]>([
    ['of a node that is missing', whole('missing_node_type', { node_id: '9' }), true],
    ['of a node that is missing, in older words', whole('invalid_prompt'), true],
    ['of a workflow without an output', whole('prompt_no_outputs'), true],
    ['in new words of a node', whole('node_is_retired', { node_id: '9' }), true],
    ['in new words of an input of a scene', whole('bad', { node_id: '6', input_name: 'text' }), false],
    ['in new words without a place', whole('too_many_words'), false],
    ...[
      'required_input_missing',
      'value_not_in_list',
      'value_bigger_than_max',
      'value_smaller_than_min',
    ].flatMap((type): [string, JsonObject, boolean][] => [
      [`${type} of an input that no scene sets`, { node_errors: ofNode('3', type, 'steps') }, true],
      [`${type} of an input that scenes set`, { node_errors: ofNode('3', type, 'seed') }, false],
    ]),
    ['in new words of an input that no scene sets', { node_errors: ofNode('6', 'new', 'clip') }, true],
    ['in new words of an input that scenes set', { node_errors: ofNode('6', 'new', 'text') }, false],
    ['of a node that no scene sets', { node_errors: ofNode('9', 'exception_during_validation') }, true],
    ['of a node that scenes set', { node_errors: ofNode('6', 'exception_during_validation') }, false],
    ['without a reason', { node_errors: { 9: {} } }, true],
    [
      'by the check of a node that scenes set',
      { node_errors: ofNode('10', 'custom_validation_failed', 'up') },
      false,
    ],
    ['by the check of a node', { node_errors: ofNode('11', 'custom_validation_failed', 'image') }, true],
    [
      'of both',
      {
        node_errors: {
          ...ofNode('3', 'value_not_in_list', 'seed'),
          ...ofNode('4', 'value_not_in_list', 'ckpt'),
        },
      },
      true,
    ],
  ])('%s concerns every scene, or does not', (_what, answer, isOfAll) => {
    expect(isFaultOfWorkflow(answer, set)).toBe(isOfAll);
  });

  it('names the class of a node that is missing, and not only its title', () => {
    const info = { node_id: '9', class_type: 'StarFilter', node_title: 'My stars' };
    const message = "Node 'My stars' not found.";
    expect(refusalIn({ error: { type: 'missing_node_type', message, details: '', extra_info: info } })).toBe(
      "node 9 (StarFilter): Node 'My stars' not found.",
    );
  });
});

it('a key becomes one id, as ComfyUI takes it', () => {
  expect(promptIdOf('a key')).toBe(promptIdOf('a key'));
  expect(promptIdOf('a key')).not.toBe(promptIdOf('another'));
  expect(promptIdOf('a key')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('requests a file under a name that may contain anything', () => {
  expect(viewPath({ node: '9', filename: 'a b&c.png', subfolder: 'x/y', type: 'output' })).toBe(
    '/view?filename=a+b%26c.png&subfolder=x%2Fy&type=output',
  );
});

it('distinguishes an answer without the job from an invalid answer', () => {
  expect(historyIn({}, id)).toBe('absent');
  expect(historyIn({ error: 'busy' }, id)).toBeUndefined();
  expect(queueIn({ queue_running: [], queue_pending: [] })).toEqual({ running: [], waiting: [] });
  expect(queueIn({})).toBeUndefined();
});

it('reads an entry of a version that says less', () => {
  const images = [{ filename: 'a.png', subfolder: '', type: 'output' }];
  expect(historyIn({ [id]: { outputs: { 9: { images }, 8: { text: ['a hill'] } } } }, id)).toEqual({
    kind: 'done',
    files: [{ node: '9', ...images[0] }],
    times: {},
  });
});

it('distinguishes clips from pictures by their ending, else by their list', () => {
  const file = (filename: string): JsonObject => ({ filename, subfolder: 'v', type: 'output' });
  const outputs = {
    9: { images: [file('a.png'), file('my clip_00001_.mp4')], animated: [false, true] },
    10: { gifs: [file('b.webm'), file('c.webp'), file('d.gif'), file('e')] },
    11: {
      video: [file('f.mkv')],
      videos: [file('g.mp4')],
      audio: [file('h.flac'), file('i.opus'), file('j')],
    },
  };
  const told = historyIn({ [id]: { outputs } }, id);
  const files = told !== undefined && told !== 'absent' && told.kind === 'done' ? told.files : [];
  const namesOf = (choice: Parameters<typeof chosenFiles>[1]): string =>
    chosenFiles(files, choice)
      .map(({ filename }) => filename[0])
      .join('');
  expect(namesOf({})).toBe('ac');
  expect(namesOf({ media: 'video' })).toBe('mbdefg');
  expect(namesOf({ media: 'audio' })).toBe('hij');
  expect(namesOf({ node: '10', media: 'any' })).toBe('bde');
  expect(namesOf({ media: 'all' })).toHaveLength(11);
});

it('knows an interruption from a failure by the last message', () => {
  const entry = (type: string, data: JsonObject): JsonObject => ({
    [id]: { outputs: {}, status: { status_str: 'error', completed: false, messages: [[type, data]] } },
  });
  const node = { node_id: '3', node_type: 'KSampler' };
  expect(historyIn(entry('execution_interrupted', node), id)).toMatchObject({
    kind: 'interrupted',
    text: 'it was interrupted at node 3 (KSampler)',
  });
  const error = {
    ...node,
    exception_type: 'torch.OutOfMemoryError',
    exception_message: 'Allocation failed\n',
  };
  expect(historyIn(entry('execution_error', error), id)).toMatchObject({
    kind: 'failed',
    text: 'it failed at node 3 (KSampler): torch.OutOfMemoryError: Allocation failed',
  });
  expect(historyIn(entry('something_new', {}), id)).toMatchObject({
    kind: 'failed',
    text: 'it gave no reason',
  });
});

it('reads any answer without an error of its own', () => {
  const json = fc.jsonValue({ maxDepth: 6 });
  const object = fc.dictionary(
    fc.constantFrom('error', 'node_errors', 'queue_running', 'queue_pending', id, 'x'),
    json,
  );
  const status = fc.record({ status_str: json, completed: json, messages: json });
  const entry = fc.record({ status: fc.oneof(json, status), outputs: json });
  fc.assert(
    fc.property(object, entry, json, (any, one, value) => {
      const answer = any as JsonObject;
      refusalIn(answer);
      isFaultOfWorkflow(answer, ['6.text']);
      queueIn(answer);
      historyIn(answer, id);
      historyIn({ [id]: one as JsonObject }, id);
      workflowProblems(saving(emptyImage(1)), { EmptyImage: { input: value as JsonObject } });
      readWorkflow(JSON.stringify(value));
    }),
  );
});
