/** Streams of jobs: parts of an output, stored until they are read. */
import type { Text } from '../../lib/files/filed-text.ts';
import type { JobTransitions, JobOfWorker } from './job-transitions.ts';
import type { StorePieces } from './store-pieces.ts';

/** Limits the unread parts of a job, which are handed out as one text. */
const defaultMaxUnreadBytes = 100 * 1024 * 1024;

/** Size of a stored part beside its text. */
const partBytes = 100;

export class JobStreams {
  readonly #store: StorePieces;
  readonly #maxUnreadBytes: number;
  /** Unread bytes since this start, by job number, for jobs that have not ended. */
  readonly #unreadBytes = new Map<number, number>();

  constructor(store: StorePieces, maxUnreadBytes = defaultMaxUnreadBytes) {
    this.#store = store;
    this.#maxUnreadBytes = maxUnreadBytes;
  }

  /**
   * Adds a part to the stream of a job. `output` is JSON text. Returns false and stores nothing if the worker no
   * longer runs the job, or if too much of the stream is unread.
   */
  async add(job: JobOfWorker, output: Text): Promise<boolean> {
    const { commit, texts, signals, transitions } = this.#store;
    const byteCount = Buffer.byteLength(output) + partBytes;
    const isAccepted = await texts.withStored('streams', output, (stored) =>
      commit.write(() => {
        const held = transitions.runningOn(job);
        if (held === undefined) return false;
        const unread = (this.#unreadBytes.get(held.number) ?? 0) + byteCount;
        if (unread > this.#maxUnreadBytes) return false;
        this.#sql.addPart.run({ job: held.number, ...stored });
        this.#unreadBytes.set(held.number, unread);
        return true;
      }),
    );
    if (isAccepted) signals.streamed(job.id);
    return isAccepted;
  }

  /** True if the stream of a job has unread parts. */
  hasNews(id: string): boolean {
    const job = this.#sql.metadata.get(id);
    return job !== undefined && this.#sql.hasParts.get(job.number) !== undefined;
  }

  /** Returns and deletes the unread parts of a job's stream, as JSON texts. */
  async drain(id: string): Promise<Text[]> {
    const job = this.#sql.metadata.get(id);
    if (job === undefined || !this.hasNews(id)) return [];
    const { commit, texts } = this.#store;
    const parts = await commit.write(() => {
      const unread = this.#sql.parts.all(job.number);
      this.#sql.deleteParts.run(job.number);
      this.#unreadBytes.delete(job.number);
      return unread;
    });
    const outputs = await Promise.all(parts.map((part) => texts.textOf(part)));
    await texts.delete(parts);
    return outputs.filter((output) => output !== undefined);
  }

  /** Drops the byte count of a job that gets no more parts. */
  forget(job: number): void {
    this.#unreadBytes.delete(job);
  }

  get #sql(): JobTransitions['sql'] {
    return this.#store.transitions.sql;
  }
}
