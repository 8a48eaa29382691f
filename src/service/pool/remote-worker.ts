/** A worker that pulls over the network, as its endpoint knows it. */
import { KeptLog } from './kept-log.ts';
import type { WorkerReport } from './worker-report.ts';
import type { WorkerView } from './worker-view.ts';

/** A worker without requests is forgotten after this long. */
export const forgetAfterMs = 180_000;

export interface RemoteWorker {
  /** As `pullingWorker` makes it; every `workerId` here is one. */
  id: string;
  gpu: string | null;
  since: number;
  lastSeenAt: number;
  /** What it was given, and when it last said so (monotonic ms). */
  jobs: Map<string, AssignedJob>;
  /** What it is at and nobody wants any more. */
  unwanted: Set<string>;
  /** How many requests of it are held open, and whether one of them waits for jobs. */
  held: number;
  isTaking: boolean;
  /** When it closed the last of these itself (monotonic ms), with none since: its pings may come from what outlived it. */
  leftAt: number | undefined;
  /** Of workers that report. */
  report: Omit<WorkerReport, 'log' | 'died'> | undefined;
  log: KeptLog;
  /** Whether a person wants it to end. */
  isToDrain: boolean;
  jobsDone: number;
  busyMs: number;
}

interface AssignedJob {
  /** Monotonic ms, as is the next. */
  givenAt: number;
  heardAt: number;
  unsubscribe: () => void;
}

export function newRemoteWorker(id: string): RemoteWorker {
  const now = Date.now();
  return {
    id,
    gpu: null,
    since: now,
    lastSeenAt: now,
    jobs: new Map(),
    unwanted: new Set(),
    held: 0,
    isTaking: false,
    leftAt: undefined,
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

/** `hasLeft`: it closed its connection and did not come back. */
export function viewOf(worker: RemoteWorker, hasLeft: boolean): WorkerView {
  const { id, gpu, since, lastSeenAt, jobs, log, report, jobsDone, busyMs } = worker;
  const isSilent = hasLeft || Date.now() - lastSeenAt > forgetAfterMs / 2;
  return {
    id,
    gpu,
    since,
    lastSeenAt,
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
    state: jobs.size > 0 ? 'running' : isSilent ? 'unhealthy' : 'idle',
  };
}
