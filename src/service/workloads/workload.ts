/** What a worker runs: user-supplied code that turns a job's input into its output. */
import { inspect } from 'node:util';
import { defaultMaxValues } from '../../lib/text/scan-json.ts';
import type { Text } from '../../lib/files/filed-text.ts';

export interface WorkloadJob {
  id: string;
  /** JSON text of an object, as it was submitted: integers beyond 2^53 are what they were. Bytes where it is long. */
  inputText: Text;
  /** JSON text: where results are to be put, with credentials; null where that was not said. */
  s3Config: string | null;
}

/** What a worker in another language says, as JSON text, since a value of this one could not hold all its integers. */
export class JsonText {
  readonly text: Text;

  constructor(text: Text) {
    this.text = text;
  }
}

/** The JSON of an output, `null` for none. Throws where it has none. */
export function outputText(output: unknown): Text {
  if (output === undefined) return 'null';
  if (output instanceof JsonText) return output.text;
  // Functions and symbols have no JSON, which the compiler's idea of `stringify` leaves out.
  const text = JSON.stringify(output) as string | undefined;
  if (text === undefined) throw new Error('the output of the worker cannot be written as JSON');
  return text;
}

/** Of one answer of a worker. */
export interface AnswerLimits {
  maxBytes: number;
  /** In its JSON. */
  maxValues: number;
}

export const defaultAnswerLimits: AnswerLimits = {
  maxBytes: 100 * 1024 * 1024,
  maxValues: defaultMaxValues,
};

export interface Workload {
  name: string;
  /**
   * Starts one worker, which takes one job at a time. Rejects with a text for people where none can be started (a
   * command that is not there, an image that cannot be pulled).
   */
  startWorker(context: WorkerContext): Promise<Worker>;
}

export interface WorkerContext {
  /** The id of the worker, as clients see it in `workerId`: `[A-Za-z0-9_-]+`. */
  workerId: string;
  /** Called with each line that the worker writes for people, in order, without its line break. */
  log(line: string): void;
  /** Aborts a start that is no longer wanted. */
  signal?: AbortSignal;
}

export interface Worker {
  /**
   * Resolves to the output, a JSON-serialisable value or `JsonText`. Rejects with an `Error` whose message fails the job, or with
   * `WorkerDied` where the worker ended in the middle, which puts the job back into the queue, `WorkerAway` where it did before.
   * When `signal` aborts the result is no longer wanted: the job was cancelled, has timed out or went back to the queue.
   * The promise then settles soon, if need be because the worker was killed.
   */
  run(job: WorkloadJob, report: RunReport): Promise<unknown>;
  /** Of its process and the children of that; not known of all. */
  memoryBytes?(): number;
  /** Resolves, with the reason in words, when it can take no more jobs. Never, for one that lives in this process. */
  readonly ended: Promise<string>;
  /** Ends it, by force after a while; resolves when nothing of it runs any more. Never rejects. */
  stop(): Promise<void>;
}

export interface RunReport {
  signal: AbortSignal;
  /** A message of progress: the job's `output` while it is `IN_PROGRESS`. As outputs are. Never rejects. */
  progress(message: unknown): Promise<void>;
  /** A partial output, for `GET /stream`. As outputs are. Never rejects. */
  stream(output: unknown): Promise<void>;
}

/** The worker ended in the middle of a job: its process exited, was killed, or fell silent. */
export class WorkerDied extends Error {}

/** It ended before it had begun the job, which goes back into the queue as if it had never been taken. */
export class WorkerAway extends WorkerDied {}

/** What runs workers that take jobs over the network themselves, as containers do. */
export interface PullWorkload {
  name: string;
  /** As `startWorker`; the worker goes on until it is stopped or ends by itself. */
  startPullWorker(context: WorkerContext): Promise<PullWorker>;
}

export type PullWorker = Pick<Worker, 'memoryBytes' | 'ended' | 'stop'>;

/** Returns what was thrown, in words: code of users throws anything. */
export function thrownText(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : inspect(error);
}
