/** Gives jobs from the job store to workers in this process, and writes their results to the store. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { JobResults } from '../jobs/job-results.ts';
import type { TakenJob } from '../jobs/job-statements.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import { outputText } from '../workloads/workload-definition.ts';
import type { BegunJob, JobSource, OfferedJob, Outcome, Supervised } from './supervised.ts';
import type { PooledEndpoint } from './remote-workers.ts';

interface Listeners {
  /** Called after waiting workers were given the available jobs; `jobs` is their number. */
  onGiven: (jobs: number) => void;
  /** Called when a worker has finished a job, before it asks for another. */
  onDone: (worker: Supervised) => void;
}

type Pooled = Omit<PooledEndpoint, 'endpoint'> & { endpoint: { id: string } };

/** Pause before a failed write to the store is retried. */
const retryWaitMs = 1_000;

export class JobsAtHand {
  readonly #pooled: Pooled;
  readonly #results: JobResults;
  readonly #listeners: Listeners;
  readonly #stop = new AbortController();
  /** Callbacks of waiting workers, by worker id. */
  readonly #waiting = new Map<string, (job: OfferedJob | undefined) => void>();
  #giving: Promise<void> = Promise.resolve();
  #isGiving = false;
  #isWoken = false;

  constructor(pooled: Pooled, results: JobResults, listeners: Listeners) {
    this.#pooled = pooled;
    this.#results = results;
    this.#listeners = listeners;
  }

  /** Gives out jobs again, because there may be a new job or a free worker. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isGiving) this.#giving = this.#give();
  }

  sourceFor(supervised: Supervised): JobSource {
    const { workerId } = supervised;
    this.#pooled.remote.addLocal(workerId);
    return {
      take: (signal) => this.#next(workerId, signal),
      begin: ({ id }, unwanted) => this.#begin({ id, workerId }, supervised, unwanted),
    };
  }

  /** Stops giving out jobs. Resolves when no job is being taken any more. Late results are dropped. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#giving;
  }

  #next(workerId: string, signal: AbortSignal): Promise<OfferedJob | undefined> {
    return new Promise((resolve) => {
      const answer = (job: OfferedJob | undefined): void => {
        this.#waiting.delete(workerId);
        signal.removeEventListener('abort', giveUp);
        resolve(job);
      };
      const giveUp = (): void => answer(undefined);
      signal.addEventListener('abort', giveUp);
      this.#waiting.set(workerId, answer);
      this.wake();
    });
  }

  /** Takes jobs for all waiting workers with one write. */
  async #give(): Promise<void> {
    const { store, remote, endpoint } = this.#pooled;
    const { onGiven } = this.#listeners;
    this.#isGiving = true;
    while (this.#isWoken && !this.#stop.signal.aborted) {
      // Workers whose results were written together also ask together. This lets all of them ask first.
      if (this.#waiting.size > 0) await setImmediate();
      this.#isWoken = false;
      // The worker that waits for the shortest time is first, so that surplus workers stay idle and end.
      const free = [...this.#waiting.keys()].toReversed().filter((workerId) => !remote.isDraining(workerId));
      const takers = free.map((workerId) => ({ workerId, isPulled: false }));
      const take = (): Promise<TakenJob[]> => store.work.take(endpoint.id, takers);
      const jobs = takers.length === 0 ? [] : ((await this.#retryWrite(take)) ?? []);
      if (this.#stop.signal.aborted) break;
      for (const job of jobs) this.#hand(job);
      onGiven(jobs.length);
    }
    this.#isGiving = false;
  }

  #hand(job: TakenJob): void {
    const { store } = this.#pooled;
    const { id, workerId, input: inputText, s3Config } = job;
    const answer = this.#waiting.get(workerId);
    if (answer === undefined) {
      const how = { isCounted: false };
      void this.#retryWrite(() => store.work.requeue(job, 'its worker had ended before', how));
    } else if (store.reads.isInProgress(job)) answer({ id, inputText, s3Config });
    // The job was cancelled after it was taken.
    else this.#isWoken = true;
  }

  #begin(job: JobOfWorker, supervised: Supervised, unwanted: AbortController): BegunJob {
    const { store, remote } = this.#pooled;
    const { onDone } = this.#listeners;
    const { log } = supervised;
    log.begin();
    supervised.isExcused = false;
    remote.assign(job.workerId, [job.id]);
    const unsubscribe = store.signals.on(`changed ${job.id}`, () => {
      if (store.reads.isInProgress(job)) return;
      // Programs and modules can stop a job only by ending, so this end is not a failure.
      supervised.isExcused = true;
      unwanted.abort();
    });
    const keep = async (write: () => Promise<unknown>): Promise<void> => {
      remote.noteSign(job.workerId);
      try {
        await write();
      } catch {
        // A failed write of progress must not fail the job.
      }
    };
    return {
      progress: (message) => keep(() => store.work.setProgress(job, outputText(message))),
      stream: (part) => keep(() => store.streams.add(job, outputText(part))),
      end: async (told) => {
        const outcome = isEmpty(told) ? { error: 'the worker ended without an output' } : told;
        unsubscribe();
        const lines = log.ofJob.join('\n') || undefined;
        // The worker's own end also requeues the job and gives a better reason, so it goes first.
        if (outcome !== undefined && 'died' in outcome && outcome.isCounted) await setImmediate();
        const write = (): Promise<unknown> => this.#retryWrite(() => this.#write(job, outcome, lines));
        // A slow write to the store must not count as a stalled worker.
        await remote.whileArriving(job.workerId, job.id, write);
        if (outcome === undefined || 'died' in outcome) return;
        if ('output' in outcome) supervised.markHealthy();
        onDone(supervised);
      },
    };
  }

  async #write(job: JobOfWorker, outcome: Outcome | undefined, log: string | undefined): Promise<unknown> {
    const { store } = this.#pooled;
    const results = this.#results;
    // Without an outcome, the job was cancelled or timed out.
    if (outcome === undefined) return log !== undefined && (await store.work.keepLog(job, log));
    if ('died' in outcome) {
      const { died, isCounted } = outcome;
      return await store.work.requeue(job, died, { isCounted, log });
    }
    return 'error' in outcome
      ? await results.fail(job, { text: outcome.error }, log)
      : await results.complete(job, outcome.output, log);
  }

  /** Retries a write until it succeeds, because a full disk may be freed. Returns undefined after `stop`. */
  async #retryWrite<T>(write: () => Promise<T>): Promise<T | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await write();
      } catch (error) {
        const { endpoint, onProblem } = this.#pooled;
        onProblem(`endpoint ${endpoint.id} cannot write to the job store: ${String(error)}`);
        await sleep(retryWaitMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
      }
    }
    return undefined;
  }
}

function isEmpty(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && 'output' in outcome && outcome.output === 'null';
}
