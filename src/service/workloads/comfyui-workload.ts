/** ComfyUI servers ("boxes") as a workload: each is one worker and runs the endpoint's workflow, one job at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { proxiedAgent } from '../../lib/net/proxied-agent.ts';
import { proxyRules } from '../../lib/net/addresses.ts';
import {
  chosenFiles,
  type ComfyuiAnswer,
  ComfyuiDriver,
  type ComfyuiOutcome,
  type ComfyuiRequest,
  type NothingTold,
  type PlacedFile,
  viewPath,
} from '../../protocol/comfyui-driver.ts';
import {
  fillWorkflow,
  promptIdOf,
  seedIn,
  setProblems,
  type Workflow,
} from '../../protocol/comfyui-workflow.ts';
import { bodyText, isSuccess } from '../../protocol/error-text.ts';
import { parseExactly } from '../../protocol/json-value.ts';
import { oneLine } from '../../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectIn } from '../../lib/text/json.ts';
import { scanJson } from '../../lib/text/scan-json.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import { valuesFor, workflowAt, type WorkflowSet } from './job-workflow.ts';
import {
  defaultAnswerLimits,
  JsonText,
  type RunReport,
  thrownText,
  type Worker,
  WorkerAway,
  WorkerDied,
  type Workload,
  type WorkloadJob,
} from './workload-definition.ts';

export interface ComfyuiOptions {
  /** Addresses of the boxes, without a trailing slash. */
  urls: readonly string[];
  /** Absolute path of a workflow in ComfyUI's API format. */
  workflow: string;
  set: WorkflowSet;
  /** First pause between two polls of a job, in ms; pauses grow to one second. Default 100. */
  pollMs?: number;
  /** Maximum time to cancel a job, in ms. Default 5,000. */
  cancelMs?: number;
  /** Maximum size of a result in bytes; `defaultAnswerLimits` by default. */
  maxBytes?: number | undefined;
}

/** Number of consecutive unanswered requests after which a box counts as unreachable. */
const maxFailures = 3;
const maxPollMs = 1_000;
const idleCheckMs = 10_000;

export function comfyuiWorkload(options: ComfyuiOptions): Workload {
  /** Boxes without a worker. The one tried last is at the end, so that the others are tried first. */
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
        log(`ComfyUI ${await versionOf(box, signal)} at ${url}`);
        return new ComfyuiWorker(box, workflow, options, letGo);
      } catch (error) {
        letGo();
        await box.close();
        throw error;
      }
    },
  };
}

/** Reads the workflow again, because its file may have changed since the service checked it. */
function workflowOf({ workflow: path, set }: ComfyuiOptions): Workflow {
  const read = workflowAt(path);
  if ('problem' in read) throw new Error(`${path} ${read.problem}`);
  const [problem] = setProblems(read.workflow, Object.keys(set));
  if (problem !== undefined) throw new Error(`${path} has changed: ${problem}`);
  return read.workflow;
}

/** Far more values than a workflow can use; bounds the work of parsing an input. */
const maxInputValues = 10_000;

