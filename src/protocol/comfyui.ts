/** What ComfyUI is sent and what it answers: workflows in API format, its queue, its history and its nodes. */
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

/** By the ids of the nodes. */
export type Workflow = Record<string, WorkflowNode>;

const toExport = 'export it in ComfyUI with Workflow > Export (API)';

/** `text` is a file's. Integers that a number would round come as text, which ComfyUI takes as well. */
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

/** What is wrong with the keys of `set`, which are `node.input`: a wrong one would change nothing, without a word. */
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

/** Undefined where the node is there. */
export function nodeProblem(workflow: Workflow, id: string): string | undefined {
  if (nodeOf(workflow, id) !== undefined) return undefined;
  const all = Object.keys(workflow).map((each) => nodeName(each, workflow[each]));
  return `the workflow has no node ${shown(id)}; it has ${few(all)}`;
}

/** With the values of `set`, and with a `prefix` of its own for all files that it saves: an equal workflow is not run. */
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

/** Ids of nodes hold no dot, names of inputs may. */
function splitKey(key: string): [id: string, input: string] {
  const dot = key.indexOf('.');
  return dot === -1 ? [key, ''] : [key.slice(0, dot), key.slice(dot + 1)];
}

/** The same for the same key: a UUID, which newer versions insist on, in lower case. */
export function promptIdOf(idempotencyKey: string): string {
  const hex = createHash('sha256').update(idempotencyKey).digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** What an answer to `POST /prompt` names the job. */
export function promptIdIn(answer: JsonObject): string | undefined {
  const id = answer['prompt_id'];
  return typeof id === 'string' && /^[\w-]{1,128}$/.test(id) ? id : undefined;
}

/** Why it does not run the workflow, or not all of it; undefined where it does. */
export function refusalIn(answer: JsonObject): string | undefined {
  const errors = isJsonObject(answer['node_errors']) ? Object.entries(answer['node_errors']) : [];
  const ofNodes = errors.map(([id, error]) => {
    const each = isJsonObject(error) && Array.isArray(error['errors']) ? error['errors'] : [];
    return `node ${nodeName(id, error)}: ${each.map(errorWords).join('; ') || 'no reason'}`;
  });
  if (ofNodes.length > 0) return oneLine(ofNodes.join('. '));
  return answer['error'] === undefined ? undefined : errorWords(answer['error']);
}

/** Whether it refuses every other scene, too: a node or a model is missing that no scene sets. `set`: the keys that they set. */
export function isRefusalOfAll(answer: JsonObject, set: readonly string[]): boolean {
  const errors = isJsonObject(answer['node_errors']) ? Object.entries(answer['node_errors']) : [];
  if (errors.length === 0)
    return isJsonObject(answer['error']) && answer['error']['type'] === 'invalid_prompt';
  return errors.some(([id, error]) => {
    const each = isJsonObject(error) && Array.isArray(error['errors']) ? error['errors'] : [];
    return each.filter(isJsonObject).some(({ type, extra_info: info }) => {
      const input = isJsonObject(info) ? textOf(info['input_name']) : '';
      return type === 'value_not_in_list' && !set.includes(`${id}.${input}`);
    });
  });
}

function errorWords(error: JsonValue): string {
  if (!isJsonObject(error)) return oneLine(JSON.stringify(error)) ?? '';
  const [message, details] = [textOf(error['message']), textOf(error['details'])];
  return oneLine(details === '' ? message : `${message} (${details})`) ?? 'no reason';
}

/** The ids of an answer to `GET /queue`; undefined where it is none. */
export function queueIn(answer: JsonObject): { running: string[]; waiting: string[] } | undefined {
  const { queue_running: running, queue_pending: waiting } = answer;
  if (!Array.isArray(running) || !Array.isArray(waiting)) return undefined;
  const idOf = (item: JsonValue): string => (Array.isArray(item) ? textOf(item[1]) : '');
  return { running: running.map(idOf), waiting: waiting.map(idOf) };
}

/** A file that a node has written, as `GET /view` is asked for it. */
export interface PlacedPicture {
  node: string;
  filename: string;
  subfolder: string;
  /** `temp` for previews, which end with ComfyUI. */
  type: string;
}

export type HistoryEntry = { times: { executionTimeMs?: number } } & (
  { kind: 'done'; pictures: PlacedPicture[] } | { kind: 'failed' | 'interrupted'; text: string }
);

/** What an answer to `GET /history/{id}` says of it; undefined where it is no such answer. */
export function historyIn(answer: JsonObject, promptId: string): HistoryEntry | 'absent' | undefined {
  const entry = answer[promptId];
  if (!isJsonObject(entry)) return Object.keys(answer).length === 0 ? 'absent' : undefined;
  const status = isJsonObject(entry['status']) ? entry['status'] : {};
  const messages = (Array.isArray(status['messages']) ? status['messages'] : []).flatMap(readMessage);
  const last = messages.at(-1);
  const tookMs = Number(last?.data['timestamp']) - Number(messages[0]?.data['timestamp']);
  const times = tookMs >= 0 ? { executionTimeMs: tookMs } : {};
  if (status['completed'] !== false) return { kind: 'done', pictures: picturesIn(entry['outputs']), times };
  const [id, type] = [last?.data['node_id'], last?.data['node_type']].map(textOf);
  const at = id ? ` at node ${nodeName(id, { class_type: type ?? '' })}` : '';
  if (last?.type === 'execution_interrupted')
    return { kind: 'interrupted', text: `it was interrupted${at}`, times };
  const said = [last?.data['exception_type'], last?.data['exception_message']].map(textOf).join(': ');
  const text = last?.type === 'execution_error' ? `it failed${at}: ${said}` : 'it gave no reason';
  return { kind: 'failed', text: oneLine(text) ?? '', times };
}

function readMessage(message: JsonValue): { type: string; data: JsonObject }[] {
  const [type, data] = Array.isArray(message) ? message : [];
  return typeof type === 'string' && isJsonObject(data) ? [{ type, data }] : [];
}

function picturesIn(outputs: unknown): PlacedPicture[] {
  return Object.entries(isJsonObject(outputs) ? outputs : {}).flatMap(([node, output]) => {
    const images = isJsonObject(output) && Array.isArray(output['images']) ? output['images'] : [];
    return images.filter(isJsonObject).map(({ filename, subfolder, type }) => {
      return { node, filename: textOf(filename), subfolder: textOf(subfolder), type: textOf(type) };
    });
  });
}

/** Those of the `node`, or without one of all that save; previews where none does. */
export function chosenPictures(pictures: PlacedPicture[], node: string | undefined): PlacedPicture[] {
  if (node !== undefined) return pictures.filter((picture) => picture.node === node);
  const saved = pictures.filter(({ type }) => type === 'output');
  return saved.length > 0 ? saved : pictures.filter(({ type }) => type === 'temp');
}

export function viewPath({ filename, subfolder, type }: PlacedPicture): string {
  return `/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`;
}

/** What a ComfyUI whose `GET /object_info` answers so lacks: nodes, and models and other choices of their inputs. */
export function workflowProblems(workflow: Workflow, objectInfo: JsonObject): string[] {
  return Object.entries(workflow).flatMap(([id, node]) => {
    const name = nodeName(id, node);
    const info = Object.hasOwn(objectInfo, node.class_type) ? objectInfo[node.class_type] : undefined;
    if (!isJsonObject(info)) return `node ${name}: this ComfyUI has no such node; install it there`;
    return Object.entries(node.inputs).flatMap(([input, value]) => {
      const choices = choicesOf(info['input'], input);
      if (choices === undefined || Array.isArray(value) || choices.includes(value)) return [];
      const there = choices.length === 0 ? 'it has none' : `it has ${few(choices.map(shown))}`;
      return `node ${name}: this ComfyUI does not have ${shown(value)} for ${input}; ${there}`;
    });
  });
}

/** Undefined for an input that takes any value, and for files, which may lie in folders that are not listed. */
function choicesOf(inputs: unknown, name: string): JsonValue[] | undefined {
  const { required, optional } = isJsonObject(inputs) ? inputs : {};
  const declared = [required, optional].flatMap((each) => (isJsonObject(each) ? (each[name] ?? []) : []));
  const [type, config] = declared as (JsonValue | undefined)[];
  const options = isJsonObject(config) ? config : {};
  if (Object.keys(options).some((key) => key.endsWith('_upload'))) return undefined;
  if (Array.isArray(type)) return type;
  return type === 'COMBO' && Array.isArray(options['options']) ? options['options'] : undefined;
}

function nodeOf(workflow: Workflow, id: string): WorkflowNode | undefined {
  return Object.hasOwn(workflow, id) ? workflow[id] : undefined;
}

/** `6 (CLIPTextEncode)`. */
function nodeName(id: string, node: unknown): string {
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

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
