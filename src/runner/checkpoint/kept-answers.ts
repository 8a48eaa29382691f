/** Keeps answers of jobs whose results wait for a changed setting, compressed, in a folder beside the checkpoint. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGzip, gunzip, type Gzip } from 'node:zlib';
import { FatalFailure } from '../core/failure.ts';
import type { Attempt } from '../core/attempt.ts';
import { makeFolder, syncFolder, UnfinishedFile } from '../files/folders.ts';
import type { KeptAnswer, KeptAnswers, KeptAs, WriteChunk } from '../pipeline/ports.ts';

export interface KeptLimits {
  /** Compressed bytes of all kept answers together. */
  kept: number;
  /** Unpacked bytes of one answer. */
  body: number;
}

const keptName = /^(\d+)\.answer\.gz$/;

class NoRoom extends Error {}

export class KeptAnswersFolder implements KeptAnswers {
  readonly #folder: string;
  readonly #limits: KeptLimits;
  readonly #host: string;
  /** Compressed bytes of each answer, by file name. Undefined until the folder is listed. */
  #sizes: Map<string, number> | undefined;

  /** `folder` is created with the first answer. */
  constructor(folder: string, limits: KeptLimits, host = hostname()) {
    this.#folder = folder;
    this.#limits = limits;
    this.#host = host;
  }

  async keep(
    attempt: Attempt,
    copy: (write: WriteChunk) => Promise<boolean>,
  ): Promise<KeptAs | 'full' | undefined> {
    const name = nameOf(attempt);
    this.#sizes ??= await sizesIn(this.#folder);
    const before = this.#sizes.get(name) ?? 0;
    try {
      const sha256 = await this.#write(name, copy);
      if (sha256 === undefined) this.#sizes.set(name, before);
      return sha256 === undefined ? undefined : { answer: `${sha256}@${this.#host}` };
    } catch (thrown) {
      this.#sizes.set(name, before);
      // A failing disk counts as full: the run ends in order, and the next run collects the jobs.
      if (thrown instanceof NoRoom || thrown instanceof FatalFailure) return 'full';
      throw thrown;
    }
  }

  async read(attempt: Attempt): Promise<KeptAnswer | undefined> {
    const [sha256] = attempt.job?.held?.answer?.split('@') ?? [];
    if (sha256 === undefined) return undefined;
    try {
      const packed = await readFile(join(this.#folder, nameOf(attempt)));
      const bytes = await unpack(packed, { maxOutputLength: this.#limits.body });
      // A damaged answer counts as missing, and the service is asked again.
      return createHash('sha256').update(bytes).digest('hex') === sha256 ? bytes : undefined;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : undefined;
    }
  }

  async elsewhere({ job }: Attempt): Promise<string | undefined> {
    const host = job?.held?.answer?.split('@')[1];
    return host === this.#host ? undefined : host;
  }

  async remove(attempt: Attempt): Promise<void> {
    await this.#removeFile(nameOf(attempt));
  }

  async sweep(inFlight: (attempts: number[]) => Promise<number[]>): Promise<void> {
    this.#sizes = await sizesIn(this.#folder);
    const keys = [...this.#sizes.keys()].map((name) => Number(keptName.exec(name)?.[1]));
    if (keys.length === 0) return;
    const open = new Set(await inFlight(keys));
    for (const key of keys) if (!open.has(key)) await this.#removeFile(nameOf({ key }));
  }

  async #removeFile(name: string): Promise<void> {
    if (this.#sizes?.delete(name) === false) return;
    await rm(join(this.#folder, name), { force: true }).catch(() => undefined);
  }

  async #write(name: string, copy: (write: WriteChunk) => Promise<boolean>): Promise<string | undefined> {
    makeFolder(this.#folder, 0o700);
    const file = await UnfinishedFile.begin(this.#folder, name);
    const gzip = createGzip();
    const hash = createHash('sha256');
    const writing = this.#passOn(gzip, file, name);
    // `writing` is awaited only later. Until then its failure must not end the process as an unhandled rejection.
    writing.catch(() => undefined);
    try {
      const isWhole = await copy(async (chunk) => {
        hash.update(chunk);
        if (!gzip.write(chunk)) await Promise.race([once(gzip, 'drain'), writing]);
      });
      gzip.end();
      await writing;
      if (!isWhole) {
        await file.discard();
        return undefined;
      }
      await file.complete();
      await file.takeName();
      await syncFolder(this.#folder);
      return hash.digest('hex');
    } catch (thrown) {
      gzip.destroy();
      await file.discard();
      throw thrown;
    }
  }

  /** Writes the compressed bytes. Throws `NoRoom` if all answers together exceed the limit. */
  async #passOn(gzip: Gzip, file: UnfinishedFile, name: string): Promise<void> {
    let bytes = 0;
    for await (const chunk of gzip as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      this.#sizes?.set(name, bytes);
      const all = [...(this.#sizes?.values() ?? [])].reduce((sum, size) => sum + size, 0);
      if (all > this.#limits.kept) throw new NoRoom();
      await file.write(chunk);
    }
  }
}

const unpack = promisify(gunzip);

function nameOf({ key }: Pick<Attempt, 'key'>): string {
  return `${key}.answer.gz`;
}

async function sizesIn(folder: string): Promise<Map<string, number>> {
  const names = await readdir(folder).catch(() => []);
  const sizes = new Map<string, number>();
  for (const name of names.filter((found) => keptName.test(found))) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined) sizes.set(name, found.size);
  }
  return sizes;
}
