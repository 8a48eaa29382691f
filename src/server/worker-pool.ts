/** An endpoint's workers: so many runs of its workload at once, fed from the job book. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobBook } from './job-book.ts';
import type { TakenJob } from './job-statements.ts';
import { runWorkload } from './run-workload.ts';
import type { Workload } from './workload.ts';

export interface EndpointSettings {
  /** As it stands in the endpoint's addresses. */
  id: string;
  /** How many jobs are worked on at once; 0 leaves them in the queue. */
  workers: number;
  workload: Workload;
}

/** How long to wait where the book could not be written, before that is tried again. */
const troubleWaitMs = 1_000;

export class WorkerPool {
  readonly #book: JobBook;
  readonly #endpoint: EndpointSettings;
  readonly #onTrouble: (text: string) => void;
  readonly #stop = new AbortController();
  /** What the workers are at, by the id of the job. */
  readonly #runs = new Map<string, AbortController>();
  #idleWorkers: number;
  #isTaking = false;
  #isWoken = false;

  constructor(book: JobBook, endpoint: EndpointSettings, onTrouble: (text: string) => void) {
    this.#book = book;
    this.#endpoint = endpoint;
    this.#onTrouble = onTrouble;
    this.#idleWorkers = endpoint.workers;
  }

  /** Says that a job may be waiting. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isTaking) void this.#takeJobs();
  }

  /** Takes no more jobs and tells running workloads to stop; what they still answer is not heard. */
  stop(): void {
    this.#stop.abort();
    for (const run of this.#runs.values()) run.abort();
  }

  /** Frees the worker of a job that is no longer wanted, where it has one; a result of it is dropped. */
  abandon(jobId: string): void {
    this.#runs.get(jobId)?.abort();
  }

  get idle(): number {
    return this.#idleWorkers;
  }

  get running(): number {
    return this.#endpoint.workers - this.#idleWorkers;
  }

  async #takeJobs(): Promise<void> {
    this.#isTaking = true;
    while (this.#isWoken && this.#idleWorkers > 0 && !this.#stop.signal.aborted) {
      this.#isWoken = false;
      const jobs = await this.#insist(() => this.#book.take(this.#endpoint.id, this.#idleWorkers));
      for (const job of jobs ?? []) void this.#work(job);
    }
    this.#isTaking = false;
  }

  async #work(job: TakenJob): Promise<void> {
    // It may have been cancelled since it was taken.
    if (this.#stop.signal.aborted || !this.#book.isInProgress(job.id)) return;
    this.#idleWorkers -= 1;
    const run = new AbortController();
    this.#runs.set(job.id, run);
    const worker = await this.#endpoint.workload.startWorker({ workerId: job.id, log: () => undefined });
    const outcome = await runWorkload(worker, job, run.signal);
    if (outcome !== undefined) await this.#insist(() => this.#book.settle(job.id, outcome));
    this.#runs.delete(job.id);
    this.#idleWorkers += 1;
    this.wake();
  }

  /** Tries until it is written, as a full disk may be emptied; undefined once stopped. */
  async #insist<T>(write: () => Promise<T>): Promise<T | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await write();
      } catch (error) {
        this.#onTrouble(`endpoint ${this.#endpoint.id} cannot write its book: ${String(error)}`);
        await sleep(troubleWaitMs, undefined, { signal: this.#stop.signal, ref: false }).catch(
          () => undefined,
        );
      }
    }
    return undefined;
  }
}
