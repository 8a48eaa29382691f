/** All endpoints of the service: from service.yaml, and those created in the console, which are kept in the store. */
import {
  defaultIdleMs,
  type EndpointSettings,
  endpointSettings,
  type FieldProblem,
} from '../model/endpoint-settings.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobResults } from '../jobs/job-work.ts';
import type { Workload, PullWorkload } from '../workloads/workload-definition.ts';
import type { ClusterWorkload } from '../workloads/workload-of.ts';
import { RemoteWorkers } from './remote-workers.ts';
import { WorkerPool } from './worker-pool.ts';
import { ClusterPool } from './cluster-pool.ts';
import type { JobOfWorker } from '../jobs/job-transitions.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { shownWorker } from '../model/job.ts';

/** Thrown if an endpoint is defined in service.yaml and can be changed only there. */
export class EndpointOfFile extends Error {}

export class Endpoints {
  readonly #parts;
  readonly #open = new Map<string, Endpoint>();
  readonly #givenIds: ReadonlySet<string>;
  readonly #sql: ReturnType<typeof prepareStatements>;
  /** Changes run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  /** Starts all endpoints. If an id is in both, service.yaml takes precedence over the console. */
  constructor(parts: {
    store: JobStore;
    results: JobResults;
    /** Endpoints of service.yaml, which cannot be changed while the service runs. */
    given: readonly EndpointSettings[];
    workloadOf: (settings: EndpointSettings) => RunnableWorkload;
    silenceMs: number | undefined;
    onProblem: (text: string) => void;
  }) {
    this.#parts = parts;
    this.#sql = prepareStatements(parts.store);
    this.#givenIds = new Set(parts.given.map(({ id }) => id));
    for (const settings of parts.given) this.#start(settings);
    for (const { settings } of this.#sql.all.all()) {
      const made = settingsIn(settings);
      if (!this.#open.has(made.id)) this.#start(made);
    }
  }

  get all(): Endpoint[] {
    return [...this.#open.values()];
  }

  find(id: string): Endpoint | undefined {
    return this.#open.get(id);
  }

  originOf(id: string): 'file' | 'console' {
    return this.#givenIds.has(id) ? 'file' : 'console';
  }

  /** Creates an endpoint. Returns problems if its id or name is taken. */
  add(settings: EndpointSettings): Promise<Endpoint | FieldProblem[]> {
    return this.#inTurn(async () => {
      const problems = this.#clashes(settings, undefined);
      if (problems.length > 0) return problems;
      await this.#keep(settings);
      return this.#start(settings);
    });
  }

  /** Changes an endpoint and requeues the jobs of its own workers. Undefined if there is none. Throws `EndpointOfFile`. */
  change(id: string, settings: EndpointSettings): Promise<Endpoint | FieldProblem[] | undefined> {
    return this.#inTurn(async () => {
      const endpoint = this.changeable(id);
      if (endpoint === undefined) return undefined;
      const problems = this.#clashes(settings, id);
      if (settings.id !== id) problems.push({ field: 'id', text: 'the id of an endpoint cannot be changed' });
      if (problems.length > 0) return problems;
      await this.#keep(settings);
      await endpoint.stopOwn();
      await this.#parts.store.bulk.requeueOwn(id);
      const changed = this.#start(settings);
      // The new endpoint must be open first, because waiting workers ask again immediately.
      endpoint.releaseWaiting();
      return changed;
    });
  }

  /** Removes an endpoint, cancels its jobs and forgets its counts. False if there is none. Throws `EndpointOfFile`. */
  remove(id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const endpoint = this.changeable(id);
      if (endpoint === undefined) return false;
      this.#open.delete(id);
      endpoint.isRemoved = true;
      await endpoint.stop();
      const { store } = this.#parts;
      await this.#write(() => this.#sql.remove.run(id));
      await store.bulk.cancelAll(id);
      await this.#write(() => this.#sql.forgetTally.run(id));
      await store.pause(id, false);
      return true;
    });
  }

  /** Returns an endpoint of the console; undefined if there is none. Throws `EndpointOfFile`. */
  changeable(id: string): Endpoint | undefined {
    if (this.#givenIds.has(id))
      throw new EndpointOfFile(
        `endpoint ${id} is defined in the service's file: change it there and restart the service`,
      );
    return this.#open.get(id);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#turn;
    await Promise.all(this.all.map((endpoint) => endpoint.stop()));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(() => {
      if (this.#isStopped) throw new Error('the service is shutting down');
      return work();
    });
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #start(settings: EndpointSettings): Endpoint {
    const { store, results, workloadOf, silenceMs, onProblem } = this.#parts;
    const workload = settings.workers.max === 0 ? undefined : workloadOf(settings);
    const endpoint = new Endpoint({ store, results, settings, workload, silenceMs, onProblem });
    this.#open.set(settings.id, endpoint);
    return endpoint;
  }

  #clashes({ id, name }: EndpointSettings, except: string | undefined): FieldProblem[] {
    const others = this.all.filter((endpoint) => endpoint.id !== except).map(({ settings }) => settings);
    const problems: FieldProblem[] = [];
    if (others.some((other) => other.id === id))
      problems.push({ field: 'id', text: `there is an endpoint with the id ${id} already` });
    if (others.some((other) => other.name.toLowerCase() === name.toLowerCase()))
      problems.push({ field: 'name', text: `there is an endpoint named ${name} already` });
    return problems;
  }

  async #keep(settings: EndpointSettings): Promise<void> {
    const row = { id: settings.id, settings: JSON.stringify(settings), now: Date.now() };
    await this.#write(() => this.#sql.put.run(row));
  }

  /** Writes even if the disk is full, because changing an endpoint can stop costs. */
  async #write(work: () => unknown): Promise<void> {
    const { file, reserve } = this.#parts.store;
    await reserve.spend(() => file.commit.write(work));
  }
}

