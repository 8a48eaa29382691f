/** Long texts where every process of a service finds them: in its database, or in a bucket. */
import { createHmac } from 'node:crypto';
import type { Bucket } from '../../lib/s3/bucket.ts';

/** Where they are. Names are such as `inputs/….json`. */
export interface FileStore {
  putFile(name: string, bytes: Buffer): Promise<void>;
  getFile(name: string): Promise<Buffer | undefined>;
  /** Missing ones are ignored. */
  removeFiles(names: readonly string[]): Promise<void>;
  fileNames(): Promise<string[]>;
}

/** In a bucket. */
export class BucketFiles implements FileStore {
  readonly #bucket: Bucket;
  /** Another service may be in the same bucket, and what is nobody's is removed. */
  readonly #folder: string;

  /** `secret`: of the service. */
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

  /** Resolves once it lasts. */
  put(name: string, text: string | Buffer): Promise<void> {
    return this.#store.putFile(name, typeof text === 'string' ? Buffer.from(text) : text);
  }

  /** Undefined where there is none. */
  get(name: string): Promise<Buffer | undefined> {
    return this.#store.getFile(name);
  }

  /** What cannot be removed is told, and removed when another process begins to lead. */
  async remove(names: readonly string[]): Promise<void> {
    await this.#orTold(() => this.#store.removeFiles(names));
  }

  /** Removes what was written and never named. */
  async removeAllBut(named: ReadonlySet<string>): Promise<void> {
    await this.#orTold(async () => {
      const names = await this.#store.fileNames();
      await this.#store.removeFiles(names.filter((name) => !named.has(name)));
    });
  }

  async #orTold(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#onProblem(`cannot remove long texts: ${String(error)}`));
  }
}
