/** Outputs too long for the job book: a file each, on the disk before the book names it. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { OpenFile } from './filed-text.ts';

/** Outputs of this many characters and more; pages of a database are slow to move about. */
export const longOutput = 256 * 1024;

export class ResultFiles {
  readonly #dir: string;

  /** Makes the folder where it is missing, for its owner only. */
  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** Returns the file's name once it is on the disk. */
  async write(text: string): Promise<string> {
    const name = `${randomUUID()}.json`;
    const file = await open(join(this.#dir, name), 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } catch (error) {
      await file.close();
      this.delete([name]);
      throw error;
    }
    await file.close();
    const folder = await open(this.#dir);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return name;
  }

  /** To be closed by the caller; undefined where it was deleted meanwhile. */
  open(name: string): Promise<OpenFile | undefined> {
    return OpenFile.open(join(this.#dir, name));
  }

  delete(names: readonly string[]): void {
    for (const name of names) rmSync(join(this.#dir, name), { force: true });
  }

  /** Deletes what a dead service wrote and never named. */
  deleteAllBut(named: ReadonlySet<string>): void {
    this.delete(readdirSync(this.#dir).filter((name) => !named.has(name)));
  }
}
