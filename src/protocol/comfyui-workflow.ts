/** Reads, fills and checks workflows of ComfyUI in API format. */
import { createHash } from 'node:crypto';
import { didYouMean } from '../lib/text/closest.ts';
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { parseExactly } from './json-value.ts';

export interface WorkflowNode extends JsonObject {
  class_type: string;
  /** Values, and links to other nodes as `[id, output]`. */
  inputs: JsonObject;
}

export type Workflow = Record<string, WorkflowNode>;

const toExport = 'export it in ComfyUI with Workflow > Export (API)';

/** Reads the text of a file. Integers that a number would round become text, which ComfyUI accepts too. */
export function readWorkflow(text: string): { workflow: Workflow } | { problem: string } {
  const json = parseExactly(text);
  if (!isJsonObject(json)) return { problem: `is not a JSON object; ${toExport}` };
  if (Array.isArray(json['nodes']))
    return { problem: `is in the format of ComfyUI's editor, which it does not run; ${toExport}` };
  const nodes = Object.entries(json);
  const other = nodes.find(([, node]) => !isNode(node));
  if (other !== undefined)
    return { problem: `is not in API format: ${shown(other[0])} has no class_type and inputs; ${toExport}` };
  return nodes.length === 0 ? { problem: `has no nodes; ${toExport}` } : { workflow: json as Workflow };
}

function isNode(value: unknown): value is WorkflowNode {
  return isJsonObject(value) && typeof value['class_type'] === 'string' && isJsonObject(value['inputs']);
}

/** Returns problems with the keys of `set`, which are `node.input`. A wrong key would silently change nothing. */
export function setProblems(workflow: Workflow, keys: readonly string[]): string[] {
  return keys.flatMap((key) => {
    const [id, input] = splitKey(key);
    const node = nodeOf(workflow, id);
    if (node === undefined) return `${key}: ${nodeProblem(workflow, id) ?? ''}`;
    if (Object.hasOwn(node.inputs, input)) return [];
    const inputs = Object.keys(node.inputs);
    const meant = didYouMean(input, inputs) ?? `it has ${few(inputs)}`;
    return `${key}: node ${nodeName(id, node)} has no input ${shown(input)}; ${meant}`;
  });
}

/** Returns why no file of this node can be saved; undefined if one may be. */
export function nodeProblem(workflow: Workflow, id: string): string | undefined {
  const node = nodeOf(workflow, id);
  if (node !== undefined && savesAnimation(node.class_type))
    return `node ${nodeName(id, node)} saves animations as WebP or PNG, which are kept neither as pictures nor as clips; let SaveWEBM or SaveVideo save the video, with \`output.media: video\``;
  if (node !== undefined) return undefined;
  const all = Object.keys(workflow).map((each) => nodeName(each, workflow[each]));
  return `the workflow has no node ${shown(id)}; it has ${few(all)}`;
}

function savesAnimation(type: string): boolean {
  return type === 'SaveAnimatedWEBP' || type === 'SaveAnimatedPNG';
}

/** Returns the workflow with the values of `set`. A unique `prefix` makes ComfyUI run an equal workflow again. */
export function fillWorkflow(workflow: Workflow, set: JsonObject, prefix: string): Workflow {
  const filled = structuredClone(workflow);
  for (const [key, value] of Object.entries(set)) {
    const [id, input] = splitKey(key);
    const node = nodeOf(filled, id);
    if (node !== undefined) node.inputs[input] = value;
  }
  for (const { inputs } of Object.values(filled)) {
    if (Object.hasOwn(inputs, 'filename_prefix')) inputs['filename_prefix'] = prefix;
  }
  return filled;
}

/** Splits at the first dot. Ids of nodes contain none, but names of inputs may. */
function splitKey(key: string): [id: string, input: string] {
  const dot = key.indexOf('.');
  return dot === -1 ? [key, ''] : [key.slice(0, dot), key.slice(dot + 1)];
}

/** True if the key of an input, as `node.input`, names a seed. */
export function isSeed(key: string): boolean {
  return /\.(noise_)?seed$/.test(key);
}

/** Returns the seed among the values that are set in a workflow; undefined if none is set. */
export function seedIn(set: JsonObject): JsonValue | undefined {
  return Object.entries(set).find(([key]) => isSeed(key))?.[1];
}

