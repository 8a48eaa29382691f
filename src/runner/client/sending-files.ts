/** Reads the files that inputs name when they are sent: within the input, or uploaded before the job. */
import { bytesSent, filesIn, type SentFile, withFiles } from '../core/file-text.ts';
import { FatalFailure } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { ByteSemaphore } from '../../lib/limits.ts';
import { readSentFile, type ReadObject } from '../files/sent-files.ts';
import type { RenderService } from '../pipeline/ports.ts';
import { type Failed, failure } from './exchange.ts';

/** Copies of a file in memory: its text, the body that contains it, and the bytes being sent. */
const copies = 3;

/** Files are read only when they are sent, because scenes wait for hours. */
export class SendingFiles {
  readonly #base: string;
  readonly #memory: ByteSemaphore;
  readonly #readObject: ReadObject;
  readonly #advice: string | undefined;

  /**
   * `base` is the folder of pipeline.yaml. `memory` limits how many files are read at a time. `readObject` reads
   * files from buckets. `advice` is for a file that has changed.
   */
  constructor(base: string, memory: ByteSemaphore, readObject: ReadObject, advice?: string) {
    this.#base = base;
    this.#memory = memory;
    this.#readObject = readObject;
    this.#advice = advice;
  }

  /** Wraps a job service so that files within an input are sent with it. */
  around(service: RenderService): RenderService {
    return {
      submit: async (endpoint, input, signal, ...known) => {
        const files = filesIn(input, 'file_base64');
        const bytes = files.reduce((sum, file) => sum + bytesSent(file, 'file_base64'), 0);
        return this.#holding(bytes, signal, async () => {
          const filled = await this.#filled(input, files);
          if ('failure' in filled) return filled;
          return service.submit(endpoint, filled.input, signal, ...known);
        });
      },
      status: (...args) => service.status(...args),
      copyResult: (...args) => service.copyResult(...args),
      cancel: (...args) => service.cancel(...args),
      health: (...args) => service.health(...args),
    };
  }

  /** Calls `send` with the content of a file that is still the one of the list. */
  async whileRead<Sent>(
    file: SentFile,
    signal: AbortSignal,
    send: (content: Buffer) => Promise<Sent>,
  ): Promise<Sent | Failed> {
    return this.#holding(file.bytes, signal, async () => {
      const content = await this.#read(file);
      return Buffer.isBuffer(content) ? send(content) : content;
    });
  }

  async #filled(input: JsonObject, files: SentFile[]): Promise<{ input: JsonObject } | Failed> {
    const texts = new Map<string, string>();
    for (const file of files) {
      if (texts.has(file.path)) continue;
      const content = await this.#read(file);
      if (!Buffer.isBuffer(content)) return content;
      texts.set(file.path, content.toString('base64'));
    }
    return { input: files.length === 0 ? input : withFiles(input, ({ path }) => texts.get(path) ?? '') };
  }

  async #read(file: SentFile): Promise<Buffer | Failed> {
    try {
      const read = await readSentFile(file, this.#base, this.#readObject, this.#advice);
      return Buffer.isBuffer(read) ? read : { kind: 'failure', ...read };
    } catch (thrown) {
      if (thrown instanceof FatalFailure) return { kind: 'failure', failure: thrown.failure };
      throw thrown;
    }
  }

  async #holding<Result>(
    bytes: number,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result | Failed> {
    if (bytes === 0) return work();
    if (!(await this.#memory.take(copies * bytes, signal)))
      return failure('not-reached', 'the run ended before the files were read');
    try {
      return await work();
    } finally {
      this.#memory.giveBack(copies * bytes);
    }
  }
}
