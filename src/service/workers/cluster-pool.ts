/** Starts and cancels an endpoint's workers on a cluster to match its queue, and never starts workers twice. */
import { randomBytes } from 'node:crypto';
import type { JobStore } from '../jobs/job-store.ts';
import { taskOfWorker, type ClusterTask, type ClusterWorkload } from '../workloads/workload-of.ts';
import { thrownText } from '../workloads/workload-definition.ts';
import { forgetAfterMs } from './remote-worker.ts';
import type { PooledEndpoint } from './remote-workers.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { ownView, shownWorker } from '../model/job.ts';

/** Minimum time between two checks of the cluster. Without news, checks are `lookMs` apart. */
const minLookMs = 1_000;
const lookMs = 10_000;
/** First pause after a refused or useless start of workers. It doubles up to `maxPauseMs`. */
const firstPauseMs = 60_000;
const maxPauseMs = 900_000;
/** Time after which an unconfirmed submission counts as lost. sbatch itself tries for two minutes. */
const lostAfterMs = 180_000;
const slowly = 'It is tried again in a minute, then less and less often, at last every 15 minutes';

type Problems = Record<'silence' | 'refusal' | 'waste', string | null>;

export class ClusterPool {
  readonly #pooled: PooledEndpoint;
  readonly #cluster: ClusterWorkload;
  readonly #sql: ReturnType<typeof prepareStatements>;
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isLooking = false;
  #hasNews = false;
  /** Tasks found by the latest check; undefined before the first. */
  #tasks: ClusterTask[] | undefined;
  /** By task id: first seen (epoch ms), its worker's `lastSeenAt` (epoch ms), and when that changed (monotonic ms). */
  readonly #known = new Map<string, { since: number; seenAt: number; heardAt: number }>();
  readonly #cancelled = new Set<string>();
  /** Ids of tasks that are about to end by themselves and were useful. */
  readonly #useful = new Set<string>();
  /** Submission that the cluster has not confirmed; `since` in monotonic ms. */
  #intent: { mark: string; since: number } | undefined;
  #pauseMs = 0;
  /** Time at which a task last ended without being useful (epoch ms). */
  #wasteAt = 0;
  /** Time from which workers may be started again (monotonic ms). */
  #againAt = 0;
  /** Current problems: the cluster does not answer, it refuses workers, or workers end without being useful. */
  readonly #problems: Problems = { silence: null, refusal: null, waste: null };

  constructor(pooled: PooledEndpoint, cluster: ClusterWorkload) {
    this.#pooled = pooled;
    this.#cluster = cluster;
    const { store, endpoint } = pooled;
    this.#sql = prepareStatements(store);
    const mark = this.#sql.read.get(endpoint.id)?.mark;
    if (mark !== undefined) this.#intent = { mark, since: performance.now() };
    this.#unsubscribe = store.signals.on(`queued ${endpoint.id}`, () => this.#wake());
    void this.#look();
  }

  /** Returns the tasks that wait at the cluster, or whose worker has not contacted the service yet. */
  views(pulling: readonly WorkerView[]): WorkerView[] {
    const here = new Set(pulling.map(taskOfView));
    return (this.#tasks ?? []).flatMap<WorkerView>(({ id, state }) => {
      const { since = this.#pooled.store.clock.now(), seenAt = 0 } = this.#known.get(id) ?? {};
      if (state === 'ending' || here.has(id) || seenAt > 0) return [];
      const unseen = { lastDeath: null, startsAt: null, log: [] };
      const told = { id: `slurm${id}`, since, lastSeenAt: since };
      return [{ ...ownView, ...unseen, ...told, state: 'initializing' }];
    });
  }

  get problem(): string | null {
    const { silence, refusal, waste } = this.#problems;
    return silence ?? refusal ?? waste;
  }

  /** Always empty: workers of a cluster send their logs in reports. */
  logOf(): readonly string[] {
    return [];
  }