/** Returns a UUID in lower case, which newer versions require. It is the same for the same key. */
export function promptIdOf(idempotencyKey: string): string {
  const hex = createHash('sha256').update(idempotencyKey).digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** Files of a workflow that are saved. */
export interface WorkflowChoice {
  /** Node whose files are saved. Undefined if those of all nodes are. */
  node?: string | undefined;
  /** Kind of clips that are saved in place of pictures; `any` if `node` alone decides. */
  media?: 'video' | 'audio' | 'any' | undefined;
}

/** Returns why a ComfyUI with this `/object_info` refuses the workflow or saves nothing of what is chosen. */
export function workflowProblems(
  workflow: Workflow,
  objectInfo: JsonObject,
  { node, media }: WorkflowChoice = {},
): string[] {
  const infoOf = (type = ''): JsonObject | undefined => {
    const info = Object.hasOwn(objectInfo, type) ? objectInfo[type] : undefined;
    return isJsonObject(info) ? info : undefined;
  };
  const outputsOf = (id: string): JsonValue | undefined =>
    infoOf(nodeOf(workflow, id)?.class_type)?.['output'];
  const nodes = Object.entries(workflow).map(([id, { class_type: type, inputs }]) => {
    return { id, name: nodeName(id, workflow[id]), type, inputs, info: infoOf(type) };
  });
  const saysOutputs = Object.values(objectInfo).some(
    (info) => isJsonObject(info) && info['output_node'] === true,
  );
  // Nobody knows if a node that is not installed saves pictures.
  const outputs = nodes.filter(
    ({ info }) => !saysOutputs || (info?.['output_node'] ?? info === undefined) === true,
  );
  // ComfyUI checks only the inputs of these nodes.
  const needed = withSources(workflow, outputs);
  const ofNodes = nodes.flatMap(({ id, name, inputs, info }) => {
    if (info === undefined) return `node ${name}: this ComfyUI has no such node; install it there`;
    const declared = declaredIn(info);
    const problems = declared.flatMap((each) => choiceProblem(each, inputs));
    if (needed.has(id)) {
      problems.push(...declared.flatMap((each) => valueProblem(each, inputs)));
      problems.push(...linkProblems(workflow, inputs, outputsOf));
    }
    return problems.map((problem) => `node ${name}: ${problem}`);
  });
  if (!saysOutputs) return ofNodes;
  if (outputs.length === 0) return [...ofNodes, 'no node of the workflow is an output, such as SaveImage'];
  const saving = outputs.filter(
    ({ type, info }) => info === undefined || (mayMake(info, media) && !savesAnimation(type)),
  );
  if (saving.some(({ id }) => node === undefined || id === node)) return ofNodes;
  const [what, key] = media === undefined ? ['pictures', 'output.image'] : ['clips', 'output.media'];
  if (node === undefined)
    return [...ofNodes, `no node of the workflow saves ${media ?? what}${otherMedia(outputs)}`];
  const others = few(saving.map(({ name }) => name));
  const instead = others === '' ? 'and no other node does' : `these do: ${others}`;
  return [...ofNodes, `\`${key}\`: node ${nodeName(node, workflow[node])} saves no ${what}; ${instead}`];
}

/** Returns which `output.media` would save the files of these nodes; an empty text if none would. */
function otherMedia(outputs: { name: string; info: JsonObject | undefined }[]): string {
  for (const media of ['video', 'audio'])
    for (const { name, info } of outputs)
      if (info !== undefined && declaredIn(info).some(({ type }) => type === media.toUpperCase()))
        return `; node ${name} saves clips: set \`output.media: ${media}\``;
  return '';
}

/** Returns the ids of these nodes, and of all nodes that they need. */
function withSources(workflow: Workflow, nodes: { id: string }[]): Set<string> {
  const found = new Set(nodes.map(({ id }) => id));
  // The loop also visits ids that are added meanwhile.
  for (const id of found)
    for (const value of Object.values(nodeOf(workflow, id)?.inputs ?? {}))
      if (Array.isArray(value)) found.add(textOf(value[0]));
  return found;
}

/** False if none of its inputs and outputs has a type that it can make the files of, or an open type. */
function mayMake(info: JsonObject, media: WorkflowChoice['media']): boolean {
  const types = [info['output'], ...declaredIn(info).map(({ type }) => type)];
  const fitting = {
    picture: /IMAGE|MASK|COMFY_|[*]/,
    video: /VIDEO|IMAGE|COMFY_|[*]/,
    audio: /AUDIO|COMFY_|[*]/,
    any: /VIDEO|IMAGE|AUDIO|COMFY_|[*]/,
  }[media ?? 'picture'];
  return types.some((type) => fitting.test(JSON.stringify(type) ?? ''));
}

interface DeclaredInput {
  input: string;
  isRequired: boolean;
  /** Name of a type, or the list of choices in older versions. */
  type: JsonValue | undefined;
  options: JsonObject;
}

function declaredIn({ input: inputs }: JsonObject): DeclaredInput[] {
  const kinds = isJsonObject(inputs) ? inputs : {};
  return ['required', 'optional'].flatMap((kind) =>
    Object.entries(isJsonObject(kinds[kind]) ? kinds[kind] : {}).map(([input, declared]) => {
      const [type, options] = Array.isArray(declared) ? declared : [];
      return { input, isRequired: kind === 'required', type, options: isJsonObject(options) ? options : {} };
    }),
  );
}

/** Returns no problem for inputs that take any value, nor for files, which may be in unlisted folders. */
function choiceProblem({ input, type, options }: DeclaredInput, inputs: JsonObject): string[] {
  const value = inputs[input];
  const choices = type === 'COMBO' ? options['options'] : type;
  if (!Array.isArray(choices) || Object.keys(options).some((key) => key.endsWith('_upload'))) return [];
  if (value === undefined || Array.isArray(value) || choices.includes(value)) return [];
  const there = choices.length === 0 ? 'it has none' : `it has ${few(choices.map(shown))}`;
  return [`this ComfyUI does not have ${shown(value)} for ${input}; ${there}`];
}

function valueProblem({ input, isRequired, type, options }: DeclaredInput, inputs: JsonObject): string[] {
  const value = inputs[input];
  // An input of an open type appears under several names.
  const isOpen = typeof type === 'string' && type.startsWith('COMFY_');
  if (value === undefined) return isRequired && !isOpen ? [`its input ${input} is missing`] : [];
  if ((type !== 'INT' && type !== 'FLOAT') || (typeof value !== 'number' && typeof value !== 'string'))
    return [];
  const { min, max } = options;
  const number = Number(value);
  if (Number.isNaN(number)) return [`${input} is ${shown(value)}, which is not a number`];
  if (min !== undefined && number < Number(min))
    return [`${input} is ${shown(value)}; the minimum is ${Number(min)}`];
  if (max !== undefined && number > Number(max))
    return [`${input} is ${shown(value)}; the maximum is ${Number(max)}`];
  return [];
}

function linkProblems(
  workflow: Workflow,
  inputs: JsonObject,
  outputsOf: (id: string) => JsonValue | undefined,
): string[] {
  return Object.entries(inputs).flatMap(([input, value]) => {
    const [from = null, slot] = Array.isArray(value) ? value : [];
    if (typeof slot !== 'number') return [];
    const [source, outputs] = [nodeOf(workflow, textOf(from)), outputsOf(textOf(from))];
    if (source === undefined)
      return `its input ${input} is linked to node ${shown(from)}, which the workflow does not have`;
    if (!Array.isArray(outputs) || slot < outputs.length) return [];
    return `its input ${input} is linked to output ${slot} of node ${nodeName(textOf(from), source)}, which has ${outputs.length}`;
  });
}

function nodeOf(workflow: Workflow, id: string): WorkflowNode | undefined {
  return Object.hasOwn(workflow, id) ? workflow[id] : undefined;
}

export function nodeName(id: string, node: unknown): string {
  const type = isJsonObject(node) ? textOf(node['class_type']) : '';
  return oneLine(type === '' ? id : `${id} (${type})`, 80) ?? '';
}

const maxListed = 12;

function few(words: string[]): string {
  const rest = words.length > maxListed ? ` and ${words.length - maxListed} more` : '';
  return words.slice(0, maxListed).join(', ') + rest;
}

function shown(value: JsonValue): string {
  return oneLine(JSON.stringify(value), 80) ?? '';
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
