/** The jobs of an endpoint for workers in this process: handed out from the job store, which gets what comes of them. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { JobResults } from '../jobs/job-results.ts';
import type { TakenJob } from '../jobs/job-statements.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import { outputText } from '../workloads/workload.ts';
import type { BegunJob, JobSource, OfferedJob, Outcome } from './pulling-worker.ts';
import type { Supervised } from './supervised.ts';
import type { PooledEndpoint } from './pooled-endpoint.ts';

interface Listeners {
  /** Those who wait have been given what there is: so many jobs. */
  onGiven: (jobs: number) => void;
  /** A worker has handed in a job, and not yet asked for another. */
  onDone: (worker: Supervised) => void;
}

type Pooled = Omit<PooledEndpoint, 'endpoint'> & { endpoint: { id: string } };

/** How long to wait where the store could not be written, before that is tried again. */
const retryWaitMs = 1_000;

export class JobsAtHand {
  readonly #pooled: Pooled;
  readonly #results: JobResults;
  readonly #listeners: Listeners;
  readonly #stop = new AbortController();
  /** By the ids of the workers that wait. */
  readonly #waiting = new Map<string, (job: OfferedJob | undefined) => void>();
  #giving: Promise<void> = Promise.resolve();
  #isGiving = false;
  #isWoken = false;

  constructor(pooled: Pooled, results: JobResults, listeners: Listeners) {
    this.#pooled = pooled;
    this.#results = results;
    this.#listeners = listeners;
  }

  /** Says that a job may be waiting, or a worker be free. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isGiving) this.#giving = this.#give();
  }

  /** For the worker that is up now. */
  sourceFor(supervised: Supervised): JobSource {
    const { workerId } = supervised;
    this.#pooled.remote.addLocal(workerId);
    return {
      take: (signal) => this.#next(workerId, signal),
      begin: ({ id }, unwanted) => this.#begin({ id, workerId }, supervised, unwanted),
    };
  }

  /** What is taken meanwhile is not begun, and is in the store when this resolves; late results are dropped. */
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

  /** For all who wait at once: one write. */
  async #give(): Promise<void> {
    const { store, remote, endpoint } = this.#pooled;
    const { onGiven } = this.#listeners;
    this.#isGiving = true;
    while (this.#isWoken && !this.#stop.signal.aborted) {
      // All whose results have come to the disk together ask together.
      if (this.#waiting.size > 0) await setImmediate();
      this.#isWoken = false;
      // Who was free last is first, so that the others stay idle and end where fewer are enough.
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
    // It was cancelled since it was taken.
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
      // Programs and modules let go of a job by their end only.
      supervised.isExcused = true;
      unwanted.abort();
    });
    const keep = async (write: () => Promise<unknown>): Promise<void> => {
      remote.noteSign(job.workerId);
      try {
        await write();
      } catch {
        // What cannot be written is not worth the job: the result counts.
      }
    };
    return {
      progress: (message) => keep(() => store.work.setProgress(job, outputText(message))),
      stream: (part) => keep(() => store.streams.add(job, outputText(part))),
      end: async (told) => {
        const outcome = isEmpty(told) ? { error: 'the worker ended without an output' } : told;
        unsubscribe();
        const lines = log.ofJob.join('\n') || undefined;
        // A worker that has ended gives its job back as well, and says more of why.
        if (outcome !== undefined && 'died' in outcome && outcome.isCounted) await setImmediate();
        const write = (): Promise<unknown> => this.#retryWrite(() => this.#write(job, outcome, lines));
        // However long the store takes, that is no stall.
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
    // It was cancelled or timed out.
    if (outcome === undefined) return log !== undefined && (await store.work.keepLog(job, log));
    if ('died' in outcome) {
      const { died, isCounted } = outcome;
      return await store.work.requeue(job, died, { isCounted, log });
    }
    return 'error' in outcome
      ? await results.fail(job, { text: outcome.error }, log)
      : await results.complete(job, outcome.output, log);
  }

  /** Tries until it is written, as a full disk may be emptied; undefined once stopped. */
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
