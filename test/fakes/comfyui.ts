/**
 * A stand-in for ComfyUI. It answers as version 0.3.64 does and runs one workflow at a time, and tests can make it
 * fail.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { basename, join, parse } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { clipEndings } from '../../src/runner/core/clip.ts';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';
import { reset, send, sendJson } from '../faults/answers.ts';
import { clip } from './clips.ts';
import { clipsOf, failureIn, imagesOf, objectInfo, upstream, validate } from './comfyui-nodes.ts';

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
  /** Requests in order. `body` and `key` (the Authorization header) are unchanged. */
  readonly requests: { method: string; path: string; body: string; key: string }[] = [];
  /** Accepted workflows, in order. */
  readonly accepted: { id: string; workflow: Workflow }[] = [];
  /** True if no workflow ends until `release` is called. */
  isHeld = false;
  /** Message of the error that TestSyncError raises. */
  complaint = 'Intentional sync execution error for testing\n';
  /** Number of next submissions that are accepted but get no answer. */
  lostAnswers = 0;
  /** Names of uploaded files, in order. */
  readonly uploaded: string[] = [];
  /** Number of next uploads that are kept but get no answer. */
  lostUploads = 0;
  /** Answers a request instead of the stand-in if it returns true. */
  meet: ((path: string, response: ServerResponse) => boolean) | undefined;
  readonly server: Server;
  #number = 0;
  #pending: Item[] = [];
  #running: Item | undefined;
  #history = new Map<string, JsonObject>();
  /** Contents by path: type, subfolder and name. */
  #files = new Map<string, Buffer>();
  /**
   * The last workflow with its outputs. A real ComfyUI also keeps them in memory and skips the nodes of an equal
   * workflow.
   */
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

  /** Lets the running workflow go on. Resolves when it has ended and the next one has begun. */
  async release(): Promise<void> {
    this.#wake();
    await this.#turn;
  }

  /** Restarts the server: queue, history and previews are lost, and connections are closed. Saved files stay. */
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

  /** Deletes all files, or those below one folder such as `input/`. */
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

  /**
   * Stores an upload as `server.py` does. If the name exists, equal content keeps it and other content gets a new name.
   */
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

  /** Returns the content of a file by its name in a workflow: `sub/a.png`, `t.png [temp]`. */
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
    // The server was restarted meanwhile.
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

  /** Waits for `seconds` or until it is woken. Waits only to be woken if workflows are held. */
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
      const { class_type: kind = '', inputs } = workflow[output] ?? {};
      const type = kind === 'PreviewImage' ? 'temp' : 'output';
      const { list = 'images', format, beside } = clipsOf[kind] ?? {};
      const ending = format === undefined ? '.png' : clipEndings[format];
      const given = inputs?.['filename_prefix'];
      const prefix = typeof given === 'string' ? given : `ComfyUI_temp_${output}`;
      const subfolder = prefix.includes('/') ? prefix.slice(0, prefix.lastIndexOf('/')) : '';
      const contents =
        format === undefined
          ? await imagesOf(workflow, output, this.#readInput)
          : [clip(format, { mark: `${prefix} ${output}` })];
      for (const content of contents) {
        const nameOf = (count: number): string =>
          `${basename(prefix)}_${String(count).padStart(5, '0')}_${ending}`;
        let count = 1;
        while (this.#files.has(join(type, subfolder, nameOf(count)))) count += 1;
        this.#files.set(join(type, subfolder, nameOf(count)), content);
        images.push({ filename: nameOf(count), subfolder, type });
      }
      saved[output] = { [list]: images, ...beside };
    }
    return saved;
  }

  #view(query: URLSearchParams, response: ServerResponse): void {
    const [filename, folder] = [query.get('filename') ?? '', query.get('type') ?? 'output'];
    if (filename.includes('..') || !['output', 'temp', 'input'].includes(folder)) return send(response, 400);
    const file = this.#files.get(join(folder, query.get('subfolder') ?? '', filename));
    if (file === undefined) return send(response, 404);
    const type = filename.endsWith('.png') ? 'image/png' : 'application/octet-stream';
    send(response, 200, file, { 'content-type': type });
  }
}

/** Starts a stand-in for ComfyUI. It stops when the test ends. */
export async function startComfyStandIn(): Promise<ComfyStandIn> {
  const comfy = new ComfyStandIn();
  comfy.url = await listenOnLoopback(comfy.server);
  return comfy;
}

function asListed({ number, id, workflow, extra, outputs }: Item): JsonValue {
  return [number, id, workflow, extra, outputs];
}