  /** Records if a worker that is about to end was useful, before it is forgotten. */
  noteLeaving(workerId: string): void {
    const task = taskOfWorker(shownWorker(workerId));
    const view = this.#pooled.remote.views.find(({ id }) => id === workerId);
    if (task !== undefined && this.#wasUseful(view)) this.#useful.add(task);
  }

  /** Stops checking the cluster. Its workers keep running, and the next start of the service finds them. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #wake(): void {
    if (this.#hasNews) return;
    this.#hasNews = true;
    if (!this.#isLooking) this.#lookIn(minLookMs);
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    this.#hasNews = false;
    await this.#check().catch((error: unknown) => {
      const what = 'does not answer, and starts no workers until it does';
      this.#tell('silence', `${this.#cluster.name} ${what}: ${thrownText(error)}`);
    });
    this.#isLooking = false;
    if (!this.#isStopped) this.#lookIn(this.#hasNews ? minLookMs : lookMs);
  }

  async #check(): Promise<void> {
    const { store, endpoint, remote } = this.#pooled;
    const cluster = this.#cluster;
    const isQuiet = endpoint.workers.min === 0 && store.reads.takeable(endpoint.id) === 0;
    if (isQuiet && this.#tasks?.length === 0 && this.#intent === undefined) return;
    const before = this.#tasks ?? [];
    const tasks = await cluster.tasks();
    if (this.#isStopped) return;
    this.#tasks = tasks;
    this.#problems.silence = null;
    const views = new Map(remote.views.map((view) => [taskOfView(view), view]));
    this.#noteEnded(before, views);
    const useless = this.#useless(tasks, views);
    this.#settleIntent(tasks);
    const working = tasks.filter(({ id }) => !useless.has(id));
    const running = working.flatMap(({ id }) => views.get(id)?.jobIds ?? []).length;
    const queued = store.reads.takeable(endpoint.id);
    const { min, max } = endpoint.workers;
    const { start, cancel } = clusterChange({ queued, running, min, max, tasks, useless });
    for (const { id } of cancel) this.#cancelled.add(id);
    if (cancel.length > 0) await cluster.cancelWaiting(cancel.map(({ id }) => id));
    if (start.length > 0 && this.#intent === undefined && performance.now() >= this.#againAt)
      await this.#start(start);
  }

  /** Pauses new starts if tasks have ended without being useful. Otherwise broken workers would be restarted forever. */
  #noteEnded(before: readonly ClusterTask[], views: ReadonlyMap<string | undefined, WorkerView>): void {
    const live = new Set(this.#tasks?.map(({ id }) => id));
    const cluster = this.#cluster;
    const isNewer = (id = ''): boolean => (this.#known.get(id)?.since ?? 0) > this.#wasteAt;
    if ([...views].some(([id, { jobsDone }]) => jobsDone > 0 && isNewer(id))) {
      this.#problems.waste = null;
      this.#pauseMs = 0;
    }
    for (const { id } of before.filter((task) => !live.has(task.id))) {
      const view = views.get(id);
      const isUseful = this.#useful.delete(id) || this.#wasUseful(view);
      this.#known.delete(id);
      if (this.#cancelled.delete(id) || isUseful) continue;
      const what = view === undefined ? 'before its worker came' : 'before its worker did a job';
      this.#tell('waste', `a job of ${cluster.name} ended ${what}; its log says why. ${slowly}`);
      this.#wasteAt = this.#pooled.store.clock.now();
      this.#pause();
    }
  }

  /** True if a worker has done a job, or has waited for one long enough. */
  #wasUseful(view: WorkerView | undefined): boolean {
    if (view === undefined) return false;
    const longMs = Math.min(firstPauseMs, this.#pooled.endpoint.workers.idle) / 2;
    return view.jobsDone > 0 || this.#pooled.store.clock.now() - view.since > longMs;
  }

  /** Returns the ids of tasks that take no more jobs, or run but have been silent for too long. */
  #useless(tasks: readonly ClusterTask[], views: ReadonlyMap<string | undefined, WorkerView>): Set<string> {
    const now = performance.now();
    const useless = new Set<string>();
    for (const { id, state } of tasks) {
      const view = views.get(id);
      const seenAt = view?.lastSeenAt ?? 0;
      const known = this.#known.get(id) ?? { since: this.#pooled.store.clock.now(), seenAt, heardAt: now };
      if (state !== 'running' || seenAt > known.seenAt) known.heardAt = now;
      this.#known.set(id, { ...known, seenAt });
      if (view?.isDraining === true || now - known.heardAt > forgetAfterMs) useless.add(id);
    }
    return useless;
  }

  #settleIntent(tasks: readonly ClusterTask[]): void {
    if (this.#intent === undefined) return;
    const { mark, since } = this.#intent;
    const isTaken = tasks.some((task) => task.mark === mark);
    if (isTaken) this.#taken();
    if (isTaken || performance.now() - since > lostAfterMs) this.#forgetIntent();
  }

  async #start(places: readonly number[]): Promise<void> {
    const { store, endpoint } = this.#pooled;
    const cluster = this.#cluster;
    const mark = randomBytes(8).toString('hex');
    // The mark is stored before the submission: a restarted service must not submit the same workers again.
    this.#sql.keep.run(endpoint.id, mark);
    await store.settled();
    this.#intent = { mark, since: performance.now() };
    try {
      await cluster.startWorkers(places, mark);
      this.#taken();
      this.#forgetIntent();
      this.#wake();
    } catch (error) {
      const isUncertain = error instanceof Error && 'isUncertain' in error && error.isUncertain === true;
      if (!isUncertain) this.#forgetIntent();
      const what = isUncertain ? 'does not say if it accepts workers' : 'refuses workers';
      this.#tell('refusal', `${cluster.name} ${what}: ${thrownText(error)}. ${slowly}`);
      this.#pause();
    }
  }

  #taken(): void {
    this.#problems.refusal = null;
    this.#againAt = 0;
  }

