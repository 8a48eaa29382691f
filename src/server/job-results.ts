/** What workers bring, into the job book: outputs as JSON text, long ones by way of a file, all else failures in words. */
import type { JobBook, JobOfWorker } from './job-book.ts';
import { longOutput, type ResultFiles } from './result-files.ts';

/** Larger results are failures in words rather than results that get lost on their way. */
const defaultMaxOutputBytes = 100 * 1024 * 1024;

const maxErrorLength = 10_000;

export class JobResults {
  readonly #book: JobBook;
  readonly #files: ResultFiles;
  readonly #maxOutputBytes: number;

  constructor(book: JobBook, files: ResultFiles, maxOutputBytes = defaultMaxOutputBytes) {
    this.#book = book;
    this.#files = files;
    this.#maxOutputBytes = maxOutputBytes;
  }

  /** Resolves once it is on the disk; false where nobody wants it any more. `output` is JSON text. */
  async complete(job: JobOfWorker, output: string, log?: string): Promise<boolean> {
    const byteCount = Buffer.byteLength(output);
    if (output === 'null') return this.fail(job, 'the worker ended without an output', log);
    if (byteCount > this.#maxOutputBytes) {
      const text = `the output of the worker has ${byteCount} bytes, more than ${this.#maxOutputBytes}`;
      return this.fail(job, text, log);
    }
    if (output.length < longOutput) return this.#book.settle(job, { state: 'COMPLETED', output }, log);
    const outputFile = await this.#files.write(output);
    const isHeard = await this.#book.settle(job, { state: 'COMPLETED', outputFile }, log);
    if (!isHeard) this.#files.delete([outputFile]);
    return isHeard;
  }

  fail(job: JobOfWorker, error: string, log?: string): Promise<boolean> {
    return this.#book.settle(job, { state: 'FAILED', error: error.slice(0, maxErrorLength) }, log);
  }
}
