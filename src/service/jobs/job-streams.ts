/** The streams of jobs, in the job store: parts of an output, kept until they are read. */
import type { Text } from '../../lib/files/filed-text.ts';
import type { JobTransitions, JobOfWorker } from './job-transitions.ts';
import type { StorePieces } from './store-pieces.ts';

/** All that is unread is handed out as one text. */
const defaultMaxUnreadBytes = 100 * 1024 * 1024;

/** What a part takes beside its text. */
const partBytes = 100;

export class JobStreams {
  readonly #store: StorePieces;
  readonly #maxUnreadBytes: number;
  /** Since this start, by the number of the job; of jobs that have not ended. */
  readonly #unreadBytes = new Map<number, number>();

  /** `maxUnreadBytes`: how much of a job's stream is kept for those who have not read it. */
  constructor(store: StorePieces, maxUnreadBytes = defaultMaxUnreadBytes) {
    this.#store = store;
    this.#maxUnreadBytes = maxUnreadBytes;
  }

  /**
   * Adds to the stream of a job; `output` is JSON text. False, and nothing done, where it is not the worker's job or
   * more of the stream is unread already than is kept.
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

  /** Whether there is something new in the stream of a job. */
  hasNews(id: string): boolean {
    const job = this.#sql.metadata.get(id);
    return job !== undefined && this.#sql.hasParts.get(job.number) !== undefined;
  }

  /** What is new in the stream of a job, as JSON texts; each is handed out once. */
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

  /** Nothing is counted of a job that gets no more parts. */
  forget(job: number): void {
    this.#unreadBytes.delete(job);
  }

  get #sql(): JobTransitions['sql'] {
    return this.#store.transitions.sql;
  }
}
