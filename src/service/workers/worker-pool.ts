/** The workers of an endpoint that the service starts: each asks for its jobs, in this process, or over the network as containers do. */
import type { JobResults } from '../jobs/job-results.ts';
import { OwnWorkerKeys } from '../model/key.ts';
import type { PullWorker, PullWorkload, WorkerContext, Workload } from '../workloads/workload.ts';
import { JobsAtHand } from './jobs-at-hand.ts';
import { PullingWorker } from './pulling-worker.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { ownView, pullingWorker } from '../model/worker-view.ts';
import { Supervised } from './supervised.ts';
import type { PooledEndpoint } from './pooled-endpoint.ts';

export class WorkerPool {
  readonly #pooled: PooledEndpoint;
  readonly #workload: Workload | PullWorkload;
  readonly #workers: Supervised[];
  /** Empty-handed where they ask over the network. */
  readonly #jobs: JobsAtHand;
  readonly #isRemote: boolean;
  readonly #unsubscribe: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #report: (text: string) => void;
  /** Why a worker last failed to start, or ended. */
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

  /** `pulling` is what is known of those that have asked for jobs; ids are as `pullingWorker` makes them. */
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

  /** How many jobs its workers are at; those in containers ask over the network, and end with the service all the same. */
  get running(): number {
    const ids = new Set(this.#workers.map((worker) => this.#idOf(worker)));
    return this.#pooled.remote.views.flatMap(({ id, jobIds }) => (ids.has(id) ? jobIds : [])).length;
  }

  /** Why a worker is unstable; null where none is. */
  get problem(): string | null {
    return this.#workers.some(({ isUnstable }) => isUnstable) ? this.#problem : null;
  }

  /** Notes that a worker, where it is one of these, was given jobs: what it writes from now on is of them. */
  begin(workerId: string): void {
    this.#workers.find((one) => this.#idOf(one) === workerId)?.log.begin();
  }

  /** What the one that is at a job has written since it was given jobs last. */
  logOf(jobId: string): readonly string[] {
    const at = this.#pooled.remote.views.find(({ jobIds }) => jobIds.includes(jobId));
    return this.#workers.find((one) => this.#idOf(one) === at?.id)?.log.ofJob ?? [];
  }

  /** Notes that a worker, where it is one of these, has handed in a job: it takes no more where it is worn out. */
  end(workerId: string): void {
    const worker = this.#workers.find((one) => this.#idOf(one) === workerId);
    if (worker !== undefined) this.#replaceWornOut(worker);
  }

  /** Has another take the place of one. `stalled`: why what it is at costs that job an attempt, once it has ended. */
  restart(workerId: string, stalled?: string): void {
    const worker = this.#workers.find((one) => this.#idOf(one) === workerId);
    if (worker !== undefined && worker.state !== 'retiring') void this.#retire(worker, stalled);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearInterval(this.#timer);
    // What those in this process are at is known to be nobody's when the service starts again.
    const ends = this.#workers.map((worker) =>
      this.#isRemote ? this.#end(this.#idOf(worker), 'the service stopped it', worker.stop()) : worker.stop(),
    );
    await Promise.all([this.#jobs.stop(), ...ends]);
  }

  /** One that asks over the network may be at more jobs. */
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

  /** What it still was given is somebody else's when it has ended, and that is not the job's fault, unless it has `stalled` with it. */
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

  /** How many are kept without a job. */
  get #kept(): number {
    const { quickStart, workers } = this.#pooled.endpoint;
    return quickStart ? workers.max : workers.min;
  }

  /** Starts as many as there are jobs that wait for one, and those that are kept. */
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
    // One that is being ended is there no more.
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

  /** Who it is when it asks for jobs. */
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
