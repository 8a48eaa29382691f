/**
 * Nodes of ComfyUI 0.3.64 that need no model: their descriptions, the errors of their validation, and their outputs.
 */
import sharp from 'sharp';
import type { ClipFormat } from '../../src/runner/core/clip.ts';
import { textOf, type Workflow } from '../../src/protocol/comfyui-workflow.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/lib/text/json.ts';

const side: JsonValue = ['INT', { default: 512, min: 1, max: 16384, step: 1 }];
const rgb = { default: 0, min: 0, max: 16777215, step: 1, display: 'color' };

const anyInteger = { min: -(2 ** 64), max: 2 ** 64, step: 1 };

/** The answer of `/object_info`, without the fields that only people read. */
export const objectInfo = {
  EmptyImage: node(['IMAGE'], {
    width: side,
    height: side,
    batch_size: ['INT', { default: 1, min: 1, max: 4096 }],
    color: ['INT', rgb],
  }),
  SaveImage: node([], {
    images: ['IMAGE', { tooltip: 'The images to save.' }],
    filename_prefix: ['STRING', { default: 'ComfyUI' }],
  }),
  PreviewImage: node([], { images: ['IMAGE'] }),
  CreateVideo: node(['VIDEO'], { images: ['IMAGE', {}], fps: ['FLOAT', { default: 30 }] }),
  SaveVideo: node([], { video: ['VIDEO', {}], filename_prefix: ['STRING', { default: 'video/ComfyUI' }] }),
  VHS_VideoCombine: node([], { images: ['IMAGE'], filename_prefix: ['STRING', { default: 'AnimateDiff' }] }),
  SaveWEBM: node([], { images: ['IMAGE', {}], filename_prefix: ['STRING', { default: 'ComfyUI' }] }),
  SaveAnimatedWEBP: node([], { images: ['IMAGE', {}], filename_prefix: ['STRING', { default: 'ComfyUI' }] }),
  EmptyAudio: node(['AUDIO'], { duration: ['FLOAT', { default: 60 }] }),
  SaveAudio: node([], { audio: ['AUDIO', {}], filename_prefix: ['STRING', { default: 'audio/ComfyUI' }] }),
  LoadImage: node(['IMAGE', 'MASK'], { image: [[], { image_upload: true }] }),
  ImageScaleBy: node(['IMAGE'], {
    image: ['IMAGE'],
    upscale_method: [['nearest-exact', 'bilinear', 'area', 'bicubic', 'lanczos']],
    scale_by: ['FLOAT', { default: 1.0, min: 0.01, max: 8.0, step: 0.01 }],
  }),
  CheckpointLoaderSimple: node(['MODEL', 'CLIP', 'VAE'], {
    ckpt_name: [
      ['v1-5-pruned-emaonly-fp16.safetensors'],
      { tooltip: 'The name of the checkpoint (model) to load.' },
    ],
  }),
  VAELoader: node(['VAE'], { vae_name: [[], {}] }),
  EmptyLatentImage: node(['LATENT'], {
    width: ['INT', { default: 512, min: 16, max: 16384, step: 8 }],
    height: ['INT', { default: 512, min: 16, max: 16384, step: 8 }],
    batch_size: ['INT', { default: 1, min: 1, max: 4096 }],
  }),
  CLIPTextEncode: node(['CONDITIONING'], { text: ['STRING', { multiline: true }], clip: ['CLIP', {}] }),
  KSampler: node(['LATENT'], {
    model: ['MODEL', {}],
    seed: ['INT', { default: 0, min: 0, max: 2 ** 64 }],
    steps: ['INT', { default: 20, min: 1, max: 10000 }],
    cfg: ['FLOAT', { default: 8.0, min: 0.0, max: 100.0 }],
    sampler_name: [['euler', 'dpmpp_2m'], {}],
    scheduler: [['simple', 'normal'], {}],
    positive: ['CONDITIONING', {}],
    negative: ['CONDITIONING', {}],
    latent_image: ['LATENT', {}],
    denoise: ['FLOAT', { default: 1.0, min: 0.0, max: 1.0 }],
  }),
  VAEDecode: node(['IMAGE'], { samples: ['LATENT', {}], vae: ['VAE', {}] }),
  LatentCut: node(['LATENT'], {
    samples: ['LATENT', {}],
    dim: ['COMBO', { multiselect: false, options: ['x', 'y', 't'] }],
    index: ['INT', { default: 0, min: -16384, max: 16384, step: 1 }],
    amount: ['INT', { default: 1, min: 1, max: 16384, step: 1 }],
  }),
  TestIntMathOperation: node(['INT'], {
    a: ['INT', { default: 0, ...anyInteger }],
    b: ['INT', { default: 0, ...anyInteger }],
    operation: [['add', 'subtract', 'multiply', 'divide', 'modulo', 'power']],
  }),
  TestSleep: node(['*'], {
    value: ['*', {}],
    seconds: ['FLOAT', { default: 1.0, min: 0.0, max: 9999.0, step: 0.01 }],
  }),
  TestSyncError: node(['*'], { value: ['*', {}], error_after: ['FLOAT', { default: 1.0 }] }),
} satisfies JsonObject;

