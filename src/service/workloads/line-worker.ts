/** A worker that is a process: it is sent jobs and answers in JSON lines (`command-workload.ts` says which). */
import type { Readable, Writable } from 'node:stream';
import { inspect } from 'node:util';
import { memberText } from '../../protocol/member-text.ts';
import { type Line, readLines } from './read-lines.ts';
import type { WorkerLog } from './worker-log.ts';
import type { WorkerProcess } from './worker-process.ts';
import { JsonText, type RunReport, type Worker, WorkerDied, type WorkloadJob } from './workload.ts';

/** A result that long would be refused in any case. */
const defaultMaxAnswerBytes = 100 * 1024 * 1024;
/** A process that closes its pipes is mostly about to end by itself, for a reason that says more. */
const exitGraceMs = 1_000;

export interface LineWorkerOptions {
  process: WorkerProcess;
  requests: Writable;
  answers: Readable;
  log: WorkerLog;
  maxAnswerBytes?: number | undefined;
}

interface Message {
  fields: Record<string, unknown>;
  /** As it was written. */
  text: string;
}

interface Run {
  jobId: string;
  report: RunReport;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

export class LineWorker implements Worker {
  readonly ended: Promise<string>;
  /** Why it cannot start; undefined once it is ready. */
  readonly #startup: Promise<string | undefined>;
  #onStartup: (failure: string | undefined) => void = () => undefined;
  readonly #process: WorkerProcess;
  readonly #requests: Writable;
  readonly #log: WorkerLog;
  readonly #maxAnswerBytes: number;
  #run: Run | undefined;
  #endedBecause: string | undefined;

  constructor({ process, requests, answers, log, maxAnswerBytes }: LineWorkerOptions) {
    this.#process = process;
    this.#requests = requests;
    this.#log = log;
    this.#maxAnswerBytes = maxAnswerBytes ?? defaultMaxAnswerBytes;
    this.#startup = new Promise((resolve) => {
      this.#onStartup = resolve;
    });
    this.ended = process.ended.then((reason) => this.#noteEnd(reason));
    requests.on('error', () => this.#endSoon('the worker closed its input and can take no more jobs'));
    answers.once('close', () => this.#endSoon('the worker closed its output and can answer no more'));
    readLines(answers, this.#maxAnswerBytes, (line) => this.#handleLine(line));
  }

  run(job: WorkloadJob, report: RunReport): Promise<unknown> {
    if (this.#run !== undefined) throw new Error('a worker takes one job at a time');
    if (this.#endedBecause !== undefined) return Promise.reject(new WorkerDied(this.#endedBecause));
    if (report.signal.aborted) return Promise.reject(new Error('the job was cancelled'));
    const outcome = new Promise((resolve, reject) => {
      this.#run = { jobId: job.id, report, resolve, reject };
    });
    // Not every program can cancel a job; each can be ended.
    const cancel = (): void =>
      void this.#process.end('the worker was stopped because its job was cancelled or timed out');
    report.signal.addEventListener('abort', cancel, { once: true });
    const bucket = job.s3Config === null ? '' : `,"s3Config":${inOneLine(job.s3Config)}`;
    this.#requests.write(`{"id":${JSON.stringify(job.id)},"input":${inOneLine(job.inputText)}${bucket}}\n`);
    return outcome.finally(() => report.signal.removeEventListener('abort', cancel));
  }

  /** Waits for `{"ready": true}`. Rejects, in words, where `{"failed": text}` comes instead, or nothing in time. */
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

  /** A promise where the store is written. */
  #handleLine({ bytes, isCut }: Line): Promise<void> | void {
    if (isCut) return this.#endAfterLongLine();
    const message = readMessage(bytes);
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
      // Its process is being ended, and is not to be given another job before it has.
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
      // Its next answer without an id might be one too late as well, and become another job's result.
      void this.#process.end('the worker was ended because it answered without having a job');
    }
  }

  #endAfterLongLine(): void {
    const reason = `the worker wrote a line of more than ${this.#maxAnswerBytes} bytes`;
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

/** Undefined for what is written for people, which may well be JSON. */
function readMessage(line: Buffer): Message | undefined {
  if (!line.includes('{')) return undefined;
  try {
    const text = line.toString();
    const fields: unknown = JSON.parse(text);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
    const isMessage = keys.some((key) => Object.hasOwn(fields, key));
    return isMessage ? { fields: fields as Message['fields'], text } : undefined;
  } catch {
    return undefined;
  }
}

async function allOf(writes: Promise<void>[]): Promise<void> {
  await Promise.all(writes);
}

function isEnd({ fields }: Message): boolean {
  return Object.hasOwn(fields, 'output') || Object.hasOwn(fields, 'error');
}

function written({ text }: Message, key: string): JsonText | undefined {
  const value = memberText(text, key);
  return value === undefined ? undefined : new JsonText(value);
}

/**
 * Within JSON line breaks stand between its parts only, never in its texts. U+2028 and U+2029 stand in texts only, and end a
 * line for the readers of some workers, such as readline of Node 24.
 */
function inOneLine(json: string): string {
  return json
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
