/** Stores the results of workers: outputs as JSON text, everything else as failures. */
import type { Text } from '../../lib/files/filed-text.ts';
import type { JobStore } from './job-store.ts';
import type { JobOfWorker } from './job-transitions.ts';

/** Maximum size of a result, in bytes. Larger ones fail with an explanation instead of being lost on their way. */
const defaultMaxResultBytes = 100 * 1024 * 1024;

const maxErrorLength = 10_000;

export interface WorkerError {
  text: string;
  /** JSON text of an error that is not a string. */
  value?: string | undefined;
  /** JSON text of an output that came with the error. */
  output?: Text | undefined;
}

export class JobResults {
  readonly #store: JobStore;
  readonly #maxResultBytes: number;

  constructor(store: JobStore, maxResultBytes = defaultMaxResultBytes) {
    this.#store = store;
    this.#maxResultBytes = maxResultBytes;
  }

  /** Stores the output, JSON text, `null` for none. Resolves when on disk; false if the job has ended. */
  async complete(job: JobOfWorker, output: Text, log?: string): Promise<boolean> {
    if (this.#isTooLarge(output)) return this.failTooLarge(job, log);
    return this.#store.work.settle(job, { state: 'COMPLETED', output }, log);
  }

  failTooLarge(job: JobOfWorker, log?: string): Promise<boolean> {
    return this.fail(job, { text: `the worker's output exceeds ${this.#maxResultBytes} bytes` }, log);
  }

  /** Fails a job. Keeps an output beside the error unless it is too large. */
  fail(job: JobOfWorker, { text, value, output }: WorkerError, log?: string): Promise<boolean> {
    const kept = output === undefined || isNull(output) || this.#isTooLarge(output) ? undefined : output;
    const error = text.slice(0, maxErrorLength);
    // A long value is dropped: cut JSON would be invalid.
    const errorValue = value !== undefined && value.length <= maxErrorLength ? value : undefined;
    const outcome = { state: 'FAILED', error, errorValue, output: kept } as const;
    return this.#store.work.settle(job, outcome, log);
  }

  #isTooLarge(output: Text): boolean {
    return Buffer.byteLength(output) > this.#maxResultBytes;
  }
}

function isNull(json: Text): boolean {
  return json.length === 4 && json.toString() === 'null';
}
