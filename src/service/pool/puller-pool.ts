/** The workers of an endpoint that the service starts and that then ask for jobs over the network: containers. */
import type { EndpointSettings } from '../endpoint-settings.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { OwnWorkerKeys } from '../keys/key.ts';
import type { Puller, PullWorkload } from '../workloads/workload.ts';
import { pullingWorker, type WorkerView } from './worker-view.ts';
import type { RemoteWorkers } from './remote-workers.ts';
import { idleMs, startWanted, withoutRepeats } from './own-workers.ts';
import { Supervised } from './supervised.ts';

export interface PullerPoolParts {
  book: JobStore;
  workload: PullWorkload;
  remote: RemoteWorkers;
  endpoint: Pick<EndpointSettings, 'id' | 'workers' | 'quickStart'>;
  onTrouble: (text: string) => void;
}

export class PullerPool {
  readonly #parts: PullerPoolParts;
  readonly #pullers: Supervised<Puller>[];
  readonly #leave: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #say: (text: string) => void;
  /** The latest reason for which one could not be started or ended. */
  #trouble: string | null = null;

  constructor(parts: PullerPoolParts) {
    this.#parts = parts;
    this.#say = withoutRepeats(parts.onTrouble);
    const { book, workload, endpoint } = parts;
    this.#pullers = Array.from({ length: endpoint.workers }, () => this.#supervise(workload));
    this.#leave = book.signals.on(`queued ${endpoint.id}`, () => this.#startMore());
    this.#timer = setInterval(() => this.#look(), idleMs / 12).unref();
    this.#startMore();
  }

  /** `pulling` is what is known of those that have asked for jobs; ids are as `pullingWorker` makes them. */
  views(pulling: readonly WorkerView[]): WorkerView[] {
    return this.#pullers.flatMap<WorkerView>((puller) => {
      const { state, since, log, lastDeath, startsAt } = puller;
      if (state === 'stopped') return [];
      const workerId = idOf(puller);
      const seen = pulling.find(({ id }) => id === workerId);
      const told = { kind: 'own' as const, lastDeath, startsAt, log: log.latest };
      if (state === 'up' && seen !== undefined) return [{ ...seen, ...told }];
      const shown = state === 'unhealthy' ? state : 'initializing';
      return [{ id: workerId, state: shown, jobIds: [], gpu: null, since, lastSeenAt: since, ...told }];
    });
  }

  /** Why there is one that cannot be relied on; null where all can be. */
  get trouble(): string | null {
    return this.#pullers.some(({ isUnstable }) => isUnstable) ? this.#trouble : null;
  }

  /** Notes that a worker, where it is one of these, was given jobs: what it writes from now on is of them. */
  begin(workerId: string): void {
    this.#pullers.find((one) => idOf(one) === workerId)?.log.begin();
  }

  /** What the one that is at a job has written since it was given jobs last. */
  logOf(jobId: string): readonly string[] {
    const at = this.#parts.remote.views.find(({ jobIds }) => jobIds.includes(jobId));
    return this.#pullers.find((one) => idOf(one) === at?.id)?.log.ofJob ?? [];
  }

  /** Has another take the place of one. */
  restart(workerId: string): void {
    const puller = this.#pullers.find((one) => idOf(one) === workerId);
    if (puller !== undefined) void this.#retire(puller);
  }

  async stop(): Promise<void> {
    this.#leave();
    clearInterval(this.#timer);
    await Promise.all(
      this.#pullers.map((puller) => this.#end(idOf(puller), 'the service stopped it', puller.stop())),
    );
  }

  async #retire(puller: Supervised<Puller>): Promise<void> {
    await this.#end(idOf(puller), 'the service replaced it', puller.retire());
    this.#startMore();
  }

  /** What it still was given is somebody else's when it has ended, and that is not the job's fault. */
  async #end(workerId: string, why: string, ended: Promise<void>): Promise<void> {
    await ended;
    await this.#parts.remote.remove(workerId, why, { isCounted: false });
  }

  #supervise(workload: PullWorkload): Supervised<Puller> {
    const { remote, endpoint } = this.#parts;
    const puller = new Supervised<Puller>({
      start: (context) => workload.startPuller(context),
      onChange: () => setImmediate(() => this.#startMore()),
      onEnded: (workerId, why) =>
        void remote.remove(idOf({ workerId }), why, { isCounted: true, log: puller.log.ofJob.join('\n') }),
      onTrouble: (text) => {
        if (text !== this.#trouble) this.#say(`endpoint ${endpoint.id}: ${text}`);
        this.#trouble = text;
      },
    });
    return puller;
  }

  #startMore(): void {
    const { book, endpoint } = this.#parts;
    startWanted(this.#pullers, endpoint, () => book.reads.queueLength(endpoint.id));
  }

  #look(): void {
    const { book, endpoint, remote } = this.#parts;
    const seen = new Map(remote.views.map((view) => [view.id, view]));
    for (const puller of this.#pullers) {
      const view = seen.get(idOf(puller));
      if (view === undefined) continue;
      puller.markHealthy();
      this.#trouble = null;
      const isIdle = view.jobIds.length === 0 && Date.now() - Math.max(view.since, puller.since) > idleMs;
      if (isIdle && !endpoint.quickStart && book.reads.queueLength(endpoint.id) === 0)
        void this.#retire(puller);
    }
    this.#startMore();
  }
}

/** Who it is when it asks for jobs. */
function idOf({ workerId }: Pick<Supervised<Puller>, 'workerId'>): string {
  return pullingWorker(workerId, OwnWorkerKeys.holderName);
}
