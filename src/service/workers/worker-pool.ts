/** Pool of an endpoint's own workers. They take jobs in this process or, as containers do, over the network. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { WorkerView } from '../../protocol/console-data.ts';
import type { JobResults } from '../jobs/job-work.ts';
import type { TakenJob } from '../jobs/job-statements.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import { OwnWorkerKeys } from '../model/key.ts';
import { ownView, pullingWorker } from '../model/job.ts';
import {
  outputText,
  type PullWorker,
  type PullWorkload,
  type WorkerContext,
  type Workload,
} from '../workloads/workload-definition.ts';
import type { PooledEndpoint } from './remote-workers.ts';
import {
  type BegunJob,
  type JobSource,
  type OfferedJob,
  type Outcome,
  PullingWorker,
  Supervised,
} from './supervised.ts';

export class WorkerPool {
  readonly #pooled: PooledEndpoint;
  readonly #workload: Workload | PullWorkload;
  readonly #workers: Supervised[];
  /** Jobs for workers in this process. Unused if the workers ask over the network. */
  readonly #jobs: JobsAtHand;
  readonly #isRemote: boolean;
  readonly #unsubscribe: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #report: (text: string) => void;
  /** Reason for the latest failed start or end of a worker. */
  #problem: string | null = null;

  constructor(pooled: PooledEndpoint, results: JobResults, workload: Workload | PullWorkload) {
    this.#pooled = pooled;
    this.#workload = workload;
    this.#report = withoutRepeats(pooled.onProblem);
    const { store, endpoint } = pooled;
    this.#isRemote = 'startPullWorker' in workload;
    this.#jobs = new JobsAtHand(pooled, results, {
      onGiven: (jobs) => {
        if (jobs > 0) this.#problem = null;
        this.#startWanted();
      },
      onDone: (worker) => this.#replaceWornOut(worker),
    });
    this.#workers = Array.from({ length: endpoint.workers.max }, () => this.#supervise());
    this.#unsubscribe = store.signals.on(`queued ${endpoint.id}`, () => this.#jobs.wake());
    this.#timer = setInterval(() => this.#check(), Math.min(5_000, endpoint.workers.idle / 4)).unref();
    this.#jobs.wake();
  }

  /** Returns views of the pool's workers. `pulling`: views of workers that have asked for jobs. Ids may include the key. */
  views(pulling: readonly WorkerView[]): WorkerView[] {
    return this.#workers.flatMap<WorkerView>((worker) => {
      const { state, since, log, lastDeath, startsAt, isFailing } = worker;
      if (state === 'stopped') return [];
      const workerId = this.#idOf(worker);
      const seen = pulling.find(({ id }) => id === workerId);
      const own = { lastDeath, startsAt, log: log.latest };
      if (state === 'up' && seen !== undefined) return [{ ...seen, kind: 'own', ...own }];
      const shown = state === 'unhealthy' || isFailing ? 'unhealthy' : 'initializing';
      return [{ ...ownView, id: workerId, state: shown, since, lastSeenAt: since, ...own }];
    });
  }

  /** Number of jobs that the workers run. Workers in containers count as well, because they end with the service. */
  get running(): number {
    const ids = new Set(this.#workers.map((worker) => this.#idOf(worker)));
    return this.#pooled.remote.views.flatMap(({ id, jobIds }) => (ids.has(id) ? jobIds : [])).length;
  }

  /** Reason why a worker is unstable; null if none is. */
  get problem(): string | null {
    return this.#workers.some(({ isUnstable }) => isUnstable) ? this.#problem : null;
  }

  /** Starts a new job log if the worker belongs to this pool, because it was given jobs. */
  begin(workerId: string): void {
    this.#workers.find((one) => this.#idOf(one) === workerId)?.log.begin();
  }

  /** Returns the log lines of a running job; empty if no worker of this pool runs it. */
  logOf(jobId: string): readonly string[] {
    const at = this.#pooled.remote.views.find(({ jobIds }) => jobIds.includes(jobId));
    return this.#workers.find((one) => this.#idOf(one) === at?.id)?.log.ofJob ?? [];
  }

  /** Replaces the worker after a job if it belongs to this pool and `recycle` is due. */
  end(workerId: string): void {
    const worker = this.#workers.find((one) => this.#idOf(one) === workerId);
    if (worker !== undefined) this.#replaceWornOut(worker);
  }

  /** Replaces a worker of this pool. `stalled`: the reason why its current job loses an attempt. */
  restart(workerId: string, stalled?: string): void {
    const worker = this.#workers.find((one) => this.#idOf(one) === workerId);
    if (worker !== undefined && worker.state !== 'retiring') void this.#retire(worker, stalled);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearInterval(this.#timer);
    // Jobs of local workers need no requeueing here: the next start of the service knows that nobody runs them.
    const ends = this.#workers.map((worker) =>
      this.#isRemote ? this.#end(this.#idOf(worker), 'the service stopped it', worker.stop()) : worker.stop(),
    );
    await Promise.all([this.#jobs.stop(), ...ends]);
  }

  /** Replaces a worker if `recycle` is due. A worker that asks over the network may run more jobs, so it is drained. */
  #replaceWornOut(worker: Supervised): void {
    const { store, remote, endpoint } = this.#pooled;
    const { jobs, time, memory } = endpoint.recycle;
    const isWornOut =
      remote.jobsDoneBy(this.#idOf(worker)) >= (jobs ?? Infinity) ||
      store.clock.now() - worker.since >= (time ?? Infinity) ||
      (memory !== undefined && (worker.worker?.memoryBytes?.() ?? 0) > memory);
    if (!isWornOut) return;
    if (this.#isRemote) remote.drain(worker.workerId);
    else void this.#retire(worker);
  }

  async #retire(worker: Supervised, stalled?: string): Promise<void> {
    this.#pooled.remote.drain(worker.workerId);
    const id = this.#idOf(worker);
    const last = stalled === undefined ? undefined : worker;
    await this.#end(id, stalled ?? 'the service replaced it', worker.retire(), last);
    this.#jobs.wake();
  }

  /** Requeues a worker's jobs after it has ended. This costs the jobs an attempt only if the worker has `stalled`. */
  async #end(workerId: string, why: string, ended: Promise<void>, stalled?: Supervised): Promise<void> {
    await ended;
    const log = stalled?.log.ofJob.join('\n') ?? '';
    const how = { isCounted: stalled !== undefined, ...(log !== '' && { log }) };
    await this.#pooled.remote.remove(workerId, why, how);
  }

  #supervise(): Supervised {
    const { store, remote, endpoint } = this.#pooled;
    const worker: Supervised = new Supervised({
      now: store.clock.now,
      start: (context) => {
        const log = (line: string): void => {
          context.log(line);
          remote.noteSign(this.#idOf(worker));
        };
        return this.#startOne(worker, { ...context, log });
      },
      onChange: () => setImmediate(() => this.#jobs.wake()),
      onEnded: (workerId, why) =>
        void remote.remove(this.#idOf({ workerId }), why, {
          isCounted: true,
          log: worker.log.ofJob.join('\n'),
        }),
      onProblem: (text) => {
        if (text !== this.#problem) this.#report(`endpoint ${endpoint.id}: ${text}`);
        this.#problem = text;
      },
    });
    return worker;
  }

  async #startOne(supervised: Supervised, context: WorkerContext): Promise<PullWorker> {
    const workload = this.#workload;
    if ('startPullWorker' in workload) return await workload.startPullWorker(context);
    const worker = await workload.startWorker(context);
    return new PullingWorker(worker, this.#jobs.sourceFor(supervised));
  }

  /** Number of workers that are kept up without a job. */
  get #kept(): number {
    const { quickStart, workers } = this.#pooled.endpoint;
    return quickStart ? workers.max : workers.min;
  }

  /** Starts workers for waiting jobs, and those that are kept without a job. */
  #startWanted(): void {
    const { store, endpoint } = this.#pooled;
    const coming = this.#workers.filter(({ state }) => state === 'initializing').length;
    const startable = this.#workers.filter(({ state }) => state === 'stopped');
    const missing = this.#kept - (this.#workers.length - startable.length);
    const wanted =
      missing >= startable.length
        ? missing
        : Math.max(missing, store.reads.takeable(endpoint.id) - coming, 0);
    for (const worker of startable.slice(0, wanted)) void worker.start();
  }

  #check(): void {
    const { store, endpoint, remote } = this.#pooled;
    const seen = new Map(remote.views.map((view) => [view.id, view]));
    // Workers that are being ended do not count.
    const present = this.#workers.filter(({ state }) => state !== 'stopped' && state !== 'retiring');
    let spare = present.length - this.#kept;
    for (const worker of this.#workers) {
      const view = seen.get(this.#idOf(worker));
      if (view === undefined || worker.state === 'retiring') continue;
      if (this.#isRemote) {
        worker.markHealthy();
        this.#problem = null;
      }
      if (view.jobIds.length > 0) continue;
      const isIdle = store.clock.now() - Math.max(view.since, worker.since) > endpoint.workers.idle;
      if (remote.isDraining(view.id)) void this.#retire(worker);
      else if (isIdle && spare > 0 && store.reads.takeable(endpoint.id) === 0) {
        spare -= 1;
        void this.#retire(worker);
      }
    }
    this.#jobs.wake();
  }

  #idOf({ workerId }: Pick<Supervised, 'workerId'>): string {
    return this.#isRemote ? pullingWorker(workerId, OwnWorkerKeys.holderName) : workerId;
  }
}

const againAfterMs = 60_000;

function withoutRepeats(emit: (text: string) => void): (text: string) => void {
  let last = '';
  let reportedAt = -Infinity;
  return (text) => {
    const now = performance.now();
    if (text === last && now - reportedAt < againAfterMs) return;
    [last, reportedAt] = [text, now];
    emit(text);
  };
}

interface Listeners {
  /** Called after waiting workers were given the available jobs; `jobs` is their number. */
  onGiven: (jobs: number) => void;
  /** Called when a worker has finished a job, before it asks for another. */
  onDone: (worker: Supervised) => void;
}

type Pooled = Omit<PooledEndpoint, 'endpoint'> & { endpoint: { id: string } };

/** Pause before a failed write to the store is retried. */
const retryWaitMs = 1_000;

/** Gives jobs from the job store to workers in this process, and writes their results to the store. */
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
      if (this.#waiting.size > 0) await nextTurn();
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
        if (outcome !== undefined && 'died' in outcome && outcome.isCounted) await nextTurn();
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
