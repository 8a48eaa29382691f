/** A worker that is a process. It gets jobs and answers in JSON lines, as `command-workload.ts` documents. */
import type { Readable, Writable } from 'node:stream';
import { inspect } from 'node:util';
import { maxJsonDepth, scanJson, valueOrBeginning } from '../../lib/text/scan-json.ts';
import { memberText } from '../../protocol/json-value.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import { longText } from '../jobs/long-texts.ts';
import { type Line, readLines, type WorkerLog } from './worker-log.ts';
import type { WorkerProcess } from './worker-process.ts';
import {
  type AnswerLimits,
  defaultAnswerLimits,
  JsonText,
  type RunReport,
  type Worker,
  WorkerDied,
  type WorkloadJob,
} from './workload-definition.ts';

/** Time for a process that closed its pipes to exit by itself, since its exit code says more about the reason. */
const exitGraceMs = 1_000;

interface Message {
  fields: Record<string, unknown>;
  /** Returns the original JSON text of a field; undefined if there is no such field. */
  written: (key: string) => Text | undefined;
}

interface Run {
  jobId: string;
  report: RunReport;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

export class LineWorker implements Worker {
  readonly ended: Promise<string>;
  /** Resolves with the reason why the worker cannot start, or with undefined when it is ready. */
  readonly #startup: Promise<string | undefined>;
  #onStartup: (failure: string | undefined) => void = () => undefined;
  readonly #process: WorkerProcess;
  readonly #requests: Writable;
  readonly #log: WorkerLog;
  readonly #limits: AnswerLimits;
  /** Resolves when all long lines so far have been handled; undefined if none is being handled. */
  #reading: Promise<void> | undefined;
  #run: Run | undefined;
  #endedBecause: string | undefined;

