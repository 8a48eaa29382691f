/** The workers that take an endpoint's jobs, over the network or in this process: what they are at, and which show nothing of it. */
import type { JobStore } from '../jobs/job-store.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import type { JobSignals } from '../jobs/job-signals.ts';
import {
  isDraining,
  newRemoteWorker,
  forgetAfterMs,
  viewOf,
  type RemoteWorker,
  whyLost,
} from './remote-worker.ts';
import type { WorkerReport } from './worker-report.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { keyOfWorker, shownWorker } from '../model/worker-view.ts';

/** A worker pings every 10 s; after this long without a ping its job is requeued. */
const defaultSilenceMs = 60_000;

/** Each holds connections open, and every view of the endpoint lists all of them. */
const maxWorkers = 1_000;

/** The same of one key, so that those of other keys find a place. */
const maxWorkersOfKey = maxWorkers / 2;

/** Of a worker that names jobs and never asks which of them to stop. */
const maxUnwanted = 1_000;

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
  readonly #timer: NodeJS.Timeout;
  readonly #checkEveryMs: number;
  #checkedAt = performance.now();
  #isStopped = false;

  constructor(options: {
    store: JobStore;
    endpointId: string;
    silenceMs?: number;
    /** How long it may show nothing of a job; null for as long as it likes. */
    stallMs: number | null;
    /** What is known to be written of a job. */
    logOf: (jobId: string) => readonly string[];
    /** A job was cancelled, or has timed out, while a worker was at it. */
    onTakenAway: (job: JobOfWorker) => void;
    /** A worker was at a job for too long without a sign of it; one of this process has it still, until it has ended. */
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
    // They may have kept running while the service was down.
    for (const job of store.reads.pulledJobs())
      if (job.endpointId === endpointId && job.workerId !== null) this.assign(job.workerId, [job.id]);
    this.#checkEveryMs = Math.max(100, Math.min(silenceMs, options.stallMs ?? silenceMs) / 10);
    this.#timer = setInterval(() => void this.#checkSilence(), this.#checkEveryMs).unref();
  }

  /** Records contact with a worker; false where there are too many. `isWork`: by more than a ping, which may come from what outlived it. */
  noteContact(id: string, gpu: string | null, isWork: boolean): boolean {
    if (!this.#workers.has(id) && this.#isFullFor(id)) return false;
    const worker = this.#worker(id);
    worker.lastSeenAt = this.#now();
    worker.isSilent = false;
    worker.gpu = gpu ?? worker.gpu;
    if (isWork) worker.leftAt = undefined;
    return true;
  }

  /** Whether the endpoint has ended, or been changed, since: whoever waits here is to ask anew. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** One in this process, until it is removed; its `id` is no pulling worker's. */
  addLocal(id: string): void {
    this.#workers.set(id, newRemoteWorker(id, true, this.#now()));
  }

  /** Notes that it was given these. */
  assign(workerId: string, jobIds: readonly string[]): void {
    const worker = this.#worker(workerId);
    for (const id of jobIds) {
      worker.jobs.get(id)?.unsubscribe();
      // It may have been told to stop this job before and got it again.
      worker.unwanted.delete(id);
      const unsubscribe = this.#signals.on(`changed ${id}`, () => this.#onMoved(worker, id));
      const now = performance.now();
      worker.jobs.set(id, { givenAt: now, heardAt: now, signAt: now, arriving: 0, unsubscribe });
      // It may have been cancelled since it was taken.
      if (!worker.isLocal) this.#onMoved(worker, id);
    }
    worker.log.begin();
    worker.hasAsked = true;
    worker.since = this.#now();
  }

  /** Notes that it says it is at these; what it does not name, it may not have got. */
  keepAlive(workerId: string, jobIds: readonly string[]): void {
    const worker = this.#worker(workerId);
    for (const id of jobIds) {
      const held = worker.jobs.get(id);
      if (held !== undefined) held.heardAt = performance.now();
      else if (this.#isUnwanted(worker, id)) this.#stopJob(worker, id);
    }
  }

  /** Notes that it has shown something of a job, or of whichever it has. */
  noteSign(workerId: string, jobId?: string): void {
    if (jobId !== undefined) this.keepAlive(workerId, [jobId]);
    for (const [id, held] of this.#workers.get(workerId)?.jobs ?? [])
      if (jobId === undefined || id === jobId) held.signAt = performance.now();
  }

  /** Does `work`, for as long as something of a job comes from it: over a slow line that is neither silence nor a stall. */
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
      // What it waits for elsewhere may have ended meanwhile.
      if (worker.leftAt !== undefined) worker.leftAt = held.heardAt;
    }
  }

  /** Notes that it waits, until what is returned is called; `isClosed`: it went away. Undefined where one of its id waits for jobs already. */
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

  /** Since it came. */
  jobsDoneBy(workerId: string): number {
    return this.#workers.get(workerId)?.jobsDone ?? 0;
  }

  /** The jobs that it is to stop, returned once. */
  takeUnwanted(workerId: string): string[] | undefined {
    const worker = this.#worker(workerId);
    if (worker.unwanted.size === 0) return undefined;
    const ids = [...worker.unwanted];
    worker.unwanted.clear();
    return ids;
  }

  /** It has returned the job's result. */
  release(workerId: string, jobId: string): void {
    const worker = this.#worker(workerId);
    worker.jobs.get(jobId)?.unsubscribe();
    worker.jobs.delete(jobId);
    worker.unwanted.delete(jobId);
    worker.since = this.#now();
  }

  /** Notes what it says of itself; the ids of the jobs that it has. */
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

  /** Has all that are called so take no more jobs; false where there are none. */
  drain(shownId: string): boolean {
    const called = [...this.#workers.values()].filter(({ id }) => shownWorker(id) === shownId);
    for (const worker of called) worker.isToDrain = true;
    return called.length > 0;
  }

  /** Whether it takes no more jobs, as one that was removed while a request of it is held. */
  isDraining(workerId: string): boolean {
    const worker = this.#workers.get(workerId);
    return worker === undefined || isDraining(worker);
  }

  /** What the worker that is at a job has reported since it was given it. */
  logOf(jobId: string): readonly string[] {
    return [...this.#workers.values()].find(({ jobs }) => jobs.has(jobId))?.log.ofJob ?? [];
  }

  /** A worker that has ended for sure; with `isCounted` false it was none of its doing. `log`: its last words. */
  async remove(workerId: string, why: string, how: { isCounted: boolean; log?: string }): Promise<void> {
    const worker = this.#workers.get(workerId);
    if (worker === undefined) return;
    this.#workers.delete(workerId);
    for (const [id, { unsubscribe }] of worker.jobs) {
      unsubscribe();
      await this.#requeue({ id, workerId }, why, how);
    }
  }

  /** Their ids are as `pullingWorker` makes them. */
  get views(): WorkerView[] {
    const now = this.#now();
    return [...this.#workers.values()].map((worker) => viewOf(worker, this.#silenceMs, now));
  }

  /** Lets go of all who wait; what they are at stays theirs. */
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
      worker = newRemoteWorker(id, false, this.#now());
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
    // One in this process hears of it by itself.
    const isToStop = standing === 'unwanted' && !worker.isLocal;
    if (isToStop) this.#onTakenAway(job);
    if (standing === 'settled') worker.jobsDone += 1;
    worker.jobs.delete(id);
    worker.since = this.#now();
    worker.freeAt = performance.now();
    worker.busyMs += worker.freeAt - held.givenAt;
    if (isToStop) this.#stopJob(worker, id);
  }

  /** It knows of jobs that it ended itself. */
  #isUnwanted({ id: workerId }: RemoteWorker, id: string): boolean {
    return this.#store.reads.standing({ id, workerId }) === 'unwanted';
  }

  #stopJob(worker: RemoteWorker, id: string): void {
    if (worker.unwanted.size < maxUnwanted) worker.unwanted.add(id);
    this.#signals.stopping(worker.id);
  }

  /** While this process stood still, nobody could be heard: that time is nobody's silence. */
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
        const lost = held.arriving > 0 ? undefined : whyLost(worker, held, limits);
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
      // Retried at the next check.
      this.#onProblem(`endpoint ${this.#endpointId} cannot requeue job ${job.id}: ${String(error)}`);
    }
  }
}
