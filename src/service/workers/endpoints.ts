/** All endpoints of the service: from service.yaml, and those created in the console, which are kept in the store. */
import {
  defaultIdleMs,
  type EndpointSettings,
  endpointSettings,
  type FieldProblem,
} from '../model/endpoint-settings.ts';
import { Endpoint, type RunnableWorkload } from './endpoint.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobResults } from '../jobs/job-results.ts';

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
