/** A running endpoint: its settings, its own workers, and the workers elsewhere that pull its jobs. */
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import type { JobResults } from '../jobs/job-results.ts';
import { ClusterPool } from './cluster-pool.ts';
import type { ClusterWorkload } from '../workloads/workload-of.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { shownWorker } from '../model/worker-view.ts';
import { RemoteWorkers } from './remote-workers.ts';
import { WorkerPool } from './worker-pool.ts';
import type { PullWorkload, Workload } from '../workloads/workload-definition.ts';

/** Workload of an endpoint's own workers; undefined if all its workers are elsewhere. */
export type RunnableWorkload = Workload | PullWorkload | ClusterWorkload | undefined;

export class Endpoint {
  readonly settings: EndpointSettings;
  readonly remote: RemoteWorkers;
  readonly #pool: WorkerPool | ClusterPool | undefined;

  /** `silenceMs`: time without contact after which a worker elsewhere loses its job; undefined for the default. */
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

  /** True after removal, so that submissions whose body is still arriving are refused. */
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

  /** Current problem with the endpoint's own workers; null if there is none. */
  get problem(): string | null {
    return this.#pool?.problem ?? null;
  }

  /** Returns the log lines of a running job. Workers elsewhere have a log if they run `nightrender work`. */
  logOf(jobId: string): readonly string[] {
    const own = this.#pool?.logOf(jobId) ?? [];
    return own.length > 0 ? own : this.remote.logOf(jobId);
  }

  /** Records that a pulling worker was given jobs. */
  assign(workerId: string, jobIds: readonly string[]): void {
    this.remote.assign(workerId, jobIds);
    if (this.#pool instanceof WorkerPool) this.#pool.begin(workerId);
  }

  /** Records that a pulling worker has returned the result of a job. */
  release(workerId: string, jobId: string): void {
    this.remote.release(workerId, jobId);
    if (this.#pool instanceof WorkerPool) this.#pool.end(workerId);
  }

  /** Requeues the jobs of a pulling worker that has announced its end. No attempt is counted. */
  async leave(workerId: string): Promise<void> {
    if (this.#pool instanceof ClusterPool) this.#pool.noteLeaving(workerId);
    await this.remote.remove(workerId, 'its worker gave it back', { isCounted: false });
  }

  /** Replaces one of the endpoint's own workers, at the worker's request or because it stalled (`stalled`: the reason). */
  restart(workerId: string, stalled?: string): void {
    if (this.#pool instanceof WorkerPool) this.#pool.restart(workerId, stalled);
  }

  /** Number of running jobs that would be interrupted if the service ended now. */
  get running(): number {
    return this.#pool instanceof WorkerPool ? this.#pool.running : 0;
  }

  /** Stops starting workers on a cluster. Cancels none. */
  async drain(): Promise<void> {
    if (this.#pool instanceof ClusterPool) await this.#pool.stop();
  }

  async stop(): Promise<void> {
    await this.stopOwn();
    this.releaseWaiting();
  }

  /** Stops the endpoint's own workers. Their late results are dropped. */
  async stopOwn(): Promise<void> {
    await this.#pool?.stop();
  }

  /** Answers remote workers that wait for jobs. They keep the jobs that they run. */
  releaseWaiting(): void {
    this.remote.stop();
  }
}