function prepareStatements({ file: { db } }: JobStore) {
  return {
    all: db.prepare<[], { settings: string }>('SELECT settings FROM endpoint ORDER BY madeAt, id'),
    put: db.prepare<[{ id: string; settings: string; now: number }]>(
      `INSERT INTO endpoint (id, settings, madeAt) VALUES (@id, @settings, @now)
       ON CONFLICT DO UPDATE SET settings = @settings`,
    ),
    remove: db.prepare<[string]>('DELETE FROM endpoint WHERE id = ?'),
    forgetTally: db.prepare<[string]>('DELETE FROM tally WHERE endpointId = ?'),
  };
}

/** Reads an endpoint from the store. Settings that did not exist when it was stored get their defaults. */
function settingsIn(text: string): EndpointSettings {
  const stored = JSON.parse(text) as EndpointSettings | EarlierEndpoint;
  return isEarlier(stored) ? upgraded(stored) : endpointSettings(stored, {});
}

/** Endpoint as stored by version 0.2.0 and its development versions. Keys that are not listed have not changed. */
interface EarlierEndpoint {
  id: string;
  workload: { kind: string } & Record<string, unknown>;
  on?: { slurm: string[] } | null;
  workers: number;
  minWorkers?: number;
  idleMs?: number;
  recycle?: { jobs: number | null; memoryBytes: number | null; ms: number | null };
  stallMs?: number | null;
  gpu?: { label: string } | { devices: string[] } | null;
  memoryBytes?: number | null;
  cpus?: number | null;
  executionTimeoutMs: number;
  ttlMs: number;
}

function isEarlier(stored: EndpointSettings | EarlierEndpoint): stored is EarlierEndpoint {
  return typeof stored.workers === 'number';
}

function upgraded(stored: EarlierEndpoint): EndpointSettings {
  const { workload, on, workers: max, minWorkers: min = 0, idleMs: idle = defaultIdleMs, ...rest } = stored;
  const { recycle, stallMs, gpu, memoryBytes, cpus, executionTimeoutMs, ttlMs, ...same } = rest;
  return endpointSettings(
    {
      ...same,
      on: on ? { slurm: on.slurm } : undefined,
      workers: { min, max, idle },
      recycle: {
        jobs: recycle?.jobs ?? undefined,
        memory: recycle?.memoryBytes ?? undefined,
        time: recycle?.ms ?? undefined,
      },
      stall: stallMs ?? undefined,
      gpu: gpu && 'label' in gpu ? gpu.label : (gpu ?? undefined),
      memory: memoryBytes ?? undefined,
      cpus: cpus ?? undefined,
      executionTimeout: executionTimeoutMs,
      ttl: ttlMs,
    },
    upgradedWorkload(workload),
  );
}

function upgradedWorkload({ kind, ...own }: EarlierEndpoint['workload']): Record<string, unknown> {
  switch (kind) {
    case 'prebuilt':
      return { quickDeploy: own['name'] };
    case 'blender':
      return { quickDeploy: kind, blender: { image: null, ...own } };
    case 'command':
      // In earlier versions, a command without a folder ran in the service's working folder.
      return { ...own, cwd: own['cwd'] ?? process.cwd() };
    case 'module':
      return { module: own['path'] };
    case 'comfyui': {
      const { urls: url, workflow, set } = own;
      return { comfyui: { url, workflow, set } };
    }
    case 'remote':
      return { remote: true };
    default:
      return own;
  }
}

/** Workload of an endpoint's own workers; undefined if all its workers are elsewhere. */
export type RunnableWorkload = Workload | PullWorkload | ClusterWorkload | undefined;

/** A running endpoint: its settings, its own workers, and the workers elsewhere that pull its jobs. */
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
