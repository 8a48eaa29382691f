/** What workers bring, into the job store: outputs as JSON text, all else failures in words. */
import type { Text } from '../../lib/files/filed-text.ts';
import type { JobStore } from './job-store.ts';
import type { JobOfWorker } from './job-transitions.ts';

/** Larger results are failures in words rather than results that get lost on their way. */
const defaultMaxResultBytes = 100 * 1024 * 1024;

const maxErrorLength = 10_000;

/** How a job failed, in the words of its worker. */
export interface WorkerError {
  text: string;
  /** JSON text of an error that is no text. */
  value?: string | undefined;
  /** JSON text. */
  output?: Text | undefined;
}

export class JobResults {
  readonly #store: JobStore;
  readonly #maxResultBytes: number;

  constructor(store: JobStore, maxResultBytes = defaultMaxResultBytes) {
    this.#store = store;
    this.#maxResultBytes = maxResultBytes;
  }

  /** Resolves once it is on the disk; false where the job has ended already. `output` is JSON text, `null` for none. */
  async complete(job: JobOfWorker, output: Text, log?: string): Promise<boolean> {
    if (this.#isTooLarge(output)) return this.failTooLarge(job, log);
    return this.#store.work.settle(job, { state: 'COMPLETED', output }, log);
  }

  failTooLarge(job: JobOfWorker, log?: string): Promise<boolean> {
    return this.fail(job, { text: `the worker's output exceeds ${this.#maxResultBytes} bytes` }, log);
  }

  /** An output beside the error is kept, unless it is too large. */
  fail(job: JobOfWorker, { text, value, output }: WorkerError, log?: string): Promise<boolean> {
    const kept = output === undefined || isNull(output) || this.#isTooLarge(output) ? undefined : output;
    const error = text.slice(0, maxErrorLength);
    // One that was cut is no JSON any more.
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
