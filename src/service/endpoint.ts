/** An endpoint at work: its settings, the workers that the service runs for it, and those that pull from elsewhere. */
import type { EndpointSettings } from './endpoint-settings.ts';
import type { JobStore } from './jobs/job-store.ts';
import type { JobResults } from './jobs/job-results.ts';
import { PullerPool } from './pool/puller-pool.ts';
import { shownWorker, type WorkerView } from './pool/worker-view.ts';
import { RemoteWorkers } from './pool/remote-workers.ts';
import { WorkerPool } from './pool/worker-pool.ts';
import type { PullWorkload, Workload } from './workloads/workload.ts';

/** What an endpoint's own workers run; undefined where all its workers are elsewhere. */
export type RunnableWorkload = Workload | PullWorkload | undefined;

export interface EndpointParts {
  book: JobStore;
  results: JobResults;
  settings: EndpointSettings;
  workload: RunnableWorkload;
  /** How long a worker elsewhere may be silent. */
  silenceMs: number | undefined;
  onTrouble: (text: string) => void;
}

export class Endpoint {
  readonly settings: EndpointSettings;
  readonly remote: RemoteWorkers;
  readonly #pool: WorkerPool | PullerPool | undefined;

  constructor(parts: EndpointParts) {
    const { book, settings, workload, silenceMs, onTrouble } = parts;
    this.settings = settings;
    const elsewhere = { book, endpointId: settings.id, onTrouble };
    this.remote = new RemoteWorkers(silenceMs === undefined ? elsewhere : { ...elsewhere, silenceMs });
    this.#pool = this.#openPool(parts, workload);
  }

  /** Set once nobody is to submit to it any more, though he may have begun to. */
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

  /** Why its own workers cannot be started; null where all is well. */
  get trouble(): string | null {
    return this.#pool?.trouble ?? null;
  }

  /** What one of its own workers has written of the job it is at. */
  logOf(jobId: string): readonly string[] {
    return this.#pool?.logOf(jobId) ?? [];
  }

  /** Notes what a worker that pulls was given. */
  hold(workerId: string, jobIds: readonly string[]): void {
    this.remote.hold(workerId, jobIds);
    if (this.#pool instanceof PullerPool) this.#pool.begin(workerId);
  }

  /** Ends a worker of its own that wants to be replaced. */
  restart(workerId: string): void {
    if (this.#pool instanceof PullerPool) this.#pool.restart(workerId);
  }

  async stop(): Promise<void> {
    await this.stopOwn();
    this.letGo();
  }

  /** What its own workers still answer is not heard. */
  async stopOwn(): Promise<void> {
    await this.#pool?.stop();
  }

  /** Workers elsewhere that wait here are answered; what they are at stays theirs. */
  letGo(): void {
    this.remote.stop();
  }

  #openPool(
    { book, results, settings, onTrouble }: EndpointParts,
    workload: RunnableWorkload,
  ): WorkerPool | PullerPool | undefined {
    if (workload === undefined) return undefined;
    const common = { book, endpoint: settings, onTrouble };
    if ('startPuller' in workload) return new PullerPool({ ...common, workload, remote: this.remote });
    return new WorkerPool({ ...common, workload, results });
  }
}
