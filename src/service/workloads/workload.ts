/** Ports to workloads and their workers: user-supplied code that turns a job's input into an output. */
import { inspect } from 'node:util';
import { defaultMaxValues } from '../../lib/text/scan-json.ts';
import type { Text } from '../../lib/files/filed-text.ts';

export interface WorkloadJob {
  id: string;
  /** JSON text of an object as submitted, so integers beyond 2^53 stay exact. Bytes if the text is long. */
  inputText: Text;
  /** JSON text with the bucket for results and its credentials; null if the client named none. */
  s3Config: string | null;
}

/** A value as JSON text. Keeps integers exact that a JavaScript number cannot hold. */
export class JsonText {
  readonly text: Text;

  constructor(text: Text) {
    this.text = text;
  }
}

/** Returns the JSON text of an output, `null` for undefined. Throws if the output cannot be written as JSON. */
export function outputText(output: unknown): Text {
  if (output === undefined) return 'null';
  if (output instanceof JsonText) return output.text;
  // The declared type of `stringify` omits undefined, which it returns for functions and symbols.
  const text = JSON.stringify(output) as string | undefined;
  if (text === undefined) throw new Error('the output of the worker cannot be written as JSON');
  return text;
}

/** Limits of one answer of a worker. */
export interface AnswerLimits {
  maxBytes: number;
  /** Maximum number of values in the answer's JSON. */
  maxValues: number;
}

export const defaultAnswerLimits: AnswerLimits = {
  maxBytes: 100 * 1024 * 1024,
  maxValues: defaultMaxValues,
};

export interface Workload {
  name: string;
  /**
   * Starts one worker, which takes one job at a time. Rejects with a message for people if the worker cannot be started,
   * for example because a program is missing or an image cannot be pulled.
   */
  startWorker(context: WorkerContext): Promise<Worker>;
}

export interface WorkerContext {
  /** Id that clients see in `workerId`: `[A-Za-z0-9_-]+`. */
  workerId: string;
  /** Called with each log line of the worker, in order, without its line break. */
  log(line: string): void;
  /** Aborts a start that is no longer wanted. */
  signal?: AbortSignal;
}

export interface Worker {
  /**
   * Runs a job and resolves to its output: a JSON-serialisable value or `JsonText`. An `Error` fails the job with its
   * message. `WorkerDied` and `WorkerAway` put the job back into the queue. When `signal` aborts, the result is no longer
   * wanted: the job was cancelled, timed out or went back to the queue. The promise then settles soon, if necessary
   * because the worker is killed.
   */
  run(job: WorkloadJob, report: RunReport): Promise<unknown>;
  /** Returns the memory of the worker's process and its children. Undefined for workers that cannot measure it. */
  memoryBytes?(): number;
  /** Resolves with a human-readable reason when the worker can take no more jobs. */
  readonly ended: Promise<string>;
  /** Ends the worker, if necessary by force, and resolves when all its processes have ended. Never rejects. */
  stop(): Promise<void>;
}

export interface RunReport {
  signal: AbortSignal;
  /** Reports progress, which clients see as `output` while the job is `IN_PROGRESS`. Never rejects. */
  progress(message: unknown): Promise<void>;
  /** Reports a part of the output for `GET /stream`. Never rejects. */
  stream(output: unknown): Promise<void>;
}

/** The worker ended in the middle of a job: its process exited, was killed, or no longer answers. */
export class WorkerDied extends Error {}

/** The worker ended before it began the job, so the job returns to the queue without a counted attempt. */
export class WorkerAway extends WorkerDied {}

/** Workload whose workers, such as containers, pull jobs over the network themselves. */
export interface PullWorkload {
  name: string;
  /** Starts one worker, which pulls jobs until it is stopped or ends by itself. Rejects like `startWorker`. */
  startPullWorker(context: WorkerContext): Promise<PullWorker>;
}

export type PullWorker = Pick<Worker, 'memoryBytes' | 'ended' | 'stop'>;

/** Returns a message for anything that was thrown. User code can throw values that are not errors. */
export function thrownText(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : inspect(error);
}