interface NodeInfo extends JsonObject {
  input: { required: Record<string, JsonValue[]> };
  output: string[];
  output_node: boolean;
}

function node(output: string[], required: Record<string, JsonValue[]>): NodeInfo {
  return { input: { required }, output, output_node: output.length === 0 };
}

function infoOf(type: unknown): NodeInfo | undefined {
  return Object.entries(objectInfo).find(([name]) => name === type)?.[1];
}

export interface Validation {
  /** Ids of output nodes (they save or show) whose inputs are valid. */
  outputs: string[];
  nodeErrors: JsonObject;
  error?: JsonObject;
}

/** Returns the content of an input file by the name that LoadImage takes, or undefined if there is no such file. */
type ReadInput = (name: string) => Buffer | undefined;

export function validate(workflow: Workflow, read: ReadInput): Validation {
  for (const [id, { class_type: type }] of Object.entries(workflow)) {
    const message =
      typeof type !== 'string'
        ? 'Cannot execute because a node is missing the class_type property.'
        : `Cannot execute because node ${type} does not exist.`;
    if (infoOf(type) === undefined)
      return { outputs: [], nodeErrors: {}, error: problem('invalid_prompt', message, `Node ID '#${id}'`) };
  }
  const all = Object.keys(workflow).filter((id) => infoOf(workflow[id]?.class_type)?.output_node);
  if (all.length === 0)
    return { outputs: [], nodeErrors: {}, error: problem('prompt_no_outputs', 'Prompt has no outputs', '') };
  const nodeErrors: JsonObject = {};
  const outputs: string[] = [];
  for (const output of all) {
    const wrong = upstream(workflow, output).filter((id) => errorsOf(workflow, id, read).length > 0);
    if (wrong.length === 0) outputs.push(output);
    for (const id of wrong) {
      const dependent = all.filter((each) => upstream(workflow, each).includes(id));
      const { class_type = '' } = workflow[id] ?? {};
      nodeErrors[id] = { errors: errorsOf(workflow, id, read), dependent_outputs: dependent, class_type };
    }
  }
  const failed = problem('prompt_outputs_failed_validation', 'Prompt outputs failed validation', '');
  return { outputs, nodeErrors, ...(outputs.length === 0 && { error: failed }) };
}

function problem(type: string, message: string, details: string, info: JsonObject = {}): JsonObject {
  return { type, message, details, extra_info: info };
}

/** Returns the id of this node after the ids of all nodes that it depends on. */
export function upstream(workflow: Workflow, id: string): string[] {
  const links = Object.values(workflow[id]?.inputs ?? {}).flatMap((value) =>
    Array.isArray(value) && typeof value[0] === 'string' ? value[0] : [],
  );
  return [...new Set([...links.flatMap((link) => upstream(workflow, link)), id])];
}

function errorsOf(workflow: Workflow, id: string, read: ReadInput): JsonObject[] {
  const { inputs = {}, class_type } = workflow[id] ?? {};
  const declared = Object.entries(infoOf(class_type)?.input.required ?? {});
  return declared.flatMap(([name, [type = '', config]]): JsonObject[] => {
    const value = inputs[name];
    if (value === undefined)
      return [problem('required_input_missing', 'Required input is missing', name, { input_name: name })];
    if (Array.isArray(value)) return [];
    if (class_type === 'LoadImage')
      return read(textOf(value)) === undefined ? [missingFile(name, value)] : [];
    const options = isJsonObject(config) ? config : {};
    const choices = type === 'COMBO' ? options['options'] : type;
    if (Array.isArray(choices) && !choices.includes(value)) {
      const [shown, listed] = [[value], choices].map((each) => JSON.stringify(each).replaceAll('"', "'"));
      const details = `${name}: ${shown?.slice(1, -1)} not in ${listed}`;
      const info = { input_name: name, received_value: value };
      return [problem('value_not_in_list', 'Value not in list', details, info)];
    }
    return type === 'INT' ? errorsOfInteger(name, value, options) : [];
  });
}

