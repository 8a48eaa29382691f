/** State that an endpoint keeps about one worker that takes jobs: its report, its log, and what follows from them. */
import { z } from 'zod';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import type { MachineView, WorkerView } from '../../protocol/console-data.ts';
import { shownWorker } from '../model/worker-view.ts';

/** Time without a request after which a worker is forgotten. */
export const forgetAfterMs = 180_000;

export interface RemoteWorker {
  /** Worker id. For workers that ask over the network, `pullingWorker` makes it. */
  id: string;
  /** True if the worker belongs to this process, which knows when it ends. Such a worker cannot be silent. */
  isLocal: boolean;
  gpu: string | null;
  since: number;
  lastSeenAt: number;
  /** Jobs that the worker was given, by job id. */
  jobs: Map<string, AssignedJob>;
  /** Ids of jobs that the worker should stop, because they were cancelled, timed out or given to another worker. */
  unwanted: Set<string>;
  held: number;
  /** True if one of the open requests waits for jobs. */
  isTaking: boolean;
  /** Monotonic ms at which the worker closed its last request. Not reset by pings, which may outlive the worker. */
  leftAt: number | undefined;
  /** True if a job was taken from the worker because it was silent, and it has stayed silent since. */
  isSilent: boolean;
  hasAsked: boolean;
  /** Time since which the worker could ask for a job: its first contact, last answer or last job's end (monotonic ms). */
  freeAt: number;
  /** Latest report; undefined for workers that send none. */
  report: Omit<WorkerReport, 'log' | 'died'> | undefined;
  log: KeptLog;
  /** True if the worker was told to take no more jobs. */
  isToDrain: boolean;
  jobsDone: number;
  busyMs: number;
}

interface AssignedJob {
  /** Time at which the worker was given the job (monotonic ms). */
  givenAt: number;
  /** Time at which the worker last named the job (monotonic ms). */
  heardAt: number;
  /** Time of the last progress, part of the output, or log line (monotonic ms). */
  signAt: number;
  /** Number of request bodies about this job that are still arriving. */
  arriving: number;
  unsubscribe: () => void;
}

/** Returns a new worker without jobs. `now`: epoch ms. */
export function newRemoteWorker(id: string, isLocal: boolean, now: number): RemoteWorker {
  return {
    id,
    isLocal,
    gpu: null,
    since: now,
    lastSeenAt: now,
    jobs: new Map(),
    unwanted: new Set(),
    held: 0,
    isTaking: false,
    leftAt: undefined,
    isSilent: false,
    hasAsked: false,
    freeAt: performance.now(),
    report: undefined,
    log: new KeptLog(),
    isToDrain: false,
    jobsDone: 0,
    busyMs: 0,
  };
}

export function isDraining({ isToDrain, report }: RemoteWorker): boolean {
  return isToDrain || (report !== undefined && report.state !== 'working');
}

/** True if the worker closed its open requests more than `silenceMs` ago and did not come back. */
function hasLeft({ leftAt }: RemoteWorker, silenceMs: number): boolean {
  return leftAt !== undefined && performance.now() - leftAt > silenceMs;
}

/** Returns the reason to take a job away from its worker; undefined if the worker keeps it. */
export function whyLost(
  worker: RemoteWorker,
  { heardAt, signAt }: AssignedJob,
  { silenceMs, stallMs }: { silenceMs: number; stallMs: number },
): { why: string; isStalled: boolean } | undefined {
  const now = performance.now();
  const called = `worker ${shownWorker(worker.id)}`;
  const seconds = Math.round(silenceMs / 1_000);
  if (hasLeft(worker, silenceMs))
    return { why: `${called} closed its connection and opened none for ${seconds} s`, isStalled: false };
  if (!worker.isLocal && now - heardAt > silenceMs)
    return { why: `${called} was silent for ${seconds} s`, isStalled: false };
  if (now - signAt <= stallMs) return undefined;
  const why = worker.isLocal
    ? `its worker wrote nothing about the job for ${durationText(stallMs)}, and was ended`
    : `${called} showed nothing of the job for ${durationText(stallMs)}`;
  return { why, isStalled: true };
}