  constructor({
    process,
    requests,
    answers,
    log,
    limits = defaultAnswerLimits,
  }: {
    process: WorkerProcess;
    requests: Writable;
    answers: Readable;
    log: WorkerLog;
    limits?: AnswerLimits | undefined;
  }) {
    this.#process = process;
    this.#requests = requests;
    this.#log = log;
    this.#limits = limits;
    this.#startup = new Promise((resolve) => {
      this.#onStartup = resolve;
    });
    this.ended = process.ended.then(async (reason) => {
      await this.#reading;
      return this.#noteEnd(reason);
    });
    requests.on('error', () => this.#endSoon('the worker closed its input and can take no more jobs'));
    answers.once('close', () => this.#endSoon('the worker closed its output and can answer no more'));
    readLines(answers, limits.maxBytes, (line) => this.#handleInTurn(line));
  }

  run(job: WorkloadJob, report: RunReport): Promise<unknown> {
    if (this.#run !== undefined) throw new Error('a worker takes one job at a time');
    if (this.#endedBecause !== undefined) return Promise.reject(new WorkerDied(this.#endedBecause));
    if (report.signal.aborted) return Promise.reject(new Error('the job was cancelled'));
    const outcome = new Promise((resolve, reject) => {
      this.#run = { jobId: job.id, report, resolve, reject };
    });
    // There is no message for cancelling a job, because not every program could obey it.
    const cancel = (): void =>
      void this.#process.end('the worker was stopped because its job was cancelled or timed out');
    report.signal.addEventListener('abort', cancel, { once: true });
    const bucket = job.s3Config === null ? '' : `,"s3Config":${inOneLine(job.s3Config).toString()}`;
    // The line is written in one piece, because some programs expect every read to return whole lines.
    this.#requests.cork();
    this.#requests.write(`{"id":${JSON.stringify(job.id)},"input":`);
    this.#requests.write(inOneLine(job.inputText));
    this.#requests.write(`${bucket}}\n`);
    this.#requests.uncork();
    return outcome.finally(() => report.signal.removeEventListener('abort', cancel));
  }

  /** Waits for `{"ready": true}`. Rejects with a message for people after `{"failed": text}`, or after `withinMs`. */
  async untilReady(withinMs: number): Promise<void> {
    const giveUp = (): void => void this.#process.end(`the worker was not ready within ${withinMs} ms`);
    const timer = setTimeout(giveUp, withinMs);
    const failure = await Promise.race([this.#startup, this.ended]);
    clearTimeout(timer);
    if (failure === undefined) return;
    await this.#process.end(failure);
    throw new Error(failure);
  }

  memoryBytes(): number {
    return this.#process.memoryBytes;
  }

  stop(): Promise<void> {
    return this.#process.end('the worker was stopped');
  }

  /** Handles lines in order. Long lines are parsed in steps, so that they do not block the event loop. */
  #handleInTurn(line: Line): Promise<void> | void {
    if (this.#reading === undefined && line.bytes.length < longText)
      return this.#handleLine(line, readMessage(line.bytes));
    const handle = async (): Promise<void> =>
      this.#handleLine(line, line.isCut ? undefined : await readLongMessage(line.bytes, this.#limits));
    const reading = (this.#reading ?? Promise.resolve()).then(handle).finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
    return reading;
  }

  /** Handles one line. Returns a promise if the line causes a write to the job store. */
  #handleLine({ bytes, isCut }: Line, message: Message | 'too much' | undefined): Promise<void> | void {
    const { maxBytes, maxValues } = this.#limits;
    if (isCut) return this.#endAfter(`a line of more than ${maxBytes} bytes`);
    if (message === 'too much') return this.#endAfter(`more than ${maxValues} values in a line`);
    if (message === undefined) this.#log.writeBytes(bytes, false);
    else if (Object.hasOwn(message.fields, 'ready')) this.#onStartup(undefined);
    else if (Object.hasOwn(message.fields, 'failed')) this.#onStartup(textOf(message.fields['failed']));
    else if (Object.hasOwn(message.fields, 'log')) this.#log.write(textOf(message.fields['log']));
    else return this.#handleJobMessage(message);
  }

  #handleJobMessage(message: Message): Promise<void> | void {
    const run = this.#run;
    const { id, error, progress, stream } = message.fields;
    if (run === undefined || (id ?? run.jobId) !== run.jobId) {
      this.#handleStray(message);
    } else if (isEnd(message)) {
      // The process is being killed. Keeping `#run` prevents that it gets another job before it has ended.
      if (run.report.signal.aborted) return;
      this.#run = undefined;
      if (error === undefined || error === null) run.resolve(written(message, 'output'));
      else run.reject(new Error(textOf(error)));
    } else {
      const { report } = run;
      const writes: Promise<void>[] = [];
      if (progress !== undefined) writes.push(report.progress(written(message, 'progress')));
      if (stream !== undefined) writes.push(report.stream(written(message, 'stream')));
      return allOf(writes);
    }
  }

  #handleStray(message: Message): void {
    const { id } = message.fields;
    if (id !== undefined) {
      this.#log.write(`(message for job ${textOf(id)} dropped: the worker is not running it)`);
    } else if (isEnd(message)) {
      // The next answer without an id could also come late, and become the result of the wrong job.
      void this.#process.end('the worker was ended because it answered without having a job');
    }
  }

  #endAfter(what: string): void {
    const reason = `the worker wrote ${what}`;
    const run = this.#run;
    this.#run = undefined;
    const fail = (): void => run?.reject(new Error(`${reason}, which is more than an output may have`));
    void this.#process.end(`${reason} and was ended`).then(fail);
  }

  #endSoon(reason: string): void {
    const timer = setTimeout(() => void this.#process.end(reason), exitGraceMs);
    void this.#process.ended.then(() => clearTimeout(timer));
  }

  #noteEnd(reason: string): string {
    this.#endedBecause = reason;
    this.#log.end();
    this.#run?.reject(new WorkerDied(reason));
    this.#run = undefined;
    return reason;
  }
}

const keys = ['output', 'error', 'progress', 'stream', 'log', 'ready', 'failed'];

/** Parses a line as a message. Returns undefined for log lines, which may also be JSON. */
function readMessage(line: Buffer): Message | undefined {
  if (!line.includes('{')) return undefined;
  try {
    const text = line.toString();
    const fields: unknown = JSON.parse(text);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
    const isMessage = keys.some((key) => Object.hasOwn(fields, key));
    if (!isMessage) return undefined;
    return { fields: fields as Message['fields'], written: (key) => memberText(text, key) };
  } catch {
    return undefined;
  }
}

/** Like `readMessage`, for long lines: scans the line in steps and does not parse long values. */
async function readLongMessage(
  line: Buffer,
  { maxValues }: AnswerLimits,
): Promise<Message | 'too much' | undefined> {
  const names = [...keys, 'id'];
  const limits = { maxDepth: maxJsonDepth, maxValues };
  let scanned = await scanJson(line, names, limits);
  // Invalid UTF-8 is decoded with replacement characters.
  if (scanned.kind === 'not UTF-8') scanned = await scanJson(Buffer.from(line.toString()), names, limits);
  if (scanned.kind === 'many' || scanned.kind === 'deep') return 'too much';
  if (scanned.kind !== 'object' || !keys.some((key) => scanned.members.has(key))) return undefined;
  const { members } = scanned;
  const fields = [...members].map(([key, json]) => [key, valueOrBeginning(json)] as const);
  return { fields: Object.fromEntries(fields), written: (key) => members.get(key) };
}

async function allOf(writes: Promise<void>[]): Promise<void> {
  await Promise.all(writes);
}

function isEnd({ fields }: Message): boolean {
  return Object.hasOwn(fields, 'output') || Object.hasOwn(fields, 'error');
}

function written(message: Message, key: string): JsonText | undefined {
  const value = message.written(key);
  return value === undefined ? undefined : new JsonText(value);
}

/** JSON has line breaks between parts only. U+2028 and U+2029 end a line for some readers (readline of Node 24). */
function inOneLine(json: Text): Text {
  if (typeof json !== 'string' && !json.includes('\u2028') && !json.includes('\u2029')) {
    for (const [at, byte] of json.entries()) if (byte === 0x0a || byte === 0x0d) json[at] = 0x20;
    return json;
  }
  return json
    .toString()
    .replaceAll(/[\r\n]/g, ' ')
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    return inspect(value);
  }
}
