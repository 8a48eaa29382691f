/** Workers that take an endpoint's jobs, over the network or in this process. Requeues jobs of silent or stalled workers. */
import type { WorkerView } from '../../protocol/console-data.ts';
import type { JobSignals } from '../jobs/job-signals.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import { shownWorker } from '../model/job.ts';
import { forgetAfterMs, RemoteWorker, type WorkerReport } from './remote-worker.ts';

/** Time without contact after which a worker's job is requeued. Workers ping every 10 s. */
const defaultSilenceMs = 60_000;

/** Maximum remote workers of an endpoint. Each holds connections open, and every view lists all of them. */
const maxWorkers = 1_000;

/** Maximum remote workers of one key, so that other keys still have room. */
const maxWorkersOfKey = maxWorkers / 2;

/** Maximum jobs to stop that are remembered for a worker, which may never ask for them. */
const maxUnwanted = 1_000;

interface DoneWork {
  jobs: number;
  ms: number;
}

export class RemoteWorkers {
  readonly #store: JobStore;
  readonly #now: () => number;
  readonly #signals: JobSignals;
  readonly #endpointId: string;
  readonly #silenceMs: number;
  readonly #stallMs: number | null;
  readonly #logOf: (jobId: string) => readonly string[];
  readonly #onTakenAway: (job: JobOfWorker) => void;
  readonly #onStalled: (workerId: string, why: string) => void;
  readonly #onProblem: (text: string) => void;
  readonly #workers = new Map<string, RemoteWorker>();
  /** Jobs that were done with each key, also by workers that have left. */
  readonly #doneByKey = new Map<string, DoneWork>();
  readonly #timer: NodeJS.Timeout;
  readonly #checkEveryMs: number;
  #checkedAt = performance.now();
  #isStopped = false;

  constructor(options: {
    store: JobStore;
    endpointId: string;
    silenceMs?: number;
    /** Time without progress, output or log after which a job counts as stalled; null for no limit. */
    stallMs: number | null;
    logOf: (jobId: string) => readonly string[];
    /** Called when a job is no longer wanted from a remote worker that still runs it. */
    onTakenAway: (job: JobOfWorker) => void;
    /** Called when a worker has stalled. A local worker keeps its job until it has ended. */
    onStalled: (workerId: string, why: string) => void;
    onProblem: (text: string) => void;
  }) {
    const { store, endpointId, silenceMs = defaultSilenceMs, onTakenAway, onStalled, onProblem } = options;
    this.#store = store;
    this.#now = store.clock.now;
    this.#signals = store.signals;
    this.#endpointId = endpointId;
    this.#silenceMs = silenceMs;
    this.#stallMs = options.stallMs;
    this.#logOf = options.logOf;
    this.#onTakenAway = onTakenAway;
    this.#onStalled = onStalled;
    this.#onProblem = onProblem;
    // Remote workers may have kept running their jobs while the service was down.
    for (const job of store.reads.pulledJobs())
      if (job.endpointId === endpointId && job.workerId !== null) this.assign(job.workerId, [job.id]);
    this.#checkEveryMs = Math.max(100, Math.min(silenceMs, options.stallMs ?? silenceMs) / 10);
    this.#timer = setInterval(() => void this.#checkSilence(), this.#checkEveryMs).unref();
  }

