/** What workers bring, into the job store: outputs as JSON text, all else failures in words. */
import type { JobStore } from './job-store.ts';
import type { JobOfWorker } from './job-transitions.ts';

/** Larger results are failures in words rather than results that get lost on their way. */
const defaultMaxResultBytes = 100 * 1024 * 1024;

const maxErrorLength = 10_000;

export interface JobResultsParts {
  store: JobStore;
  maxResultBytes?: number;
}

export class JobResults {
  readonly #parts: JobResultsParts;

  constructor(parts: JobResultsParts) {
    this.#parts = parts;
  }

  get #maxResultBytes(): number {
    return this.#parts.maxResultBytes ?? defaultMaxResultBytes;
  }

  /** Resolves once it is on the disk; false where the job has ended already. `output` is JSON text. */
  async complete(job: JobOfWorker, output: string, log?: string): Promise<boolean> {
    const byteCount = Buffer.byteLength(output);
    if (output === 'null') return this.fail(job, 'the worker ended without an output', log);
    if (byteCount > this.#maxResultBytes) return this.failTooLarge(job, log);
    return this.#parts.store.work.settle(job, { state: 'COMPLETED', output }, log);
  }

  failTooLarge(job: JobOfWorker, log?: string): Promise<boolean> {
    return this.fail(job, `the worker's output exceeds ${this.#maxResultBytes} bytes`, log);
  }

  fail(job: JobOfWorker, error: string, log?: string): Promise<boolean> {
    const outcome = { state: 'FAILED', error: error.slice(0, maxErrorLength) } as const;
    return this.#parts.store.work.settle(job, outcome, log);
  }
}
