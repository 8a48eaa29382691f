/** A worker that takes jobs, as its endpoint knows it. */
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { KeptLog } from './kept-log.ts';
import type { WorkerReport } from './worker-report.ts';
import type { WorkerView } from '../../protocol/console-data.ts';
import { shownWorker } from '../model/worker-view.ts';

/** A worker without requests is forgotten after this long. */
export const forgetAfterMs = 180_000;

export interface RemoteWorker {
  /** As `pullingWorker` makes it where it asks over the network; every `workerId` here is one. */
  id: string;
  /** It runs in this process, which knows of its end: it cannot be silent. */
  isLocal: boolean;
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
  /** Whether a job was taken from it since it said nothing, and it has said nothing since. */
  isSilent: boolean;
  /** Whether it has ever asked for a job, and since when it could again: it came, was answered, or is rid of one (monotonic ms). */
  hasAsked: boolean;
  freeAt: number;
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
  /** When it last showed progress, a part of its output, or a line of its log. */
  signAt: number;
  /** How many bodies of it are on their way here. */
  arriving: number;
  unsubscribe: () => void;
}

/** `now`: epoch ms. */
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

/** Whether it closed its connections so long ago, and did not come back. */
function hasLeft({ leftAt }: RemoteWorker, silenceMs: number): boolean {
  return leftAt !== undefined && performance.now() - leftAt > silenceMs;
}

/** Why a job that it was given is to be somebody else's; undefined as long as it is not. */
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
    ? `its worker wrote nothing of it for ${durationText(stallMs)}, and was ended`
    : `${called} showed nothing of the job for ${durationText(stallMs)}`;
  return { why, isStalled: true };
}

/** `now`: epoch ms. */
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

/** Pings alone make no worker ready: what waits for jobs asks for one again at once. */
function stateOf(worker: RemoteWorker, silenceMs: number, now: number): WorkerView['state'] {
  const { jobs, isLocal, lastSeenAt, isTaking, hasAsked, freeAt, report, isSilent } = worker;
  if (jobs.size > 0) return 'running';
  if (isLocal) return 'idle';
  if (isSilent || hasLeft(worker, silenceMs) || now - lastSeenAt > forgetAfterMs / 2) return 'unhealthy';
  const isInTime = performance.now() - freeAt <= silenceMs;
  if (isTaking || (hasAsked && isInTime)) return 'idle';
  // One that reports asks once what it runs is up.
  return isInTime || report !== undefined ? 'initializing' : 'unhealthy';
}