/** Returns the worker as the console shows it. `now`: epoch ms. */
export function viewOf(worker: RemoteWorker, silenceMs: number, now: number): WorkerView {
  const { id, isLocal, gpu, since, lastSeenAt, jobs, log, report, jobsDone, busyMs } = worker;
  return {
    id,
    gpu,
    since,
    lastSeenAt: isLocal ? since : lastSeenAt,
    kind: 'remote',
    jobIds: [...jobs.keys()],
    lastDeath: null,
    startsAt: null,
    log: log.latest,
    machine: report?.machine ?? null,
    workload: report?.workload ?? null,
    isDraining: isDraining(worker),
    jobsDone,
    busyMs,
    state: stateOf(worker, silenceMs, now),
  };
}

/** Returns the state of a worker. Pings alone do not make it idle, because an idle worker keeps asking for jobs. */
function stateOf(worker: RemoteWorker, silenceMs: number, now: number): WorkerView['state'] {
  const { jobs, isLocal, lastSeenAt, isTaking, hasAsked, freeAt, report, isSilent } = worker;
  if (jobs.size > 0) return 'running';
  if (isLocal) return 'idle';
  if (isSilent || hasLeft(worker, silenceMs) || now - lastSeenAt > forgetAfterMs / 2) return 'unhealthy';
  const isInTime = performance.now() - freeAt <= silenceMs;
  if (isTaking || (hasAsked && isInTime)) return 'idle';
  // A worker that sends reports asks for jobs only after its program is ready.
  return isInTime || report !== undefined ? 'initializing' : 'unhealthy';
}

const maxLatestLines = 200;
const maxLineLength = 2_000;
const maxJobLogLength = 64 * 1024;

/** Log lines of a worker: the latest ones, and those of its current job. */
export class KeptLog {
  readonly latest: string[] = [];
  #ofJob: string[] | undefined;
  #length = 0;

  /** Number of lines ever written. */
  count = 0;

  add(line: string): void {
    this.count += 1;
    const kept = line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength)}…`;
    this.latest.push(kept);
    if (this.latest.length > maxLatestLines) this.latest.shift();
    if (this.#ofJob === undefined) return;
    this.#ofJob.push(kept);
    this.#length += kept.length + 1;
    // The end of a log says more than its beginning.
    while (this.#length > maxJobLogLength) this.#length -= (this.#ofJob.shift()?.length ?? 0) + 1;
  }

  /** Starts the log of a new job. */
  begin(): void {
    this.#ofJob = [];
    this.#length = 0;
  }

  /** Lines since the latest call of `begin`. */
  get ofJob(): readonly string[] {
    return this.#ofJob ?? [];
  }
}

/** Report that `nightrender work` sends about its worker: machine, workload, state and log. */
export interface WorkerReport {
  machine: MachineView | null;
  /** Human-readable text that says what the worker runs. */
  workload: string | null;
  /** `draining`: takes no more jobs. `leaving`: ends now and gives its jobs back. */
  state: 'working' | 'draining' | 'leaving';
  /** Log lines since the previous report. */
  log: string[];
  /** Reason why the worker's program ended in the middle of its jobs; null if it did not. */
  died: string | null;
}

const text = z.string().max(200);
const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

const schema = z.object({
  machine: z
    .object({
      host: text,
      cores: amount,
      memoryBytes: amount,
      gpus: z
        .array(
          z.object({
            index: amount,
            name: text,
            memoryBytes: amount,
            usedMemoryBytes: amount,
            driver: text,
            celsius: z.number().min(-300).max(1_000),
          }),
        )
        .max(64),
    })
    .nullable()
    .default(null),
  workload: text.nullable().default(null),
  state: z.enum(['working', 'draining', 'leaving']),
  log: z.array(z.string()).max(10_000).default([]),
  died: z.string().max(10_000).nullable().default(null),
});

/** Checks and returns a report. `problem`: human-readable text that says why it is invalid. */
export function readWorkerReport(body: unknown): WorkerReport | { problem: string } {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  return { problem: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'not a report'}` };
}
