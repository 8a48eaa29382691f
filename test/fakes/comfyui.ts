/** A ComfyUI of the tests' own: it answers as version 0.3.64 was seen to, runs one workflow at a time, and can be made to fail. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { basename, join, parse } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';
import { reset, send, sendJson } from '../faults/answers.ts';
import { failureIn, imagesOf, objectInfo, upstream, validate } from './comfyui-nodes.ts';

interface Item {
  number: number;
  id: string;
  workflow: Workflow;
  extra: JsonObject;
  outputs: string[];
  isInterrupted: boolean;
}

export class ComfyStandIn {
  url = '';
  /** Of every request; body and key as they came. */
  readonly requests: { method: string; path: string; body: string; key: string }[] = [];
  /** Workflows that were accepted, in their order. */
  readonly accepted: { id: string; workflow: Workflow }[] = [];
  /** Nothing ends until `release`. */
  isHeld = false;
  /** What TestSyncError says. */
  complaint = 'Intentional sync execution error for testing\n';
  /** So many of the next submissions are accepted, and their answers lost. */
  lostAnswers = 0;
  /** Names of the files that were uploaded, in their order. */
  readonly uploaded: string[] = [];
  /** So many of the next uploads are kept, and their answers lost. */
  lostUploads = 0;
  /** Answers in its place where it returns true. */
  meet: ((path: string, response: ServerResponse) => boolean) | undefined;
  readonly server: Server;
  #number = 0;
  #pending: Item[] = [];
  #running: Item | undefined;
  #history = new Map<string, JsonObject>();
  /** By type, folder and name. */
  #files = new Map<string, Buffer>();
  /** What the last workflow left in memory. */
  #cached: { workflow: string; outputs: JsonObject } | undefined;
  #wake = (): void => undefined;
  #turn: Promise<void> | undefined;

  constructor() {
    this.server = createServer((request, response) => {
      this.#answer(request, response).catch(() => {
        send(response, 500, '500 Internal Server Error\n\nServer got itself in trouble');
      });
    });
  }

  /** What runs now goes on; resolves when it has ended, and the next one has begun. */
  async release(): Promise<void> {
    this.#wake();
    await this.#turn;
  }

  /** Queue, history and previews are gone, and who was connected is cut off; what was saved stays. */
  restart(): void {
    this.#pending = [];
    this.#running = undefined;
    this.#history.clear();
    this.#cached = undefined;
    this.#number = 0;
    for (const key of this.#files.keys()) if (key.startsWith('temp/')) this.#files.delete(key);
    this.server.closeAllConnections();
    this.#wake();
  }

  /** Somebody empties its folders, or one of them, such as `input/`. */
  removeFiles(folder = ''): void {
    for (const key of this.#files.keys()) if (key.startsWith(folder)) this.#files.delete(key);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const bytes = await buffer(request);
    const body = bytes.toString();
    this.requests.push({ method, path, body, key: headers.authorization ?? '' });
    if (this.meet?.(path, response) === true) return;
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    const [, operation = '', id] = pathname.split('/');
    switch (`${method} ${operation}`) {
      case 'POST prompt':
        return this.#submit(JSON.parse(body) as JsonObject, response);
      case 'POST upload':
        return this.#upload(bytes, headers['content-type'] ?? '', response);
      case 'GET queue':
        return sendJson(response, {
          queue_running: (this.#running === undefined ? [] : [this.#running]).map(asListed),
          queue_pending: this.#pending.map(asListed),
        });
      case 'POST queue': {
        const { delete: ids = [] } = JSON.parse(body) as { delete?: string[] };
        this.#pending = this.#pending.filter((item) => !ids.includes(item.id));
        return send(response, 200);
      }
      case 'POST interrupt':
        this.#interrupt(body === '' ? {} : (JSON.parse(body) as JsonObject));
        return send(response, 200);
      case 'GET history': {
        const all = [...this.#history].filter(([each]) => id === undefined || each === id);
        return sendJson(response, Object.fromEntries(all));
      }
      case 'GET view':
        return this.#view(searchParams, response);
      case 'GET system_stats':
        return sendJson(response, { system: { comfyui_version: '0.3.64', os: 'posix' }, devices: [] });
      case 'GET object_info':
        return sendJson(response, objectInfo);
      default:
        return send(response, 404, '404: Not Found');
    }
  }

  #submit(sent: JsonObject, response: ServerResponse): void {
    const { prompt, prompt_id: given, client_id, extra_data } = sent;
    if (prompt === undefined) {
      const message = 'No prompt provided';
      const error = { type: 'no_prompt', message, details: message, extra_info: {} };
      return sendJson(response, { error, node_errors: {} }, 400);
    }
    const workflow = prompt as Workflow;
    const number = this.#number++;
    const { outputs, error, nodeErrors } = validate(workflow, this.#readInput);
    if (error !== undefined) return sendJson(response, { error, node_errors: nodeErrors }, 400);
    const id = typeof given === 'string' ? given : randomUUID();
    const extra = { ...(extra_data as JsonObject), ...(client_id !== undefined && { client_id }) };
    this.accepted.push({ id, workflow });
    this.#pending.push({ number, id, workflow, extra, outputs, isInterrupted: false });
    this.#runNext();
    if (this.lostAnswers === 0) return sendJson(response, { prompt_id: id, number, node_errors: nodeErrors });
    this.lostAnswers -= 1;
    reset(response);
  }

  /** As `server.py` has it: a file of the same name stays if the content is equal; another one gets another name. */
  async #upload(bytes: Buffer, type: string, response: ServerResponse): Promise<void> {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
    const [image, folder, overwrite] = [
      form.get('image'),
      form.get('type') ?? 'input',
      form.get('overwrite'),
    ];
    const subfolder = form.get('subfolder') ?? '';
    if (typeof image === 'string' || typeof folder !== 'string' || typeof subfolder !== 'string')
      throw new Error('a text is no file');
    if (!['input', 'temp', 'output'].includes(folder)) throw new Error(`no folder for ${folder}`);
    if (image === null || join(subfolder, image.name).startsWith('..')) return send(response, 400);
    const content = Buffer.from(await image.arrayBuffer());
    const { name: stem, ext } = parse(image.name);
    let name = image.name;
    const keyOf = (): string => join(folder, subfolder, name);
    const isTaken = (): boolean =>
      overwrite !== 'true' && this.#files.get(keyOf())?.equals(content) === false;
    for (let i = 1; isTaken(); i += 1) name = `${stem} (${i})${ext}`;
    this.#files.set(keyOf(), content);
    this.uploaded.push(name);
    if (this.lostUploads === 0) return sendJson(response, { name, subfolder, type: folder });
    this.lostUploads -= 1;
    reset(response);
  }

  /** The content of a file by its name in a workflow: `sub/a.png`, `t.png [temp]`. */
  readonly #readInput = (named: string): Buffer | undefined => {
    const [, name = '', folder = 'input'] = /^(.*?)(?: \[(input|temp|output)\])?$/.exec(named) ?? [];
    return this.#files.get(join(folder, name));
  };

  #interrupt({ prompt_id: id }: JsonObject): void {
    if (this.#running === undefined || (id !== undefined && id !== this.#running.id)) return;
    this.#running.isInterrupted = true;
    this.#wake();
  }

  #runNext(): void {
    const item = this.#running === undefined ? this.#pending.shift() : undefined;
    if (item === undefined) return;
    this.#running = item;
    this.#turn = this.#run(item);
  }

  async #run(item: Item): Promise<void> {
    const ended = await this.#execute(item);
    // It has been restarted meanwhile.
    if (this.#running !== item) return;
    this.#history.set(item.id, { prompt: asListed(item), ...ended });
    this.#running = undefined;
    this.#runNext();
  }

  async #execute(item: Item): Promise<JsonObject> {
    const { id, workflow } = item;
    const messages: JsonValue[] = [];
    const add = (type: string, more: JsonObject = {}): void =>
      void messages.push([type, { prompt_id: id, ...more, timestamp: Date.now() }]);
    const needed = item.outputs.flatMap((output) => upstream(workflow, output));
    const equal = JSON.stringify(workflow);
    const cached = this.#cached?.workflow === equal ? this.#cached.outputs : undefined;
    add('execution_start');
    add('execution_cached', { nodes: cached === undefined ? [] : needed });
    const sleeping = needed.find((each) => workflow[each]?.class_type === 'TestSleep') ?? '';
    if (cached === undefined) await this.#sleep(workflow[sleeping]?.inputs['seconds']);
    const failure = failureIn(workflow, needed, this.complaint);
    if (item.isInterrupted) {
      add('execution_interrupted', { node_id: sleeping, node_type: 'TestSleep', executed: [] });
    } else if (failure !== undefined) {
      add('execution_error', failure);
    } else {
      const outputs = cached ?? (await this.#save(item).catch(() => undefined));
      if (outputs === undefined) {
        const exception = {
          exception_type: 'PIL.UnidentifiedImageError',
          exception_message: 'cannot identify image file',
        };
        add('execution_error', { node_id: '10', node_type: 'LoadImage', ...exception });
        return { outputs: {}, status: { status_str: 'error', completed: false, messages }, meta: {} };
      }
      this.#cached = { workflow: equal, outputs };
      add('execution_success');
      return { outputs, status: { status_str: 'success', completed: true, messages }, meta: {} };
    }
    return { outputs: {}, status: { status_str: 'error', completed: false, messages }, meta: {} };
  }

  /** Until it is woken; for so long, unless it is held. */
  async #sleep(seconds: JsonValue = 0): Promise<void> {
    if (!this.isHeld && seconds === 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (!this.isHeld) setTimeout(resolve, Number(seconds) * 1_000).unref();
    });
  }

  async #save({ workflow, outputs }: Item): Promise<JsonObject> {
    const saved: JsonObject = {};
    for (const output of outputs) {
      const images: JsonValue[] = [];
      const { class_type: kind, inputs } = workflow[output] ?? {};
      const type = kind === 'SaveImage' ? 'output' : 'temp';
      const given = inputs?.['filename_prefix'];
      const prefix = typeof given === 'string' ? given : `ComfyUI_temp_${output}`;
      const subfolder = prefix.includes('/') ? prefix.slice(0, prefix.lastIndexOf('/')) : '';
      for (const png of await imagesOf(workflow, output, this.#readInput)) {
        const nameOf = (count: number): string =>
          `${basename(prefix)}_${String(count).padStart(5, '0')}_.png`;
        let count = 1;
        while (this.#files.has(join(type, subfolder, nameOf(count)))) count += 1;
        this.#files.set(join(type, subfolder, nameOf(count)), png);
        images.push({ filename: nameOf(count), subfolder, type });
      }
      saved[output] = { images };
    }
    return saved;
  }

  #view(query: URLSearchParams, response: ServerResponse): void {
    const [filename, type] = [query.get('filename') ?? '', query.get('type') ?? 'output'];
    if (filename.includes('..') || !['output', 'temp', 'input'].includes(type)) return send(response, 400);
    const file = this.#files.get(join(type, query.get('subfolder') ?? '', filename));
    if (file === undefined) return send(response, 404);
    send(response, 200, file, { 'content-type': 'image/png' });
  }
}

/** Ends with the test. */
export async function startComfyStandIn(): Promise<ComfyStandIn> {
  const comfy = new ComfyStandIn();
  comfy.url = await listenOnLoopback(comfy.server);
  return comfy;
}

function asListed({ number, id, workflow, extra, outputs }: Item): JsonValue {
  return [number, id, workflow, extra, outputs];
}
