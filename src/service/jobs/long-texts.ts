/** Texts too long for the job store: each is a file, which is on disk before the store names it. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDiskFull } from '../../lib/files/disk-reserve.ts';
import { OpenFile, type OpenText, type Text, wholeOf } from '../../lib/files/filed-text.ts';
import { syncPath } from '../../lib/files/temporary-files.ts';
import type { SharedFiles } from '../replication/page-store.ts';

/** Length (characters or bytes) from which a text is a file: long rows slow SQLite down. */
export const longText = 256 * 1024;

/** Folders of the data folder that hold long texts. */
export const textFolders = ['inputs', 'results', 'streams'] as const;

/** A text, or the name of the file that contains it. */
export type StoredText = { text: string; file: null } | { text: null; file: string };

export class LongTexts {
  readonly #dir: string;
  readonly #shared: SharedFiles | undefined;

  /** Creates missing folders, accessible only to their owner. With `shared`, the local files are copies. */
  constructor(dir: string, shared?: SharedFiles) {
    this.#dir = dir;
    this.#shared = shared;
    for (const folder of textFolders) mkdirSync(join(dir, folder), { recursive: true, mode: 0o700 });
  }

  /** Calls `write` with the text or, if long, its file, and returns the result; if false, deletes the file. */
  async withStored(
    folder: (typeof textFolders)[number],
    text: Text,
    write: (stored: StoredText) => Promise<boolean>,
  ): Promise<boolean> {
    if (text.length < longText) return await write({ text: text.toString(), file: null });
    const file = `${folder}/${randomUUID()}.json`;
    await this.#write(file, text);
    if (this.#shared === undefined) await syncPath(join(this.#dir, folder));
    else await this.#shared.put(file, text);
    try {
      const isNamed = await write({ text: null, file });
      if (!isNamed) await this.delete([{ file }]);
      return isNamed;
    } catch (error) {
      // After any other error the row may exist. If it does not, the next start deletes the file.
      if (isDiskFull(error)) await this.delete([{ file }]);
      throw error;
    }
  }

  /** Opens a file; the caller closes it. Undefined if the file was deleted. */
  async open(file: string): Promise<OpenText | undefined> {
    const opened = await OpenFile.open(join(this.#dir, file));
    const bytes = opened === undefined ? await this.#shared?.get(file) : undefined;
    return bytes === undefined ? opened : openBytes(bytes);
  }

  /** Reads a text into memory. Undefined if its file was deleted. */
  async textOf({ text, file }: StoredText): Promise<Text | undefined> {
    if (file === null) return text;
    const opened = await this.open(file);
    return opened && (await wholeOf([opened]));
  }

  /** Deletes files. Ignores missing ones. */
  async delete(texts: readonly { file: string | null }[]): Promise<void> {
    const files = texts.flatMap(({ file }) => file ?? []);
    for (const file of files) await rm(join(this.#dir, file), { force: true });
    if (files.length > 0) await this.#shared?.remove(files);
  }

  /** Like `delete`, but synchronous, for the start and the end of the service. */
  deleteNow(texts: readonly { file: string | null }[]): void {
    const files = texts.flatMap(({ file }) => file ?? []);
    for (const file of files) rmSync(join(this.#dir, file), { force: true });
    if (files.length > 0) void this.#shared?.remove(files);
  }

  /** Deletes files that a crashed service wrote and the store does not name. Nothing may be stored meanwhile. */
  async deleteAllBut(named: ReadonlySet<string>): Promise<void> {
    const files = textFolders.flatMap((folder) =>
      readdirSync(join(this.#dir, folder)).map((name) => `${folder}/${name}`),
    );
    for (const file of files) if (!named.has(file)) rmSync(join(this.#dir, file), { force: true });
    await this.#shared?.removeAllBut(named);
  }

  async #write(file: string, text: Text): Promise<void> {
    const opened = await open(join(this.#dir, file), 'wx', 0o600);
    try {
      await opened.writeFile(text);
      await opened.sync();
    } catch (error) {
      await opened.close();
      await this.delete([{ file }]);
      throw error;
    }
    await opened.close();
  }
}

function openBytes(bytes: Buffer): OpenText {
  const pieces = async function* (): AsyncGenerator<Buffer> {
    yield bytes;
  };
  return { byteCount: bytes.length, pieces, close: async () => undefined };
}