  #forgetIntent(): void {
    this.#intent = undefined;
    this.#sql.forget.run(this.#pooled.endpoint.id);
  }

  #pause(): void {
    if (performance.now() < this.#againAt) return;
    this.#pauseMs = Math.min(maxPauseMs, Math.max(firstPauseMs, this.#pauseMs * 2));
    this.#againAt = performance.now() + this.#pauseMs;
  }

  #tell(kind: keyof Problems, text: string): void {
    const { endpoint, onProblem } = this.#pooled;
    if (this.#problems[kind] !== text && !this.#isStopped) onProblem(`endpoint ${endpoint.id}: ${text}`);
    this.#problems[kind] = text;
  }
}

function taskOfView({ id }: WorkerView): string | undefined {
  return taskOfWorker(shownWorker(id));
}

function prepareStatements({ file: { db } }: JobStore) {
  return {
    read: db.prepare<[string], { mark: string }>('SELECT mark FROM clusterIntent WHERE endpointId = ?'),
    keep: db.prepare<[string, string]>('INSERT OR REPLACE INTO clusterIntent VALUES (?, ?)'),
    forget: db.prepare<[string]>('DELETE FROM clusterIntent WHERE endpointId = ?'),
  };
}

export interface ClusterDemand {
  /** Number of queued jobs that workers may take. */
  queued: number;
  running: number;
  min: number;
  max: number;
  tasks: readonly ClusterTask[];
  /** Ids of tasks that take no more jobs, or run but are silent. */
  useless: ReadonlySet<string>;
}

/** Returns the places at which to start workers, and the waiting tasks to cancel. */
export function clusterChange({ queued, running, min, max, tasks, useless }: ClusterDemand): {
  start: number[];
  cancel: ClusterTask[];
} {
  const active = tasks.filter(({ id, state }) => state !== 'ending' && !useless.has(id));
  const wanted = Math.max(min, Math.min(max, queued + running));
  const missing = Math.max(0, Math.min(wanted - active.length, max - tasks.length));
  const taken = new Set(tasks.map(({ place }) => place));
  const free = Array.from({ length: max }, (_, place) => place).filter((place) => !taken.has(place));
  const waiting = active
    .filter(({ state }) => state === 'waiting')
    .toSorted((one, other) => other.place - one.place);
  return { start: free.slice(0, missing), cancel: waiting.slice(0, Math.max(0, active.length - wanted)) };
}