  /** Records a request of a worker; false if there are too many workers. `isWork`: the request is more than a ping. */
  noteContact(id: string, gpu: string | null, isWork: boolean): boolean {
    if (!this.#workers.has(id) && this.#isFullFor(id)) return false;
    const worker = this.#worker(id);
    worker.lastSeenAt = this.#now();
    worker.isSilent = false;
    worker.gpu = gpu ?? worker.gpu;
    if (isWork) worker.leftAt = undefined;
    return true;
  }

  /** True if the endpoint was stopped or changed. Workers that wait here must ask again. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Adds a worker of this process, until it is removed. */
  addLocal(id: string): void {
    this.#workers.set(id, new RemoteWorker(id, true, this.#now()));
  }

  assign(workerId: string, jobIds: readonly string[]): void {
    const worker = this.#worker(workerId);
    for (const id of jobIds) {
      worker.jobs.get(id)?.unsubscribe();
      // The worker may have been told to stop this job earlier, and have got it again.
      worker.unwanted.delete(id);
      const unsubscribe = this.#signals.on(`changed ${id}`, () => this.#onMoved(worker, id));
      const now = performance.now();
      worker.jobs.set(id, { givenAt: now, heardAt: now, signAt: now, arriving: 0, unsubscribe });
      // The job may have been cancelled after it was taken.
      if (!worker.isLocal) this.#onMoved(worker, id);
    }
    worker.log.begin();
    worker.hasAsked = true;
    worker.since = this.#now();
  }

  /** Records that a worker names these jobs as its own. Jobs that it does not name may never have arrived. */
  keepAlive(workerId: string, jobIds: readonly string[]): void {
    const worker = this.#worker(workerId);
    for (const id of jobIds) {
      const held = worker.jobs.get(id);
      if (held !== undefined) held.heardAt = performance.now();
      else if (this.#isUnwanted(worker, id)) this.#stopJob(worker, id);
    }
  }

  /** Records a sign of life (progress, output, log line) of one job, or of all jobs of the worker. */
  noteSign(workerId: string, jobId?: string): void {
    if (jobId !== undefined) this.keepAlive(workerId, [jobId]);
    for (const [id, held] of this.#workers.get(workerId)?.jobs ?? [])
      if (jobId === undefined || id === jobId) held.signAt = performance.now();
  }

  /** Runs `work`, which receives data about a job. During this time, the worker counts neither as silent nor as stalled. */
  async whileArriving<T>(workerId: string, jobId: string, work: () => Promise<T>): Promise<T> {
    const worker = this.#workers.get(workerId);
    const held = worker?.jobs.get(jobId);
    if (worker === undefined || held === undefined) return await work();
    held.arriving += 1;
    try {
      return await work();
    } finally {
      held.arriving -= 1;
      held.heardAt = held.signAt = performance.now();
      // Its open requests may have ended in the meantime, so the time to come back starts now.
      if (worker.leftAt !== undefined) worker.leftAt = held.heardAt;
    }
  }

  /**
   * Records an open request until the returned function is called (`isClosed`: by the worker). Undefined if
   * `isTaking` and another request of this id waits for jobs already.
   */
  hold(workerId: string, isTaking: boolean): ((isClosed: boolean) => void) | undefined {
    const worker = this.#worker(workerId);
    if (isTaking && worker.isTaking) return undefined;
    worker.held += 1;
    worker.isTaking ||= isTaking;
    worker.hasAsked ||= isTaking;
    return (isClosed) => {
      worker.held -= 1;
      if (isTaking) {
        worker.isTaking = false;
        worker.freeAt = performance.now();
      }
      if (isClosed && worker.held === 0) worker.leftAt = performance.now();
    };
  }

  /** Returns the jobs that workers with this key have finished, and the time with jobs, since the start. */
  doneByKey(keyId: string): DoneWork {
    return this.#doneByKey.get(keyId) ?? { jobs: 0, ms: 0 };
  }

  /** Returns the number of jobs that a worker has finished since its first contact. */
  jobsDoneBy(workerId: string): number {
    return this.#workers.get(workerId)?.jobsDone ?? 0;
  }

  /** Returns the jobs that a worker should stop, each only once; undefined if there are none. */
  takeUnwanted(workerId: string): string[] | undefined {
    const worker = this.#worker(workerId);
    if (worker.unwanted.size === 0) return undefined;
    const ids = [...worker.unwanted];
    worker.unwanted.clear();
    return ids;
  }

  release(workerId: string, jobId: string): void {
    const worker = this.#worker(workerId);
    worker.jobs.get(jobId)?.unsubscribe();
    worker.jobs.delete(jobId);
    worker.unwanted.delete(jobId);
    worker.since = this.#now();
  }

  /** Records a worker's report. Returns the ids of its jobs. Requeues them if the worker's program has died. */
  async report(workerId: string, { log, died, ...report }: WorkerReport): Promise<string[]> {
    const worker = this.#worker(workerId);
    worker.report = report;
    for (const line of log) worker.log.add(line);
    if (log.length > 0) this.noteSign(workerId);
    if (died !== null)
      for (const id of worker.jobs.keys())
        await this.#requeue({ id, workerId }, died, { isCounted: true, log: worker.log.ofJob.join('\n') });
    return [...worker.jobs.keys()];
  }

  /** Tells all workers that are shown with this id to take no more jobs; false if there are none. */
  drain(shownId: string): boolean {
    const called = [...this.#workers.values()].filter(({ id }) => shownWorker(id) === shownId);
    for (const worker of called) worker.isToDrain = true;
    return called.length > 0;
  }

  /** True if a worker takes no more jobs, or was removed while one of its requests is open. */
  isDraining(workerId: string): boolean {
    const worker = this.#workers.get(workerId);
    return worker === undefined || worker.isDraining;
  }

  /** Returns the lines that a worker has reported since it was given the job. */
  logOf(jobId: string): readonly string[] {
    return [...this.#workers.values()].find(({ jobs }) => jobs.has(jobId))?.log.ofJob ?? [];
  }

  /** Removes a worker that has ended, and requeues its jobs. `isCounted`: this costs the jobs an attempt. */
  async remove(workerId: string, why: string, how: { isCounted: boolean; log?: string }): Promise<void> {
    const worker = this.#workers.get(workerId);
    if (worker === undefined) return;
    this.#workers.delete(workerId);
    for (const [id, { unsubscribe }] of worker.jobs) {
      unsubscribe();
      await this.#requeue({ id, workerId }, why, how);
    }
  }

  /** Views of all workers. Ids of remote workers include their key, as `pullingWorker` makes them. */
  get views(): WorkerView[] {
    const now = this.#now();
    return [...this.#workers.values()].map((worker) => worker.view(this.#silenceMs, now));
  }

  /** Answers all waiting workers. They keep the jobs that they run. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#signals.queued(this.#endpointId);
    for (const { id, jobs } of this.#workers.values()) {
      this.#signals.stopping(id);
      for (const { unsubscribe } of jobs.values()) unsubscribe();
    }
  }

  #isFullFor(id: string): boolean {
    const remote = [...this.#workers.values()].filter(({ isLocal }) => !isLocal);
    const key = keyOfWorker(id);
    const ofKey = remote.filter((worker) => keyOfWorker(worker.id) === key);
    return remote.length >= maxWorkers || ofKey.length >= maxWorkersOfKey;
  }

  #worker(id: string): RemoteWorker {
    let worker = this.#workers.get(id);
    if (worker === undefined) {
      worker = new RemoteWorker(id, false, this.#now());
      this.#workers.set(id, worker);
    }
    return worker;
  }

  #onMoved(worker: RemoteWorker, id: string): void {
    const job = { id, workerId: worker.id };
    const standing = this.#store.reads.standing(job);
    const held = worker.jobs.get(id);
    if (standing === 'in progress' || held === undefined) return;
    held.unsubscribe();
    // A local worker learns of the change by itself.
    const isToStop = standing === 'unwanted' && !worker.isLocal;
    if (isToStop) this.#onTakenAway(job);
    if (standing === 'settled') worker.jobsDone += 1;
    worker.jobs.delete(id);
    worker.since = this.#now();
    worker.freeAt = performance.now();
    const busyMs = worker.freeAt - held.givenAt;
    worker.busyMs += busyMs;
    const key = keyOfWorker(worker.id);
    const { jobs, ms } = this.doneByKey(key);
    this.#doneByKey.set(key, { jobs: jobs + Number(standing === 'settled'), ms: ms + busyMs });
    if (isToStop) this.#stopJob(worker, id);
  }

  /** True if the job was cancelled, timed out or taken away from the worker. */
  #isUnwanted({ id: workerId }: RemoteWorker, id: string): boolean {
    return this.#store.reads.standing({ id, workerId }) === 'unwanted';
  }

  #stopJob(worker: RemoteWorker, id: string): void {
    if (worker.unwanted.size < maxUnwanted) worker.unwanted.add(id);
    this.#signals.stopping(worker.id);
  }

  /** Excuses time in which this process stood still, because no worker could be heard then. */
  #excuseStall(): void {
    const now = performance.now();
    const stalledMs = now - this.#checkedAt - this.#checkEveryMs;
    this.#checkedAt = now;
    if (stalledMs <= 0) return;
    for (const worker of this.#workers.values()) {
      if (worker.leftAt !== undefined) worker.leftAt = Math.min(now, worker.leftAt + stalledMs);
      for (const held of worker.jobs.values()) {
        held.heardAt = Math.min(now, held.heardAt + stalledMs);
        held.signAt = Math.min(now, held.signAt + stalledMs);
      }
    }
  }

  async #checkSilence(): Promise<void> {
    this.#excuseStall();
    const limits = { silenceMs: this.#silenceMs, stallMs: this.#stallMs ?? Infinity };
    for (const worker of this.#workers.values()) {
      for (const [id, held] of worker.jobs) {
        const lost = held.arriving > 0 ? undefined : worker.whyLost(held, limits);
        if (lost === undefined) continue;
        if (worker.isLocal) {
          this.#onStalled(worker.id, lost.why);
          continue;
        }
        worker.isSilent = !lost.isStalled;
        const log = lost.isStalled ? this.#logOf(id).join('\n') : '';
        await this.#requeue({ id, workerId: worker.id }, lost.why, {
          isCounted: true,
          ...(log !== '' && { log }),
        });
        if (!lost.isStalled) continue;
        this.#stopJob(worker, id);
        this.#onStalled(worker.id, lost.why);
      }
      if (!worker.isLocal && worker.jobs.size === 0 && this.#now() - worker.lastSeenAt > forgetAfterMs)
        this.#workers.delete(worker.id);
    }
  }

  async #requeue(job: JobOfWorker, why: string, how: { isCounted: boolean; log?: string }): Promise<void> {
    try {
      const state = await this.#store.work.requeue(job, why, how);
      const worker = this.#workers.get(job.workerId);
      if (state === 'FAILED' && worker !== undefined) this.#stopJob(worker, job.id);
    } catch (error) {
      // The next check retries this.
      this.#onProblem(`endpoint ${this.#endpointId} cannot requeue job ${job.id}: ${String(error)}`);
    }
  }
}

/** Parts that an endpoint's pool of workers uses: job store, settings, and the workers that take jobs. */
export interface PooledEndpoint {
  store: JobStore;
  remote: RemoteWorkers;
  endpoint: Pick<EndpointSettings, 'id' | 'workers' | 'quickStart' | 'recycle'>;
  onProblem: (text: string) => void;
}

/** Returns the id of the key that a worker pulls with; empty for a worker that does not pull. */
function keyOfWorker(worker: string): string {
  return worker.split('@', 2)[1] ?? '';
}
