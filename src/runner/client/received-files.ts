/** Receives large results into temporary files, so that memory holds none, and goes on where a broken transfer ended. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { type BrotliDecompress, createBrotliDecompress, createUnzip, type Unzip } from 'node:zlib';
import { removeLeftovers, temporaryName } from '../../lib/files/temporary-files.ts';
import { type JobAtService, jobAddress } from '../core/attempt.ts';
import { type Failure, FatalFailure } from '../core/failure.ts';
import type { ReceivedFile } from '../core/picture.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { makeFolder } from '../files/folders.ts';
import type { ResultKey } from '../pipeline/ports.ts';
import type { Outcome } from './exchange.ts';
import type { BodySink } from './receiver.ts';

/** Bytes after which a broken transfer goes on at once. A try that brings less counts as failed. */
const enoughBytes = 1_000_000;

export class ReceivedFiles {
  readonly #folder: string;
  readonly maxBytes: number;
  /** Files by address of the job and position in its output. */
  readonly #jobs = new Map<string, Map<number, PartialFile>>();

  /** `folder` should be on the disk of the pictures. `maxBytes`: largest file (`limits.download`). */
  constructor(folder: string, maxBytes: number) {
    this.#folder = folder;
    this.maxBytes = maxBytes;
  }

  /**
   * Receives the body of a 2xx answer. If an earlier transfer of the result from the same address broke off, `headers` ask
   * for the rest alone. Returns the file, or what `send` returned if no whole body came; its outcome is `too-large` if
   * the body exceeds the limit. Throws `FatalFailure` if the disk fails.
   */
  async receive<Sent extends { outcome: Outcome } | Failure>(
    key: ResultKey,
    address: string,
    send: (headers: Record<string, string>, sink: BodySink) => Promise<Sent>,
  ): Promise<{ received: ReceivedFile } | Sent> {
    const file = await this.#fileOf(key, address);
    const work = file.busy.then(() => file.receive(send));
    file.busy = work.catch(() => undefined);
    return work.catch(async (thrown: unknown) => {
      // Its space is needed to end the run in order.
      await this.remove(key.job);
      throw thrown;
    });
  }

