/** Reads the files that inputs name when they are sent: within the input, or uploaded before the job. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { hash } from 'node:crypto';
import { bytesSent, filesIn, type SentFile, withFiles } from '../core/file-text.ts';
import { FatalFailure, type Failure } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { ByteSemaphore } from '../../lib/limits.ts';
import type { ReadObject } from '../files/sent-files.ts';
import type { RenderService } from '../pipeline/ports.ts';
import { type Failed, failure } from './exchange.ts';

/** Copies of a file in memory: its text, the body that contains it, and the bytes being sent. */
const copies = 3;

/** Files are read only when they are sent, because scenes wait for hours. */
export class SendingFiles {
  readonly #base: string;
  readonly #memory: ByteSemaphore;
  /** A scene that sends files in both ways uploads while it holds `#memory`. A common limit could let scenes wait for one another forever. */
  readonly #memoryOfUploads: ByteSemaphore;
  readonly #readObject: ReadObject;
  readonly #advice: string | undefined;
  /**
   * Returns why nothing may be submitted at this moment. Files may take minutes to read and to upload, and another
   * runner may take over the scenes meanwhile.
   */
  readonly refusal: () => Failed | undefined;

  /**
   * `base` is the folder of pipeline.yaml. `memory` limits how many files are read at a time, in each of the two
   * ways. `readObject` reads files from buckets. `advice` is for a file that has changed.
   */
  constructor(
    base: string,
    memory: ByteSemaphore,
    readObject: ReadObject,
    advice?: string,
    refusal: () => Failed | undefined = () => undefined,
  ) {
    this.#base = base;
    this.#memory = memory;
    this.#memoryOfUploads = new ByteSemaphore(memory.limit);
    this.#readObject = readObject;
    this.#advice = advice;
    this.refusal = refusal;
  }

  /** Wraps a job service so that files within an input are sent with it, if anything may be submitted. */
  around(service: RenderService): RenderService {
    return {
      submit: async (endpoint, input, signal, ...known) => {
        const files = filesIn(input, 'file_base64');
        const bytes = files.reduce((sum, file) => sum + bytesSent(file, 'file_base64'), 0);
        return this.#holding(this.#memory, bytes, signal, async () => {
          const filled = await this.#filled(input, files);
          if ('failure' in filled) return filled;
          return this.refusal() ?? service.submit(endpoint, filled.input, signal, ...known);
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
    return this.#holding(this.#memoryOfUploads, file.bytes, signal, async () => {
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
    memory: ByteSemaphore,
    bytes: number,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result | Failed> {
    if (bytes === 0) return work();
    if (!(await memory.take(copies * bytes, signal)))
      return failure('not-reached', 'the run ended before the files were read');
    try {
      return await work();
    } finally {
      memory.giveBack(copies * bytes);
    }
  }
}

/**
 * Reads a file once more. Returns a failure if it is no longer the file of the list. `base`: folder of
 * pipeline.yaml. `advice`: for a changed file. Throws as `readObject`.
 */
async function readSentFile(
  file: SentFile,
  base: string,
  readObject: ReadObject,
  advice = 'Start the run again to read the list again',
): Promise<Buffer | { failure: Failure }> {
  const { path, sha256 } = file;
  const content = path.startsWith('s3://')
    ? ((await readObject(path)) ?? 'can no longer be read (NoSuchKey)')
    : await contentOf(resolve(base, path), file);
  if (typeof content === 'string') return { failure: failureOf(file, content, advice) };
  return hash('sha256', content) === sha256 ? content : { failure: failureOf(file, hasChanged, advice) };
}

const hasChanged = 'has changed since the list was read';

/** Returns the content, or the problem as the end of a sentence. A file of another size is not read. */
async function contentOf(path: string, { bytes }: SentFile): Promise<Buffer | string> {
  try {
    const stats = await stat(path);
    return stats.isFile() && stats.size === bytes ? await readFile(path) : hasChanged;
  } catch (error) {
    return `can no longer be read (${String((error as { code?: unknown }).code)})`;
  }
}

function failureOf({ path }: SentFile, problem: string, advice: string): Failure {
  const text = `the file ${JSON.stringify(path)} ${problem}; nothing was sent. ${advice}`;
  return { kind: 'file-changed', text };
}
