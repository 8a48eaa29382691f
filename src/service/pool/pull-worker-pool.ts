/** The workers of an endpoint that the service starts and that then ask for jobs over the network: containers. */
import type { JobStore } from '../jobs/job-store.ts';
import { OwnWorkerKeys } from '../keys/key.ts';
import type { PullWorker, PullWorkload } from '../workloads/workload.ts';
import { ownView, pullingWorker, shownWorker, type WorkerView } from './worker-view.ts';
import type { RemoteWorkers } from './remote-workers.ts';
import {
  isWornOut,
  type OwnWorkersSettings,
  spareWorkers,
  startWanted,
  withoutRepeats,
} from './own-workers.ts';
import { Supervised } from './supervised.ts';

export interface PullWorkerPoolParts {
  store: JobStore;
  workload: PullWorkload;
  remote: RemoteWorkers;
  endpoint: OwnWorkersSettings;
  onProblem: (text: string) => void;
}

export class PullWorkerPool {
  readonly #parts: PullWorkerPoolParts;
  readonly #workers: Supervised<PullWorker>[];
  readonly #unsubscribe: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #report: (text: string) => void;
  /** Why a worker last failed to start, or ended. */
  #problem: string | null = null;

  constructor(parts: PullWorkerPoolParts) {
    this.#parts = parts;
    this.#report = withoutRepeats(parts.onProblem);
    const { store, workload, endpoint } = parts;
    this.#workers = Array.from({ length: endpoint.workers }, () => this.#supervise(workload));
    this.#unsubscribe = store.signals.on(`queued ${endpoint.id}`, () => this.#startMore());
    this.#timer = setInterval(() => this.#check(), Math.min(5_000, endpoint.idleMs / 4)).unref();
    this.#startMore();
  }

  /** `pulling` is what is known of those that have asked for jobs; ids are as `pullingWorker` makes them. */
  views(pulling: readonly WorkerView[]): WorkerView[] {
    return this.#workers.flatMap<WorkerView>((worker) => {
      const { state, since, log, lastDeath, startsAt, isFailing } = worker;
      if (state === 'stopped') return [];
      const workerId = idOf(worker);
      const seen = pulling.find(({ id }) => id === workerId);
      const own = { lastDeath, startsAt, log: log.latest };
      if (state === 'up' && seen !== undefined) return [{ ...seen, kind: 'own', ...own }];
      const shown = state === 'unhealthy' || isFailing ? 'unhealthy' : 'initializing';
      return [{ ...ownView, id: workerId, state: shown, since, lastSeenAt: since, ...own }];
    });
  }

  /** Why a worker is unstable; null where none is. */
  get problem(): string | null {
    return this.#workers.some(({ isUnstable }) => isUnstable) ? this.#problem : null;
  }

  /** Notes that a worker, where it is one of these, was given jobs: what it writes from now on is of them. */
  begin(workerId: string): void {
    this.#workers.find((one) => idOf(one) === workerId)?.log.begin();
  }

  /** What the one that is at a job has written since it was given jobs last. */
  logOf(jobId: string): readonly string[] {
    const at = this.#parts.remote.views.find(({ jobIds }) => jobIds.includes(jobId));
    return this.#workers.find((one) => idOf(one) === at?.id)?.log.ofJob ?? [];
  }

  /** Notes that a worker, where it is one of these, has handed in a job: it takes no more where it is worn out. */
  end(workerId: string): void {
    const { remote, endpoint } = this.#parts;
    const worker = this.#workers.find((one) => idOf(one) === workerId);
    const jobs = remote.views.find(({ id }) => id === workerId)?.jobsDone ?? 0;
    if (worker === undefined || !isWornOut(endpoint, { jobs, since: worker.since, memoryBytes: () => 0 }))
      return;
    remote.drain(shownWorker(workerId));
  }

  /** Has another take the place of one. */
  restart(workerId: string): void {
    const worker = this.#workers.find((one) => idOf(one) === workerId);
    if (worker !== undefined) void this.#retire(worker);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearInterval(this.#timer);
    await Promise.all(
      this.#workers.map((worker) => this.#end(idOf(worker), 'the service stopped it', worker.stop())),
    );
  }

  async #retire(worker: Supervised<PullWorker>): Promise<void> {
    this.#parts.remote.drain(worker.workerId);
    await this.#end(idOf(worker), 'the service replaced it', worker.retire());
    this.#startMore();
  }

  /** What it still was given is somebody else's when it has ended, and that is not the job's fault. */
  async #end(workerId: string, why: string, ended: Promise<void>): Promise<void> {
    await ended;
    await this.#parts.remote.remove(workerId, why, { isCounted: false });
  }

  #supervise(workload: PullWorkload): Supervised<PullWorker> {
    const { remote, endpoint } = this.#parts;
    const worker = new Supervised<PullWorker>({
      start: (context) => {
        const log = (line: string): void => {
          context.log(line);
          remote.noteSign(idOf(worker));
        };
        return workload.startPullWorker({ ...context, log });
      },
      onChange: () => setImmediate(() => this.#startMore()),
      onEnded: (workerId, why) =>
        void remote.remove(idOf({ workerId }), why, { isCounted: true, log: worker.log.ofJob.join('\n') }),
      onProblem: (text) => {
        if (text !== this.#problem) this.#report(`endpoint ${endpoint.id}: ${text}`);
        this.#problem = text;
      },
    });
    return worker;
  }

  #startMore(): void {
    const { store, endpoint } = this.#parts;
    startWanted(this.#workers, endpoint, () => store.reads.takeable(endpoint.id));
  }

  #check(): void {
    const { store, endpoint, remote } = this.#parts;
    const seen = new Map(remote.views.map((view) => [view.id, view]));
    let spare = spareWorkers(this.#workers, endpoint);
    for (const worker of this.#workers) {
      const view = seen.get(idOf(worker));
      if (view === undefined || worker.state === 'retiring') continue;
      worker.markHealthy();
      this.#problem = null;
      if (view.jobIds.length > 0) continue;
      const isIdle = Date.now() - Math.max(view.since, worker.since) > endpoint.idleMs;
      if (remote.isDraining(view.id)) void this.#retire(worker);
      else if (isIdle && spare > 0 && store.reads.takeable(endpoint.id) === 0) {
        spare -= 1;
        void this.#retire(worker);
      }
    }
    this.#startMore();
  }
}

/** Who it is when it asks for jobs. */
function idOf({ workerId }: Pick<Supervised<PullWorker>, 'workerId'>): string {
  return pullingWorker(workerId, OwnWorkerKeys.holderName);
}
