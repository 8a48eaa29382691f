/** Boxes with ComfyUI as a workload: each is one worker, which has it run the endpoint's workflow, filled for one job after another. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request, type Dispatcher } from 'undici';
import { chosenPictures, type PlacedPicture } from '../../protocol/comfyui-answers.ts';
import {
  ComfyuiDriver,
  fetchPicture,
  type ComfyuiAnswer,
  type ComfyuiJob,
  type ComfyuiRequest,
  type NothingTold,
} from '../../protocol/comfyui-driver.ts';
import {
  fillWorkflow,
  promptIdOf,
  seedIn,
  setProblems,
  type Workflow,
} from '../../protocol/comfyui-workflow.ts';
import { parseExactly } from '../../protocol/json-value.ts';
import { textOf } from '../pool/supervised.ts';
import { valuesFor, workflowAt, type WorkflowSet } from './job-workflow.ts';
import { scanJson } from '../../lib/text/scan-json.ts';
import type { Text } from '../jobs/filed-text.ts';
import {
  defaultAnswerLimits,
  JsonText,
  type RunReport,
  type Worker,
  WorkerAway,
  WorkerDied,
  type Workload,
  type WorkloadJob,
} from './workload.ts';
import { oneLine } from '../../lib/text/format.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';

export interface ComfyuiOptions {
  /** Of the boxes, without a slash at the end. */
  urls: readonly string[];
  /** A file in API format, absolute. */
  workflow: string;
  set: WorkflowSet;
  /** How soon a job is looked for first; the waits grow to a second. */
  pollMs?: number;
  /** Of a result; the usual limit by default. */
  maxBytes?: number | undefined;
}

/** Without an answer, one after the other: then the box is away. */
const maxFailures = 3;
const maxPollMs = 1_000;
const idleCheckMs = 10_000;

export function comfyuiWorkload(options: ComfyuiOptions): Workload {
  /** Without a worker; the one that was tried last comes last. */
  const free = [...options.urls];
  return {
    name: `ComfyUI ${options.workflow}`,
    startWorker: async ({ log, signal }) => {
      const url = free.shift();
      if (url === undefined) throw new Error('each box with ComfyUI has a worker already');
      const box = new ComfyuiBox(url);
      const letGo = (): void => void free.push(url);
      try {
        const workflow = workflowOf(options);
        log(`ComfyUI ${await box.version(signal)} at ${url}`);
        return new ComfyuiWorker(box, workflow, options, letGo);
      } catch (error) {
        letGo();
        await box.close();
        throw error;
      }
    },
  };
}

/** As it is now. */
function workflowOf({ workflow: path, set }: ComfyuiOptions): Workflow {
  const read = workflowAt(path);
  if ('problem' in read) throw new Error(`${path} ${read.problem}`);
  const [problem] = setProblems(read.workflow, Object.keys(set));
  if (problem !== undefined) throw new Error(`${path} has changed: ${problem}`);
  return read.workflow;
}

/** Its values are texts and numbers, of which no workflow has so many. */
const maxInputValues = 10_000;

/** Throws a text for people. */
async function inputOf(inputText: Text): Promise<unknown> {
  const text = inputText.toString();
  const { kind } = await scanJson(Buffer.from(inputText), [], { maxDepth: 1_000, maxValues: maxInputValues });
  if (kind === 'many') throw new Error(`the input has more than ${maxInputValues} values`);
  return parseExactly(text) ?? JSON.parse(text);
}

class ComfyuiWorker implements Worker {
  readonly ended: Promise<string>;
  readonly #box: ComfyuiBox;
  readonly #workflow: Workflow;
  readonly #options: ComfyuiOptions;
  readonly #letGo: () => void;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #resolveEnded: (reason: string) => void = () => undefined;
  #endedBecause: string | undefined;
  #running: Promise<unknown> | undefined;

  constructor(box: ComfyuiBox, workflow: Workflow, options: ComfyuiOptions, letGo: () => void) {
    this.#box = box;
    this.#workflow = workflow;
    this.#options = options;
    this.#letGo = letGo;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    this.#timer = setInterval(() => void this.#checkIdle(), idleCheckMs).unref();
  }

