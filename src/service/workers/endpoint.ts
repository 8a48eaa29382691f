/** An endpoint at work: its settings, the workers that the service runs for it, and those that pull from elsewhere. */
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import type { JobResults } from '../jobs/job-results.ts';
import { ClusterPool } from './cluster-pool.ts';
import type { ClusterWorkload } from '../workloads/cluster-workload.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { shownWorker } from '../model/worker-view.ts';
import { RemoteWorkers } from './remote-workers.ts';
import { WorkerPool } from './worker-pool.ts';
import type { PullWorkload, Workload } from '../workloads/workload.ts';

/** What an endpoint's own workers run; undefined where all its workers are elsewhere. */
export type RunnableWorkload = Workload | PullWorkload | ClusterWorkload | undefined;

export class Endpoint {
  readonly settings: EndpointSettings;
  readonly remote: RemoteWorkers;
  readonly #pool: WorkerPool | ClusterPool | undefined;

  /** `silenceMs`: how long a worker elsewhere may be silent. */
  constructor({
    store,
    results,
    settings,
    workload,
    silenceMs,
    onProblem,
  }: {
    store: JobStore;
    results: JobResults;
    settings: EndpointSettings;
    workload: RunnableWorkload;
    silenceMs: number | undefined;
    onProblem: (text: string) => void;
  }) {
    this.settings = settings;
    const onTakenAway = (job: JobOfWorker): void => {
      const lines = this.logOf(job.id);
      const failed = (error: unknown): void =>
        onProblem(`the log of job ${job.id} is lost: ${String(error)}`);
      if (lines.length > 0) store.work.keepLog(job, lines.join('\n')).catch(failed);
    };
    const onStalled = (workerId: string, why: string): void => this.restart(workerId, why);
    const { id: endpointId, stall: stallMs = null } = settings;
    const logOf = (jobId: string): readonly string[] => this.logOf(jobId);
    const elsewhere = { store, endpointId, stallMs, logOf, onTakenAway, onStalled, onProblem };
    this.remote = new RemoteWorkers(silenceMs === undefined ? elsewhere : { ...elsewhere, silenceMs });
    if (workload === undefined) return;
    const pooled = { store, remote: this.remote, endpoint: settings, onProblem };
    this.#pool =
      'startWorkers' in workload
        ? new ClusterPool(pooled, workload)
        : new WorkerPool(pooled, results, workload);
  }

  /** Set on removal: submissions that are still arriving are refused. */
  isRemoved = false;

  get id(): string {
    return this.settings.id;
  }

  get workers(): WorkerView[] {
    const own = this.#pool?.views(this.remote.views) ?? [];
    const ownIds = new Set(own.map(({ id }) => id));
    const all = [...own, ...this.remote.views.filter(({ id }) => !ownIds.has(id))];
    return all.map((view) => ({ ...view, id: shownWorker(view.id) }));
  }

  /** Why its own workers cannot be started; null where they can. */
  get problem(): string | null {
    return this.#pool?.problem ?? null;
  }

  /** What the worker that is at a job has logged for it; of workers elsewhere, those of ours. */
  logOf(jobId: string): readonly string[] {
    const own = this.#pool?.logOf(jobId) ?? [];
    return own.length > 0 ? own : this.remote.logOf(jobId);
  }

  /** Notes what a worker that pulls was given. */
  assign(workerId: string, jobIds: readonly string[]): void {
    this.remote.assign(workerId, jobIds);
    if (this.#pool instanceof WorkerPool) this.#pool.begin(workerId);
  }

  /** Notes that a worker that pulls has handed in a job. */
  release(workerId: string, jobId: string): void {
    this.remote.release(workerId, jobId);
    if (this.#pool instanceof WorkerPool) this.#pool.end(workerId);
  }

  /** A worker that pulls has said that it ends: what it has is somebody else's. */
  async leave(workerId: string): Promise<void> {
    if (this.#pool instanceof ClusterPool) this.#pool.noteLeaving(workerId);
    await this.remote.remove(workerId, 'its worker gave it back', { isCounted: false });
  }

  /** Replaces one of its own workers, at the worker's request or since it has `stalled`. */
  restart(workerId: string, stalled?: string): void {
    if (this.#pool instanceof WorkerPool) this.#pool.restart(workerId, stalled);
  }

  /** How many jobs would be lost on the workers that the service runs, if it ended now. */
  get running(): number {
    return this.#pool instanceof WorkerPool ? this.#pool.running : 0;
  }

  /** Asks for no workers of a cluster any more, and cancels none. */
  async drain(): Promise<void> {
    if (this.#pool instanceof ClusterPool) await this.#pool.stop();
  }

  async stop(): Promise<void> {
    await this.stopOwn();
    this.releaseWaiting();
  }

  /** Late results of its own workers are dropped. */
  async stopOwn(): Promise<void> {
    await this.#pool?.stop();
  }

  /** Answers waiting remote workers; they keep the jobs they run. */
  releaseWaiting(): void {
    this.remote.stop();
  }
}
