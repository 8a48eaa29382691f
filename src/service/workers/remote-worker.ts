/** State that an endpoint keeps about one worker that takes jobs: its report, its log, and what follows from them. */
import { z } from 'zod';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import type { MachineView, WorkerView } from '../../protocol/console-data.ts';
import { shownWorker } from '../model/job.ts';

/** Time without a request after which a worker is forgotten. */
export const forgetAfterMs = 180_000;

/** A worker that takes jobs of an endpoint. It begins without jobs. */
export class RemoteWorker {
  /** Worker id. For workers that ask over the network, `pullingWorker` makes it. */
  readonly id: string;
  /** True if the worker belongs to this process, which knows when it ends. Such a worker cannot be silent. */
  readonly isLocal: boolean;
  gpu: string | null = null;
  since: number;
  lastSeenAt: number;
  /** Jobs that the worker was given, by job id. */
  readonly jobs = new Map<string, AssignedJob>();
  /** Ids of jobs that the worker should stop, because they were cancelled, timed out or given to another worker. */
  readonly unwanted = new Set<string>();
  held = 0;
  /** True if one of the open requests waits for jobs. */
  isTaking = false;
  /** Monotonic ms at which the worker closed its last request. Not reset by pings, which may outlive the worker. */
  leftAt: number | undefined;
  /** True if a job was taken from the worker because it was silent, and it has stayed silent since. */
  isSilent = false;
  hasAsked = false;
  /** Time since which the worker could ask for a job: its first contact, last answer or last job's end (monotonic ms). */
  freeAt = performance.now();
  /** Latest report; undefined for workers that send none. */
  report: Omit<WorkerReport, 'log' | 'died'> | undefined;
  readonly log = new KeptLog();
  /** True if the worker was told to take no more jobs. */
  isToDrain = false;
  jobsDone = 0;
  busyMs = 0;

  /** `now`: epoch ms. */
  constructor(id: string, isLocal: boolean, now: number) {
    this.id = id;
    this.isLocal = isLocal;
    this.since = now;
    this.lastSeenAt = now;
  }

  get isDraining(): boolean {
    return this.isToDrain || (this.report !== undefined && this.report.state !== 'working');
  }

  /** Returns the reason to take a job away from the worker; undefined if the worker keeps it. */
  whyLost(
    { heardAt, signAt }: AssignedJob,
    { silenceMs, stallMs }: { silenceMs: number; stallMs: number },
  ): { why: string; isStalled: boolean } | undefined {
    const now = performance.now();
    const called = `worker ${shownWorker(this.id)}`;
    const seconds = Math.round(silenceMs / 1_000);
    if (this.#hasLeft(silenceMs))
      return { why: `${called} closed its connection and opened none for ${seconds} s`, isStalled: false };
    if (!this.isLocal && now - heardAt > silenceMs)
      return { why: `${called} was silent for ${seconds} s`, isStalled: false };
    if (now - signAt <= stallMs) return undefined;
    const why = this.isLocal
      ? `its worker wrote nothing about the job for ${durationText(stallMs)}, and was ended`
      : `${called} showed nothing of the job for ${durationText(stallMs)}`;
    return { why, isStalled: true };
  }

  /** True if the worker closed its open requests more than `silenceMs` ago and did not come back. */
  #hasLeft(silenceMs: number): boolean {
    return this.leftAt !== undefined && performance.now() - this.leftAt > silenceMs;
  }

  /** Returns the worker as the console shows it. `now`: epoch ms. */
  view(silenceMs: number, now: number): WorkerView {
    const { id, isLocal, gpu, since, lastSeenAt, jobs, log, report, isDraining, jobsDone, busyMs } = this;
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
      isDraining,
      jobsDone,
      busyMs,
      state: this.#stateAt(silenceMs, now),
    };
  }

  /** Returns the state of the worker. Pings alone do not make it idle, because an idle worker keeps asking for jobs. */
  #stateAt(silenceMs: number, now: number): WorkerView['state'] {
    if (this.jobs.size > 0) return 'running';
    if (this.isLocal) return 'idle';
    if (this.isSilent || this.#hasLeft(silenceMs) || now - this.lastSeenAt > forgetAfterMs / 2)
      return 'unhealthy';
    const isInTime = performance.now() - this.freeAt <= silenceMs;
    if (this.isTaking || (this.hasAsked && isInTime)) return 'idle';
    // A worker that sends reports asks for jobs only after its program is ready.
    return isInTime || this.report !== undefined ? 'initializing' : 'unhealthy';
  }
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
