/** Long texts of a service of several processes, stored in its database or in an S3 bucket. */
import { createHmac } from 'node:crypto';
import type { Bucket } from '../../lib/s3/bucket.ts';

/** Stores files by name, such as `inputs/….json`. */
export interface FileStore {
  putFile(name: string, bytes: Buffer): Promise<void>;
  getFile(name: string): Promise<Buffer | undefined>;
  /** Deletes files. Ignores missing ones. */
  removeFiles(names: readonly string[]): Promise<void>;
  fileNames(): Promise<string[]>;
}

export class BucketFiles implements FileStore {
  readonly #bucket: Bucket;
  /** Folder of this service. Another service may use the same bucket, and files that no job names are deleted. */
  readonly #folder: string;

  constructor(bucket: Bucket, secret: Buffer) {
    this.#bucket = bucket;
    this.#folder = `${createHmac('sha256', secret).update('files').digest('hex').slice(0, 16)}/`;
  }

  putFile(name: string, bytes: Buffer): Promise<void> {
    return this.#bucket.put(this.#folder + name, bytes, { type: 'application/json' });
  }

  getFile(name: string): Promise<Buffer | undefined> {
    return this.#bucket.get(this.#folder + name);
  }

  async removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#bucket.remove(this.#folder + name);
  }

  async fileNames(): Promise<string[]> {
    const names: string[] = [];
    for await (const { key } of this.#bucket.list(this.#folder)) names.push(key.slice(this.#folder.length));
    return names;
  }
}

export class SharedFiles {
  readonly #store: FileStore;
  readonly #onProblem: (text: string) => void;

  constructor(store: FileStore, onProblem: (text: string) => void) {
    this.#store = store;
    this.#onProblem = onProblem;
  }

  /** Stores a file. Resolves once it is durable. */
  put(name: string, text: string | Buffer): Promise<void> {
    return this.#store.putFile(name, typeof text === 'string' ? Buffer.from(text) : text);
  }

  get(name: string): Promise<Buffer | undefined> {
    return this.#store.getFile(name);
  }

  /** Deletes files. A failure is reported; the files are deleted when another process begins to lead. */
  async remove(names: readonly string[]): Promise<void> {
    await this.#reportFailure(() => this.#store.removeFiles(names));
  }

  async removeAllBut(named: ReadonlySet<string>): Promise<void> {
    await this.#reportFailure(async () => {
      const names = await this.#store.fileNames();
      await this.#store.removeFiles(names.filter((name) => !named.has(name)));
    });
  }

  async #reportFailure(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#onProblem(`cannot remove long texts: ${String(error)}`));
  }
}
