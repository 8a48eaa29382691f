/** A file that gets its name only when it is complete and on disk, so nobody reads it half-written. */
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { withDiskFailure } from './disk-failure.ts';
import { temporaryName } from '../../lib/files/temporary-files.ts';

export class UnfinishedFile {
  readonly #path: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;

  private constructor(path: string, temporary: string, handle: FileHandle) {
    this.#path = path;
    this.#temporary = temporary;
    this.#handle = handle;
  }

  /** Creates the file under a temporary name, because two programs may write the same report. */
  static async begin(folder: string, name: string): Promise<UnfinishedFile> {
    const path = join(folder, name);
    const temporary = join(folder, temporaryName());
    const handle = await withDiskFailure(path, () => open(temporary, 'wx', 0o600));
    return new UnfinishedFile(path, temporary, handle);
  }

  write(content: string | Uint8Array): Promise<void> {
    return withDiskFailure(this.#path, () => this.#handle.appendFile(content));
  }

  async complete(): Promise<void> {
    await withDiskFailure(this.#path, () => this.#handle.sync());
    await withDiskFailure(this.#path, () => this.#handle.close());
  }

  takeName(): Promise<void> {
    return withDiskFailure(this.#path, () => rename(this.#temporary, this.#path));
  }

  /** Removes the temporary file. Never fails, because it follows another failure. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }
}