  async run({ id, inputText }: WorkloadJob, { signal }: RunReport): Promise<unknown> {
    if (this.#endedBecause !== undefined) throw new WorkerAway(this.#endedBecause);
    const values = valuesFor(this.#options.set, await inputOf(inputText));
    // The same each time: what a service that was killed has begun is found again.
    const promptId = promptIdOf(id);
    const prompt = fillWorkflow(this.#workflow, values, `nightrender/${promptId}`);
    const images = this.#follow(promptId, prompt, AbortSignal.any([signal, this.#stop.signal]));
    this.#running = images
      .catch((error: unknown) => void (error instanceof WorkerDied && this.#end(error.message)))
      .finally(() => (this.#running = undefined));
    const seed = seedIn(values);
    const after = seed === undefined ? ']}' : `],"seed":${JSON.stringify(seed)}}`;
    return new JsonText(Buffer.concat([Buffer.from('{"images":['), ...(await images), Buffer.from(after)]));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#end('it was stopped');
  }

  async #follow(promptId: string, prompt: Workflow, stop: AbortSignal): Promise<Buffer[]> {
    const begunAt = performance.now();
    let [isThere, failures] = [false, 0];
    for (;;) {
      try {
        const job = await this.#box.look(promptId, stop);
        if (job.kind === 'done') return await this.#fetch(job.pictures, stop);
        if (job.kind === 'waiting' || job.kind === 'running') isThere = true;
        else if (!isThere) {
          // What it has failed at is of an earlier attempt.
          await this.#box.submit(promptId, prompt);
          isThere = true;
        } else if ('text' in job) throw new Error(job.text);
        else throw new WorkerDied(`ComfyUI at ${this.#box.url} lost the job: it was restarted`);
        failures = 0;
      } catch (error) {
        if (!(error instanceof BoxAway) && !stop.aborted) throw error;
        failures += 1;
        if (failures >= maxFailures && !stop.aborted)
          throw new (isThere ? WorkerDied : WorkerAway)(textOf(error));
      }
      const pauseMs = (this.#options.pollMs ?? 100) * (failures === 0 ? 1 : 10);
      const grownMs = Math.min(maxPollMs, pauseMs + (performance.now() - begunAt) / 10);
      await sleep(grownMs, undefined, { signal: stop }).catch(() => undefined);
      if (!stop.aborted) continue;
      await this.#box.cancel(promptId);
      throw new Error('nobody wants the job any more');
    }
  }

  /** One after the other, as the parts of a list in JSON; none is fetched any more once they are too large together. */
  async #fetch(all: PlacedPicture[], stop: AbortSignal): Promise<Buffer[]> {
    const pictures = chosenPictures(all, undefined);
    if (pictures.length === 0) throw new Error('no node of the workflow saved a picture');
    const { maxBytes = defaultAnswerLimits.maxBytes } = this.#options;
    const images: Buffer[] = [];
    let left = maxBytes;
    for (const [index, placed] of pictures.entries()) {
      // Base64 has four letters for three bytes.
      const picture = await this.#box
        .picture(placed, Math.floor((left * 3) / 4), stop)
        .catch((error: unknown) => {
          if (!(error instanceof AnswerTooLarge)) throw error;
          const where = `picture ${index + 1} of ${pictures.length} (${placed.filename})`;
          throw new Error(`the result would exceed ${maxBytes} bytes with ${where}`, { cause: error });
        });
      const before = `${index === 0 ? '' : ','}{"filename":${JSON.stringify(placed.filename)},"type":"base64","data":"`;
      const parts = [before, picture.toString('base64'), '"}'].map((part) => Buffer.from(part));
      images.push(...parts);
      left -= parts.reduce((sum, { length }) => sum + length, 0);
    }
    return images;
  }

  /** One that is at a job finds out by itself. */
  async #checkIdle(): Promise<void> {
    if (this.#running !== undefined) return;
    const why = await this.#box.version().then(() => undefined, textOf);
    if (why !== undefined && this.#running === undefined) this.#end(why);
  }

  #end(reason: string): void {
    if (this.#endedBecause !== undefined) return;
    this.#endedBecause = reason;
    clearInterval(this.#timer);
    this.#letGo();
    void this.#box.close();
    this.#resolveEnded(reason);
  }
}

/** It did not answer, or not as ComfyUI does: it may at another time. */
class BoxAway extends Error {}

/** The rest of it was not read. */
class AnswerTooLarge extends Error {}

const connectTimeoutMs = 10_000;
/** It answers late while it loads a model. */
const answerTimeoutMs = 30_000;
const cancelTimeoutMs = 5_000;
/** As much as a result may have by default. */
const maxAnswerBytes = 100 * 1024 * 1024;

interface Answer extends ComfyuiAnswer {
  bytes: Buffer;
}

type Outcome =
  | { kind: 'answered'; answer: Answer }
  | { kind: 'too-large' }
  | { kind: 'broken'; wasSent: true; why: string };

/** A box with ComfyUI over HTTP. */
class ComfyuiBox {
  readonly url: string;
  readonly #connections = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
  });
  readonly #driver = new ComfyuiDriver<Answer>({
    send: (sent, signal) => this.#send(sent, signal),
    pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
  });

  constructor(url: string) {
    this.url = url;
  }

  /** Returns the version of its ComfyUI. Throws `BoxAway`. */
  async version(signal?: AbortSignal): Promise<string> {
    const stats = await this.#driver.stats(signal);
    if (stats.kind === 'nothing-told') throw this.#away(stats);
    const { system } = stats.json;
    const version = isJsonObject(system) ? system['comfyui_version'] : undefined;
    return typeof version === 'string' ? version : 'of an unknown version';
  }

  /** Throws `BoxAway`. */
  async look(id: string, signal: AbortSignal): Promise<ComfyuiJob> {
    const job = await this.#driver.look(id, signal);
    if (job.kind === 'nothing-told') throw this.#away(job);
    return job;
  }

  /** Throws an error for people if ComfyUI refuses the workflow or a part of it, `BoxAway` or `WorkerDied`. */
  async submit(id: string, prompt: Workflow): Promise<void> {
    // If a submission is cut, its job may still begin after a look at the queue did not find it.
    const uncut = new AbortController().signal;
    const sent = await this.#driver.submit(id, prompt, [], uncut);
    if (sent.kind === 'accepted') return;
    if (sent.kind === 'refused') throw new Error(`ComfyUI refused the workflow: ${sent.why}`);
    if (sent.why.kind !== 'answered') throw this.#away(sent);
    const { status, bytes } = sent.why.answer;
    const text = `${this.url}/prompt answered ${status}: ${bodyText(bytes.toString()) ?? 'an empty body'}`;
    throw status >= 400 && status < 500 ? new Error(text) : new WorkerDied(text);
  }

  /** Never rejects: a box that is away may have ended as well, and nobody fetches what it still runs. */
  async cancel(id: string): Promise<void> {
    await this.#driver.cancel(id, AbortSignal.timeout(cancelTimeoutMs));
  }

  /** Throws `AnswerTooLarge` as soon as the picture is known to have more than `maxBytes`. */
  async picture(placed: PlacedPicture, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
    const answer = await fetchPicture(placed, (path) => this.#send({ path }, signal, maxBytes));
    const name = `${placed.filename} of node ${placed.node}`;
    switch (answer.kind) {
      case 'fetched':
        return answer.bytes;
      case 'gone':
        throw new Error(`${name} is not there any more`);
      case 'failed': {
        const { why } = answer;
        if (why.kind === 'too-large') throw new AnswerTooLarge(`${name} is larger than ${maxBytes} bytes`);
        const text =
          why.kind === 'broken'
            ? `${this.url} does not answer: ${why.why}`
            : `${this.url} answered ${why.answer.status} for ${name}`;
        throw new BoxAway(text);
      }
    }
  }

  /** Requests in progress are cut. */
  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  #away({ path, why }: NothingTold<Answer>): Error {
    switch (why.kind) {
      case 'answered':
        return new BoxAway(`${this.url}${path} answered ${why.answer.status}, and not as ComfyUI does`);
      case 'too-large':
        return new AnswerTooLarge(`the answer of ${this.url}${path} is larger than ${maxAnswerBytes} bytes`);
      case 'broken':
        return new BoxAway(`${this.url} does not answer: ${why.why}`);
      case 'unreadable':
        return new BoxAway(`what answers at ${this.url} is no ComfyUI`);
    }
  }

  async #send(
    { path, body }: ComfyuiRequest,
    signal: AbortSignal | undefined,
    maxBytes = maxAnswerBytes,
  ): Promise<Outcome> {
    const sent: Partial<Dispatcher.RequestOptions> =
      body === undefined
        ? { method: 'GET' }
        : { method: 'POST', body, headers: { 'content-type': 'application/json' } };
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
        if (byteCount > maxBytes) return { kind: 'too-large' };
        chunks.push(chunk);
      }
      const [status, bytes] = [answer.statusCode, Buffer.concat(chunks, byteCount)];
      return { kind: 'answered', answer: { status, bytes, json: parsed(bytes) } };
    } catch (error) {
      return { kind: 'broken', wasSent: true, why: whyOf(error) };
    }
  }
}

function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return oneLine(error.message) ?? ('code' in error ? String(error.code) : error.name);
}

function parsed(bytes: Buffer): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString());
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