  /** Removes files that earlier runs left; with `sparesLiving`, not those of running processes. */
  async sweep(sparesLiving: boolean): Promise<void> {
    if (existsSync(this.#folder))
      await withDiskFailure(this.#folder, () => removeLeftovers(this.#folder, sparesLiving));
  }

  /** Removes all files of a job. */
  remove(job: JobAtService): Promise<void> {
    return this.#removeAt(jobAddress(job));
  }

  /** Removes all files. */
  async removeAll(): Promise<void> {
    await Promise.all([...this.#jobs.keys()].map((job) => this.#removeAt(job)));
  }

  async #removeAt(job: string): Promise<void> {
    const files = [...(this.#jobs.get(job)?.values() ?? [])];
    this.#jobs.delete(job);
    await Promise.all(files.map((file) => file.remove()));
  }

  async #fileOf({ job, nth }: ResultKey, address: string): Promise<PartialFile> {
    const files = this.#jobs.get(jobAddress(job)) ?? new Map<number, PartialFile>();
    this.#jobs.set(jobAddress(job), files);
    const before = files.get(nth);
    if (before?.address === address) return before;
    const file = new PartialFile(this.#folder, address, this.maxBytes);
    files.set(nth, file);
    await before?.remove();
    return file;
  }
}

/** Reason why the body of an answer was not taken. `other-part`: it does not continue what is there. */
type Problem = 'other-part' | Exclude<Outcome, { kind: 'answered' }>;

class PartialFile implements BodySink {
  readonly address: string;
  readonly #folder: string;
  readonly #path: string;
  readonly #maxBytes: number;
  /** Resolves when the latest transfer has ended. */
  busy: Promise<unknown> = Promise.resolve();
  #handle: FileHandle | undefined;
  #length = 0;
  #hash = createHash('sha256');
  /** Shows that the rest is of the same file: a strong ETag, else the time of its last change. */
  #validator: string | undefined;
  /** Size of the whole file. Undefined if it is not announced. */
  #total: number | undefined;
  #received: ReceivedFile | undefined;
  #problem: Problem | undefined;
  #thrown: unknown;
  /** Latest write to the file. */
  #writing: Promise<unknown> = Promise.resolve();
  #unpacker: Unpacker | undefined;

  constructor(folder: string, address: string, maxBytes: number) {
    this.#folder = folder;
    this.#path = join(folder, temporaryName());
    this.address = address;
    this.#maxBytes = maxBytes;
  }

  async receive<Sent extends { outcome: Outcome } | Failure>(
    send: (headers: Record<string, string>, sink: BodySink) => Promise<Sent>,
  ): Promise<{ received: ReceivedFile } | Sent> {
    let lengthBefore = this.#length;
    for (let hasStartedAnew = false; ;) {
      await this.#openFile();
      if (this.#received !== undefined) return { received: this.#received };
      const headers = this.#headers();
      const sent = await send(headers, this);
      const status = 'outcome' in sent && sent.outcome.kind === 'answered' ? sent.outcome.answer.status : 0;
      const hasEnded = status >= 200 && status <= 299;
      const problem = await this.#endTransfer(hasEnded);
      if (!('outcome' in sent)) return sent;
      if (problem === 'other-part' || (status === 416 && 'range' in headers)) {
        this.#startAnew();
        if (hasStartedAnew)
          return { ...sent, outcome: broken('the host sent another part than was asked for') };
        hasStartedAnew = true;
        continue;
      }
      if (problem !== undefined) return { ...sent, outcome: problem };
      if (this.#length > 0 && (this.#total === undefined ? hasEnded : this.#length === this.#total))
        return { received: await this.#complete() };
      // A refusal, or an empty answer.
      if (status >= 300 || this.#length === 0) return sent;
      if (this.#validator === undefined || this.#length < lengthBefore + enoughBytes)
        return hasEnded ? { ...sent, outcome: broken('the file is longer than what came') } : sent;
      lengthBefore = this.#length;
    }
  }

  begin(status: number, headers: IncomingHttpHeaders): boolean {
    const encoding = encodingIn(headers);
    const part = status === 206 ? partIn(headers) : undefined;
    if (part !== undefined && (encoding !== undefined || !this.#isContinuedBy(part, headers)))
      return this.#refuse('other-part');
    if (part === undefined) this.#startAnew();
    this.#total = encoding === undefined ? bytesIn(part?.total ?? headers['content-length']) : undefined;
    if ((this.#total ?? 0) > this.#maxBytes) return this.#refuse(this.#tooLarge());
    if (encoding !== undefined) return this.#beginUnpacking(encoding);
    this.#validator ??= validatorIn(headers);
    return true;
  }

  #beginUnpacking(encoding: string): boolean {
    const stream = unpackerFor(encoding);
    if (stream === undefined)
      return this.#refuse(broken(`the answer is encoded as ${JSON.stringify(encoding.slice(0, 40))}`));
    this.#unpacker = { stream, done: this.#unpack(stream) };
    // The failure is read when the transfer ends.
    this.#unpacker.done.catch(() => undefined);
    return true;
  }

  write(chunk: Buffer): Promise<boolean> {
    const writing = this.#unpacker === undefined ? this.#append(chunk) : this.#passOn(this.#unpacker, chunk);
    const isWritten = writing.then(
      () => this.#problem === undefined,
      (thrown: unknown) => {
        this.#fail(thrown);
        return false;
      },
    );
    this.#writing = isWritten;
    return isWritten;
  }

  async remove(): Promise<void> {
    await this.busy;
    this.#received = undefined;
    await rm(this.#path, { force: true }).catch(() => undefined);
  }

  /** Opens the file. Starts anew if its size is not what was written, because somebody removed it or the disk lies. */
  async #openFile(): Promise<void> {
    await withDiskFailure(this.#path, async () => {
      makeFolder(this.#folder, 0o700);
      this.#handle = await open(this.#path, 'a');
      const { size } = await this.#handle.stat();
      if (size !== this.#length) this.#startAnew();
    });
    if (this.#received !== undefined) await this.#endTransfer(false);
  }

  /** Closes the file once all that came is written. Returns why the body was not taken. */
  async #endTransfer(hasEnded: boolean): Promise<Problem | undefined> {
    await this.#writing;
    const unpacker = this.#unpacker;
    this.#unpacker = undefined;
    if (hasEnded && this.#problem === undefined) unpacker?.stream.end();
    else unpacker?.stream.destroy();
    await unpacker?.done.catch((thrown: unknown) => this.#fail(thrown));
    const [problem, thrown] = [this.#problem, this.#thrown];
    this.#problem = undefined;
    this.#thrown = undefined;
    await withDiskFailure(this.#path, async () => this.#handle?.close());
    if (thrown !== undefined) throw thrown;
    return problem;
  }

  /** Keeps what stopped the writing: a failure of the disk, or data that cannot be unpacked. */
  #fail(thrown: unknown): void {
    if (thrown instanceof FatalFailure) this.#thrown ??= thrown;
    else this.#problem ??= broken('the answer says that it is compressed and cannot be unpacked');
  }

  async #complete(): Promise<ReceivedFile> {
    const { size } = await withDiskFailure(this.#path, () => stat(this.#path));
    if (size !== this.#length) {
      const text = `${this.#path} has ${size} bytes, and ${this.#length} were written; check the disk, then give the same command again`;
      throw new FatalFailure({ kind: 'output-unwritable', text });
    }
    this.#received = { path: this.#path, length: size, sha256: this.#hash.copy().digest('hex') };
    return this.#received;
  }

  #headers(): Record<string, string> {
    if (this.#validator === undefined || this.#length === 0) return {};
    return { range: `bytes=${this.#length}-`, 'if-range': this.#validator };
  }

  #isContinuedBy({ from }: Part, headers: IncomingHttpHeaders): boolean {
    if (from !== this.#length) return false;
    // A 206 may leave out the time, which the host has compared, but not the ETag (RFC 9110, 15.3.7).
    const { etag, 'last-modified': changed } = headers;
    if (this.#validator === undefined || this.#validator === etag) return true;
    return !this.#validator.startsWith('"') && (changed ?? this.#validator) === this.#validator;
  }

  #tooLarge(): Problem {
    return { kind: 'too-large', bytes: this.#total };
  }

  #refuse(problem: Problem): false {
    this.#problem = problem;
    return false;
  }

  /** Forgets what came. The file is emptied before the next write. */
  #startAnew(): void {
    this.#length = 0;
    this.#hash = createHash('sha256');
    this.#validator = undefined;
    this.#total = undefined;
    this.#received = undefined;
  }

  async #append(chunk: Buffer): Promise<void> {
    if (this.#length + chunk.length > this.#maxBytes) {
      this.#problem = this.#tooLarge();
      return;
    }
    await withDiskFailure(this.#path, async () => {
      if (this.#length === 0) await this.#handle?.truncate(0);
      await this.#handle?.appendFile(chunk);
    });
    this.#hash.update(chunk);
    this.#length += chunk.length;
  }

  async #passOn({ stream, done }: Unpacker, chunk: Buffer): Promise<void> {
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), done]);
  }

  async #unpack(stream: Unpacker['stream']): Promise<void> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      await this.#append(chunk);
      if (this.#problem !== undefined) return;
    }
  }
}

/** Part of a file that an answer contains. `from` is NaN if it is not stated. */
interface Part {
  from: number;
  /** Size of the whole file as stated: `*` if the host does not know it. */
  total: string;
}

function partIn(headers: IncomingHttpHeaders): Part {
  const [, from, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
  return { from: Number(from), total: total ?? '*' };
}

/** Returns undefined if the size is not stated. */
function bytesIn(total: string | undefined): number | undefined {
  return total === undefined || total === '*' ? undefined : Number(total);
}

/** Returns undefined for a body that is not encoded. */
function encodingIn(headers: IncomingHttpHeaders): string | undefined {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

interface Unpacker {
  stream: Unzip | BrotliDecompress;
  /** Resolves when all that was unpacked is written. */
  done: Promise<void>;
}

function unpackerFor(encoding: string): Unpacker['stream'] | undefined {
  if (encoding === 'br') return createBrotliDecompress();
  return /^(?:deflate|(?:x-)?gzip)$/.test(encoding) ? createUnzip() : undefined;
}

function broken(why: string): Outcome & { kind: 'broken' } {
  return { kind: 'broken', wasSent: true, why, beginning: '' };
}

/** Returns a strong ETag. Otherwise the time of the last change, unless a later change could have the same. */
function validatorIn({ etag, 'last-modified': changed, date }: IncomingHttpHeaders): string | undefined {
  if (etag !== undefined && /^"[^"]*"$/.test(etag)) return etag;
  return Date.parse(date ?? '') - Date.parse(changed ?? '') >= 1_000 ? changed : undefined;
}
