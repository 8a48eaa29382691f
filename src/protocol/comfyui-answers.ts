/** Reads the answers of ComfyUI: acceptances, refusals, its queue and its history. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { nodeName, textOf } from './comfyui-workflow.ts';

/** Returns the id of the job in an answer to `POST /prompt`. */
export function promptIdIn(answer: JsonObject): string | undefined {
  const id = answer['prompt_id'];
  return typeof id === 'string' && /^[\w-]{1,128}$/.test(id) ? id : undefined;
}

/** Returns why ComfyUI does not run the workflow, or a part of it. Undefined if it runs all of it. */
export function refusalIn(answer: JsonObject): string | undefined {
  const ofNodes = nodeErrorsIn(answer).map(
    ({ id, error, each }) => `node ${nodeName(id, error)}: ${each.map(errorWords).join('; ') || 'no reason'}`,
  );
  if (ofNodes.length > 0) return oneLine(ofNodes.join('. '));
  const { error } = answer;
  if (error === undefined) return undefined;
  // The message names a node by its title, without its class.
  const info = isJsonObject(error) && isJsonObject(error['extra_info']) ? error['extra_info'] : {};
  const id = textOf(info['node_id']);
  return id === '' ? errorWords(error) : `node ${nodeName(id, info)}: ${errorWords(error)}`;
}

/** Types of errors that concern the whole workflow. */
const ofWholeWorkflow = new Set([
  'invalid_prompt',
  'missing_node_type',
  'prompt_no_outputs',
  'no_prompt',
  'invalid_prompt_id',
]);

/**
 * True if ComfyUI refuses something that no scene sets, so that it refuses every scene. An error counts by
 * its place, whatever its type. `set`: the keys that scenes set, as `node.input`.
 */
export function isFaultOfWorkflow(answer: JsonObject, set: readonly string[]): boolean {
  const isSet = (id: string, input: string): boolean =>
    set.some((key) => (input === '' ? key.startsWith(`${id}.`) : key === `${id}.${input}`));
  const isOfWorkflow = (id: string, error: JsonValue): boolean => {
    const { type, extra_info: info } = isJsonObject(error) ? error : {};
    // A node's own check uses all of its inputs, and ComfyUI reports the error for each of them.
    const hasPlace = isJsonObject(info) && type !== 'custom_validation_failed';
    return !isSet(id, hasPlace ? textOf(info['input_name']) : '');
  };
  const { error } = answer;
  if (isJsonObject(error)) {
    const { type, extra_info: info } = error;
    const id = isJsonObject(info) ? textOf(info['node_id']) : '';
    if (ofWholeWorkflow.has(textOf(type)) || (id !== '' && isOfWorkflow(id, error))) return true;
  }
  return nodeErrorsIn(answer).some(({ id, each }) =>
    each.length === 0 ? !isSet(id, '') : each.some((one) => isOfWorkflow(id, one)),
  );
}

function nodeErrorsIn({
  node_errors: errors,
}: JsonObject): { id: string; error: JsonValue; each: JsonValue[] }[] {
  return Object.entries(isJsonObject(errors) ? errors : {}).map(([id, error]) => {
    return { id, error, each: isJsonObject(error) && Array.isArray(error['errors']) ? error['errors'] : [] };
  });
}

function errorWords(error: JsonValue): string {
  if (!isJsonObject(error)) return oneLine(JSON.stringify(error)) ?? '';
  const [message, details] = [textOf(error['message']), textOf(error['details'])];
  return oneLine(details === '' ? message : `${message} (${details})`) ?? 'no reason';
}

/** Returns the ids in an answer to `GET /queue`; undefined if it is no such answer. */
export function queueIn(answer: JsonObject): { running: string[]; waiting: string[] } | undefined {
  const { queue_running: running, queue_pending: waiting } = answer;
  if (!Array.isArray(running) || !Array.isArray(waiting)) return undefined;
  const idOf = (item: JsonValue): string => (Array.isArray(item) ? textOf(item[1]) : '');
  return { running: running.map(idOf), waiting: waiting.map(idOf) };
}

/** A file that a node has written, as `GET /view` requests it. */
export interface PlacedPicture {
  node: string;
  filename: string;
  subfolder: string;
  /** `temp` for previews, which disappear when ComfyUI ends. */
  type: string;
}

export type HistoryEntry = { times: { executionTimeMs?: number } } & (
  { kind: 'done'; pictures: PlacedPicture[] } | { kind: 'failed' | 'interrupted'; text: string }
);

/** Reads an answer to `GET /history/{id}`; undefined if it is no such answer. */
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

/** Returns the pictures of the `node`. If undefined, returns those of all nodes that save, or previews if none does. */
export function chosenPictures(pictures: PlacedPicture[], node: string | undefined): PlacedPicture[] {
  if (node !== undefined) return pictures.filter((picture) => picture.node === node);
  const saved = pictures.filter(({ type }) => type === 'output');
  return saved.length > 0 ? saved : pictures.filter(({ type }) => type === 'temp');
}

export function viewPath({ filename, subfolder, type }: PlacedPicture): string {
  return `/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`;
}