/**
 * Returns the error of LoadImage's own check, which ComfyUI runs instead of comparing the value with the list of
 * choices.
 */
function missingFile(name: string, value: JsonValue): JsonObject {
  const details = `${name} - Invalid image file: ${textOf(value)}`;
  const info = { input_name: name, received_value: value };
  return problem('custom_validation_failed', 'Custom validation failed for node', details, info);
}

function errorsOfInteger(name: string, value: JsonValue, { min = 0, max = 0 }: JsonObject): JsonObject[] {
  const [shown, least, most] = [value, min, max].map((each) => JSON.stringify(each).replaceAll('"', ''));
  const info = { input_name: name, received_value: value };
  if (!/^-?\d+$/.test(shown ?? '')) {
    const details = `${name}, ${shown}, invalid literal for int() with base 10: '${shown}'`;
    return [problem('invalid_input_type', 'Failed to convert an input value to a INT value', details, info)];
  }
  if (Number(value) < Number(min))
    return [problem('value_smaller_than_min', `Value ${shown} smaller than min of ${least}`, name, info)];
  if (Number(value) > Number(max))
    return [problem('value_bigger_than_max', `Value ${shown} bigger than max of ${most}`, name, info)];
  return [];
}

/** Returns the error of the first node that fails, or undefined if all succeed. */
export function failureIn(workflow: Workflow, needed: string[], complaint: string): JsonObject | undefined {
  for (const id of needed) {
    const { class_type = '', inputs = {} } = workflow[id] ?? {};
    const at = { node_id: id, node_type: class_type, executed: [], traceback: [] };
    if (class_type === 'TestSyncError')
      return { ...at, exception_message: complaint, exception_type: 'RuntimeError' };
    const message = 'integer division or modulo by zero\n';
    if (class_type === 'TestIntMathOperation' && Number(inputs['b']) === 0)
      return { ...at, exception_message: message, exception_type: 'ZeroDivisionError' };
  }
  return undefined;
}

/**
 * List, format and additional fields under which each node that saves clips reports its files, as SaveVideo,
 * VideoHelperSuite, SaveAudio and SaveWEBM do.
 */
export const clipsOf: Readonly<Record<string, { list: string; format: ClipFormat; beside: JsonObject }>> = {
  SaveVideo: { list: 'images', format: 'MP4', beside: { animated: [true] } },
  VHS_VideoCombine: { list: 'gifs', format: 'GIF', beside: {} },
  SaveAudio: { list: 'audio', format: 'FLAC', beside: {} },
  SaveWEBM: { list: 'images', format: 'WebM', beside: { animated: [true] } },
};

/** Returns the PNGs that an output node gets as its input. */
export async function imagesOf(
  workflow: Workflow,
  output: string,
  read: ReadInput = () => undefined,
): Promise<Buffer[]> {
  const nodes = upstream(workflow, output).map((id) => workflow[id]);
  const loaded = nodes.find((each) => each?.class_type === 'LoadImage');
  if (loaded !== undefined) {
    const picture = sharp(read(textOf(loaded.inputs['image'])));
    const scaling = nodes.find((each) => each?.class_type === 'ImageScaleBy');
    const { width } = await picture.metadata();
    const scaled = scaling && Math.round(width * Number(scaling.inputs['scale_by']));
    return [
      await picture
        .resize({ width: scaled ?? width })
        .png()
        .toBuffer(),
    ];
  }
  const source = nodes.find((each) => /^Empty(Latent)?Image$/.test(each?.class_type ?? ''));
  const seed = Number(nodes.find((each) => each?.class_type === 'KSampler')?.inputs['seed']);
  const { width, height, batch_size: count, color = seed % 0x1000000 } = source?.inputs ?? {};
  const linked =
    Array.isArray(color) && typeof color[0] === 'string' ? workflow[color[0]]?.inputs : undefined;
  const value = linked === undefined ? Number(color) : Math.floor(Number(linked['a']) / Number(linked['b']));
  const background = { r: value >> 16, g: (value >> 8) & 255, b: value & 255 };
  const create = { width: Number(width), height: Number(height), channels: 3 as const, background };
  const png = await sharp({ create }).png().toBuffer();
  return Array.from({ length: Number(count) }, () => png);
}