/** Parses a job's input. Throws an error with a message for the client. */
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
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    // The prompt id derives from the job id, so a restarted service finds a prompt that a killed one submitted.
    const files = this.#follow(promptIdOf(id), values, stop);
    this.#running = files
      .catch((error: unknown) => void (error instanceof WorkerDied && this.#end(error.message)))
      .finally(() => (this.#running = undefined));
    return new JsonText(outputOf(await files, seedIn(values)));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#end('it was stopped');
  }

  async #follow(promptId: string, values: JsonObject, stop: AbortSignal): Promise<FetchedFile[]> {
    const { url, driver } = this.#box;
    const begunAt = performance.now();
    let jobId = promptId;
    let [isThere, failures] = [false, 0];
    for (;;) {
      try {
        const job = await driver.look(jobId, stop);
        if (job.kind === 'nothing-told') throw failureOf(url, job);
        if (job.kind === 'done') return await this.#fetch(job.files, stop);
        if (job.kind === 'waiting' || job.kind === 'running') isThere = true;
        else if (!isThere) {
          // A failure that exists before this submission belongs to an earlier attempt.
          jobId = await this.#submit(promptId, values);
          isThere = true;
        } else if ('text' in job) throw new Error(job.text);
        else throw new WorkerDied(`ComfyUI at ${url} lost the job: it was restarted`);
        failures = 0;
      } catch (error) {
        if (!(error instanceof BoxAway) && !stop.aborted) throw error;
        failures += 1;
        if (failures >= maxFailures && !stop.aborted)
          throw new (isThere ? WorkerDied : WorkerAway)(thrownText(error));
      }
      const pauseMs = (this.#options.pollMs ?? 100) * (failures === 0 ? 1 : 10);
      const grownMs = Math.min(maxPollMs, pauseMs + (performance.now() - begunAt) / 10);
      await sleep(grownMs, undefined, { signal: stop }).catch(() => undefined);
      if (!stop.aborted) continue;
      // Nobody fetches the result any more, so the box need not finish the job.
      await driver.cancel(jobId, this.#cancelling());
      throw new Error('the job is no longer wanted');
    }
  }

  /** Returns the id of the job. A submission is never cut: ComfyUI could accept the workflow after the job was cancelled. */
  async #submit(promptId: string, values: JsonObject): Promise<string> {
    const { url, driver } = this.#box;
    const prompt = fillWorkflow(this.#workflow, values, `nightrender/${promptId}`);
    const uncut = new AbortController().signal;
    const reply = await driver.submit(promptId, prompt, Object.keys(values), uncut, () => this.#cancelling());
    if (reply.kind === 'accepted') return reply.jobId;
    if (reply.kind === 'refused') {
      const what = reply.isOfWorkflow ? 'the workflow' : 'what the input sets';
      throw new Error(`ComfyUI refused ${what}: ${reply.why}`);
    }
    if (reply.why.kind !== 'answered') throw failureOf(url, reply);
    const { status, body } = reply.why.answer;
    // The next poll shows if ComfyUI has the job.
    if (isSuccess(status)) return promptId;
    const text = `${url}/prompt answered ${status}: ${bodyText(body.toString()) ?? 'an empty body'}`;
    throw status < 500 ? new Error(text) : new WorkerDied(text);
  }

  /** Returns the time limit of a cancellation. Without it, a box that answers late would delay the end of the service. */
  #cancelling(): AbortSignal {
    return AbortSignal.timeout(this.#options.cancelMs ?? defaultCancelMs);
  }

  /** Fetches pictures and clips one by one. Throws as soon as the result would exceed `maxBytes`. */
  async #fetch(all: PlacedFile[], stop: AbortSignal): Promise<FetchedFile[]> {
    const chosen = chosenFiles(all, { media: 'all' }).map((file) => ({ ...file, list: listOf(file) }));
    const files = lists.flatMap((list) => chosen.filter((file) => file.list === list));
    if (files.length === 0) throw new Error('no node of the workflow saved a picture or a clip');
    const { maxBytes = defaultAnswerLimits.maxBytes } = this.#options;
    const fetched: FetchedFile[] = [];
    let left = maxBytes;
    for (const [index, { list, ...file }] of files.entries()) {
      const { filename, node, media } = file;
      // Base64 encodes three bytes in four characters.
      const maxFileBytes = Math.floor((left * 3) / 4);
      const outcome = await this.#box.send({ path: viewPath(file) }, stop, maxFileBytes);
      const name = `${filename} of node ${node}`;
      if (outcome.kind === 'too-large')
        throw new Error(
          `the result would exceed ${maxBytes} bytes with ${media === undefined ? 'picture' : 'clip'} ${index + 1} of ${files.length} (${filename})`,
        );
      if (outcome.kind === 'broken') throw new BoxAway(outcome.why);
      const { status, bytes } = outcome.answer;
      if (status === 404) throw new Error(`${name} no longer exists`);
      if (status !== 200) throw new BoxAway(`${this.#box.url} answered ${status} for ${name}`);
      const opening = list === files[index - 1]?.list ? ',' : `${index === 0 ? '{' : '],'}"${list}":[`;
      const before = `${opening}{"filename":${JSON.stringify(filename)},"type":"base64","data":"`;
      const length = Buffer.byteLength(before) + Math.ceil(bytes.length / 3) * 4 + afterFile.length;
      fetched.push({ before, bytes, length });
      left -= length;
    }
    return fetched;
  }

  /** Ends the worker if its idle box no longer answers. Polling a job notices this by itself. */
  async #checkIdle(): Promise<void> {
    if (this.#running !== undefined) return;
    const why = await versionOf(this.#box).then(() => undefined, thrownText);
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

interface FetchedFile {
  /** JSON text that precedes the base64 data. */
  before: string;
  bytes: Buffer;
  /** Size of the file's JSON text in bytes. */
  length: number;
}

const afterFile = '"}';

/** Members of the output that list files, in their order. */
const lists = ['images', 'videos', 'audio'] as const;

function listOf({ media }: PlacedFile): (typeof lists)[number] {
  return media === undefined ? 'images' : media === 'video' ? 'videos' : 'audio';
}

/** Returns the JSON of a job's output. Files are encoded straight into one buffer, to save memory. */
function outputOf(files: FetchedFile[], seed: JsonValue | undefined): Buffer {
  const last = seed === undefined ? ']}' : `],"seed":${JSON.stringify(seed)}}`;
  const output = Buffer.allocUnsafe(files.reduce((sum, file) => sum + file.length, Buffer.byteLength(last)));
  let at = 0;
  for (const { before, bytes } of files) {
    at += output.write(before, at);
    at += output.write(bytes.toString('base64'), at, 'latin1');
    at += output.write(afterFile, at);
  }
  output.write(last, at);
  return output;
}

/** The box did not answer, or not as ComfyUI does. A later request may succeed. */
class BoxAway extends Error {}

const connectTimeoutMs = 10_000;
/** ComfyUI answers late while it loads a model. */
const answerTimeoutMs = 30_000;
const defaultCancelMs = 5_000;
/** Equals the default maximum size of a result. */
const maxAnswerBytes = 100 * 1024 * 1024;

interface BoxAnswer extends ComfyuiAnswer {
  body: Buffer;
}

type BoxOutcome = ComfyuiOutcome<{ status: number; bytes: Buffer }>;

class ComfyuiBox {
  readonly url: string;
  readonly driver: ComfyuiDriver<BoxAnswer>;
  readonly #connections = proxiedAgent(proxyRules(process.env), {
    connect: { timeout: connectTimeoutMs },
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
  });

  constructor(url: string) {
    this.url = url;
    this.driver = new ComfyuiDriver({
      send: async (sent, signal) => {
        const outcome = await this.send(sent, signal, maxAnswerBytes);
        if (outcome.kind !== 'answered') return outcome;
        const { status, bytes: body } = outcome.answer;
        return { kind: 'answered', answer: { status, body, json: objectIn(body.toString()) } };
      },
      pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    });
  }

  /** Sends one request. Never rejects. Aborts the request if its answer exceeds `maxBytes`. */
  async send({ path, body }: ComfyuiRequest, signal: AbortSignal, maxBytes: number): Promise<BoxOutcome> {
    const chunks: Buffer[] = [];
    let byteCount = 0;
    try {
      const answer = await request(this.url + path, {
        method: body === undefined ? 'GET' : 'POST',
        ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
        dispatcher: this.#connections,
        signal,
      });
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        byteCount += chunk.length;
        // Leaving the loop aborts the request.
        if (byteCount > maxBytes) return { kind: 'too-large' };
        chunks.push(chunk);
      }
      const bytes = Buffer.concat(chunks, byteCount);
      return { kind: 'answered', answer: { status: answer.statusCode, bytes } };
    } catch (error) {
      return { kind: 'broken', wasSent: true, why: `${this.url} does not answer: ${whyOf(error)}` };
    }
  }

  /** Closes all connections. Requests in progress are aborted. */
  async close(): Promise<void> {
    await this.#connections.destroy();
  }
}

/** Returns the version of ComfyUI on a box. Throws `BoxAway` if the box does not answer as ComfyUI does. */
async function versionOf(
  { driver, url }: ComfyuiBox,
  signal = new AbortController().signal,
): Promise<string> {
  const stats = await driver.stats(signal);
  if (stats.kind === 'nothing-told') throw failureOf(url, stats);
  const { system } = stats.json;
  const version = isJsonObject(system) ? system['comfyui_version'] : undefined;
  return typeof version === 'string' ? version : 'of an unknown version';
}

function failureOf(url: string, { path, why }: NothingTold<BoxAnswer>): Error {
  switch (why.kind) {
    case 'too-large':
      return new Error(`the answer of ${url}${path} is larger than ${maxAnswerBytes} bytes`);
    case 'broken':
      return new BoxAway(why.why);
    case 'unreadable':
      return new BoxAway(`the server at ${url} is not ComfyUI`);
    case 'answered':
      return new BoxAway(`${url}${path} answered ${why.answer.status}, and not as ComfyUI does`);
  }
}

function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return oneLine(error.message) ?? ('code' in error ? String(error.code) : error.name);
}
