/** A box with ComfyUI over HTTP: one workflow is sent to it, looked for, fetched from and cancelled by its id. */
import { Agent, request, type Dispatcher } from 'undici';
import { oneLine } from '../../lib/text/format.ts';
import { bodyText } from '../../protocol/error-text.ts';
import {
  historyIn,
  queueIn,
  refusalIn,
  viewPath,
  type HistoryEntry,
  type PlacedPicture,
  type Workflow,
} from '../../protocol/comfyui.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import { WorkerDied } from './workload.ts';

/** It did not answer, or not as ComfyUI does: it may at another time. */
export class BoxAway extends Error {}

/** The rest of it was not read. */
export class AnswerTooLarge extends Error {}

export type BoxJob = { kind: 'running' | 'waiting' | 'absent' } | HistoryEntry;

const connectTimeoutMs = 10_000;
/** It answers late while it loads a model. */
const answerTimeoutMs = 30_000;
const cancelTimeoutMs = 5_000;
/** As much as a result may have by default. */
const maxAnswerBytes = 100 * 1024 * 1024;

interface Answer {
  status: number;
  bytes: Buffer;
}

export class ComfyuiBox {
  readonly url: string;
  readonly #connections = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
  });

  constructor(url: string) {
    this.url = url;
  }

  /** Of its ComfyUI. */
  async version(signal?: AbortSignal): Promise<string> {
    const { system } = await this.#read('/system_stats', signal);
    const version = isJsonObject(system) ? system['comfyui_version'] : undefined;
    return typeof version === 'string' ? version : 'of an unknown version';
  }

  /** What leaves the queue is in the history at once, so that asked for in this order nothing is overlooked. */
  async look(id: string, signal?: AbortSignal): Promise<BoxJob> {
    const queue = queueIn(await this.#read('/queue', signal));
    if (queue?.running.includes(id) === true) return { kind: 'running' };
    if (queue?.waiting.includes(id) === true) return { kind: 'waiting' };
    const entry = historyIn(await this.#read(`/history/${id}`, signal), id);
    if (queue === undefined || entry === undefined)
      throw new BoxAway(`what answers at ${this.url} is no ComfyUI`);
    return entry === 'absent' ? { kind: 'absent' } : entry;
  }

  /** Rejects with a text for people where it is refused, or a part of it. */
  async submit(id: string, prompt: Workflow): Promise<void> {
    const body = { prompt, prompt_id: id, client_id: 'nightrender', extra_data: {} };
    const { status, bytes } = await this.#ask('/prompt', body);
    const json = parsed(bytes);
    const refusal = json && refusalIn(json);
    const isTaken = isSuccess(status);
    // What it takes of the rest would run for nothing.
    if (isTaken && refusal !== undefined) await this.cancel(id);
    if (refusal !== undefined) throw new Error(`ComfyUI refused the workflow: ${refusal}`);
    if (isTaken) return;
    const text = `${this.url}/prompt answered ${status}: ${bodyText(bytes.toString()) ?? 'an empty body'}`;
    throw status < 500 ? new Error(text) : new WorkerDied(text);
  }

  /** Never stops what is another's: what runs is named, and what waits may have begun in between. Never rejects. */
  async cancel(id: string): Promise<void> {
    const signal = AbortSignal.timeout(cancelTimeoutMs);
    try {
      await this.#ask('/queue', { delete: [id] }, signal);
      const { kind } = await this.look(id, signal);
      if (kind === 'running') await this.#ask('/interrupt', { prompt_id: id }, signal);
    } catch {
      // One that is away may have ended as well; what it still runs, nobody fetches.
    }
  }

  /** Throws `AnswerTooLarge` as soon as it is known to have more than `maxBytes`. */
  async picture(placed: PlacedPicture, maxBytes: number, signal?: AbortSignal): Promise<Buffer> {
    const { status, bytes } = await this.#ask(viewPath(placed), undefined, signal, maxBytes);
    const name = `${placed.filename} of node ${placed.node}`;
    if (status === 404) throw new Error(`${name} is not there any more`);
    if (status !== 200) throw new BoxAway(`${this.url} answered ${status} for ${name}`);
    return bytes;
  }

  /** Requests in progress are cut. */
  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  async #read(path: string, signal?: AbortSignal): Promise<JsonObject> {
    const { status, bytes } = await this.#ask(path, undefined, signal);
    const json = isSuccess(status) ? parsed(bytes) : undefined;
    if (json === undefined)
      throw new BoxAway(`${this.url}${path} answered ${status}, and not as ComfyUI does`);
    return json;
  }

  async #ask(
    path: string,
    body?: JsonObject,
    signal?: AbortSignal,
    maxBytes = maxAnswerBytes,
  ): Promise<Answer> {
    const sent: Partial<Dispatcher.RequestOptions> =
      body === undefined
        ? { method: 'GET' }
        : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    try {
      const answer = await request(this.url + path, {
        ...sent,
        dispatcher: this.#connections,
        ...(signal && { signal }),
      });
      const chunks: Buffer[] = [];
      let byteCount = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        byteCount += chunk.length;
        // Leaving the loop breaks the request off.
        if (byteCount > maxBytes) throw new AnswerTooLarge();
        chunks.push(chunk);
      }
      return { status: answer.statusCode, bytes: Buffer.concat(chunks, byteCount) };
    } catch (error) {
      if (error instanceof AnswerTooLarge)
        throw new AnswerTooLarge(`the answer of ${this.url}${path} is larger than ${maxBytes} bytes`);
      throw new BoxAway(`${this.url} does not answer: ${whyOf(error)}`, { cause: error });
    }
  }
}

function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return oneLine(error.message) ?? ('code' in error ? String(error.code) : error.name);
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function parsed(bytes: Buffer): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString());
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
