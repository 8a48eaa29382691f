/** Schedules polls of the jobs in flight, by learned job durations, and keeps what is known of each job. */
import { setMaxListeners } from 'node:events';
import type { JobTimes, Settlement, Submitted, SubmittedJob } from '../core/attempt.ts';
import {
  enoughJobs,
  type LearnedTimes,
  nextPollMs,
  nothingLearned,
  type PollRules,
  type PollState,
  withCompleted,
} from '../core/polling.ts';
import type { Clock, StatusReply } from './ports.ts';
import type { Stop } from './stop.ts';

/** `held`: in flight until a setting changes. Without `waitMs`, the next poll is when such jobs are done. */
export type PollResult = 'settled' | 'held' | { waitMs?: number };

/** Number of first jobs that are polled often, to learn about the others. */
const maxProbes = 4;

export class PollScheduler {
  readonly #rules: PollRules;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #stop: Stop;
  #learned: LearnedTimes = nothingLearned;
  readonly #followed = new Set<Job>();
  readonly #probes = new Set<Job>();
  /** Aborts when all planned polls must be planned again, or when the run leaves. */
  #planned = manyListeners();
  /** True if scenes wait to be submitted. */
  hasMore = true;

  constructor(rules: PollRules, clock: Clock, random: () => number, stop: Stop) {
    this.#rules = rules;
    this.#clock = clock;
    this.#random = random;
    this.#stop = stop;
    stop.leaving.addEventListener('abort', () => this.#planAnew(), { once: true });
  }

  /** Resolves when the job is due for its next poll, after `waitMs` if given, or when the run leaves. */
  async wait(job: Job, waitMs?: number): Promise<void> {
    this.#followed.add(job);
    if (this.#probes.size < maxProbes) this.#probes.add(job);
    let dueElapsed = waitMs === undefined ? this.#plannedElapsed(job) : this.#clock.elapsed() + waitMs;
    while (dueElapsed > this.#clock.elapsed() && !this.#stop.leaving.aborted) {
      const { signal } = this.#planned;
      await this.#clock.sleep(dueElapsed - this.#clock.elapsed(), signal);
      if (signal.aborted && waitMs === undefined) dueElapsed = this.#plannedElapsed(job);
    }
  }

  /** Stops scheduling a job that is over or left. */
  forget(job: Job): void {
    this.#followed.delete(job);
    this.#probes.delete(job);
  }

  /** Learns from a completed job. While little is known, the first jobs lead to a new schedule for all. */
  learn(times: { delayMs: number; executionMs: number }): void {
    this.#learned = withCompleted(this.#learned, times, this.#random());
    if (this.#learned.jobs === enoughJobs) this.#planAnew();
  }

  #plannedElapsed(job: Job): number {
    const lastOf = this.hasMore ? undefined : this.#followed.size;
    const role = { lastOf, isProbe: this.#probes.has(job) };
    const { state, atElapsed } = pollStateOf(job);
    return atElapsed + nextPollMs(state, this.#learned, this.#rules, role, this.#random());
  }

  #planAnew(): void {
    // With a given reason, the abort does not create an error with a stack trace.
    this.#planned.abort('planned anew');
    this.#planned = manyListeners();
  }
}

function manyListeners(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** A job in flight and this run's observations of it. Ages and times use the monotonic clock. */
export interface Job extends SubmittedJob {
  attempt: Submitted;
  submittedElapsed: number;
  /** Time since which this run follows the job. Deadlines count from here, because clocks may jump between runs. */
  followedElapsed: number;
  /** True if an earlier run submitted the job, so its completion may not have been observed. */
  isResumed: boolean;
  status: string;
  executingElapsed: number | undefined;
  /** Time at which the job was last seen running. */
  polledElapsed: number | undefined;
  /** Time at which execution began, as far as it is known. Undefined while the job waits, even if it waits again. */
  beganElapsed: number | undefined;
  /** Time since which the service does not know the job. */
  missingElapsed: number | undefined;
  /** Number of replies that the job is unknown, and number of consecutive later replies that it waits. */
  missing: number;
  waitingInARow: number;
  /** Number of consecutive unreadable replies, and the time since which they are no longer an accident. */
  unreadable: number;
  unreadableElapsed: number | undefined;
  /** Number of consecutive replies with the status of another job. */
  foreign: number;
  /** Time since which the job is done, and its result or a file of it could not be obtained. */
  lateElapsed: number | undefined;
  /** Number of times that the result was asked for again since then. */
  lateTries: number;
  /** Number of consecutive replies that the result, or a file of it, is gone or refused. */
  refused: number;
  /** Hex SHA-256 of a file that was downloaded and refused. */
  refusedDigest: string | undefined;
  polls: number;
  failedPolls: number;
  emptyAnswers: number;
  /** True if a kept answer is read before the service is asked. */
  isKeptDue: boolean;
  /** True if the latest reply was read from an answer that an earlier run kept. */
  isReadFromKept: boolean;
}

/** Creates a job that this run submitted just now. It has not been polled yet. */
export function freshJob(clock: Clock, attempt: Submitted): Job {
  const now = clock.elapsed();
  return {
    ...unseen,
    ...attempt.job,
    attempt,
    submittedElapsed: now,
    followedElapsed: now,
    isResumed: false,
  };
}

/** Creates a job of an earlier run. Its age counts from submission by the wall clock, the only clock that spans runs; deadlines count from now. */
export function resumedJob(clock: Clock, attempt: Submitted): Job {
  const job = freshJob(clock, attempt);
  const agedMs = Math.max(0, clock.now() - attempt.job.submittedAt);
  return { ...job, submittedElapsed: job.submittedElapsed - agedMs, isResumed: true };
}

const neverMissing = { missingElapsed: undefined, missing: 0 };
const alwaysReadable = { unreadable: 0, unreadableElapsed: undefined, foreign: 0 };

const unseen = {
  status: '',
  executingElapsed: undefined,
  polledElapsed: undefined,
  beganElapsed: undefined,
  ...neverMissing,
  ...alwaysReadable,
  waitingInARow: 0,
  lateElapsed: undefined,
  lateTries: 0,
  refused: 0,
  refusedDigest: undefined,
  polls: 0,
  failedPolls: 0,
  emptyAnswers: 0,
  isKeptDue: true,
  isReadFromKept: false,
};

export function ageMs(job: Job, clock: Clock): number {
  return clock.elapsed() - job.submittedElapsed;
}

/** Number of consecutive replies that outweigh earlier 404s. A single reply may come from a stale replica. */
const enoughWaiting = 3;

export function markKnown(job: Job, reply: StatusReply): void {
  const isWaiting = reply.kind === 'running' && !reply.isExecuting;
  job.waitingInARow = isWaiting ? job.waitingInARow + 1 : 0;
  Object.assign(job, { ...alwaysReadable, failedPolls: 0 });
  if (!isWaiting || job.waitingInARow >= enoughWaiting) Object.assign(job, neverMissing);
}

/** Records that the job runs. `now` is in monotonic ms. */
export function recordRunning(job: Job, reply: StatusReply & { kind: 'running' }, now: number): void {
  const earliest = job.polledElapsed ?? job.submittedElapsed;
  if (!reply.isExecuting) job.beganElapsed = undefined;
  // Execution began after the last poll that saw the job waiting, whatever the service reports.
  else
    job.beganElapsed ??= Math.min(now, Math.max(earliest, job.submittedElapsed + (reply.delayTimeMs ?? 0)));
  job.polledElapsed = now;
}

function pollStateOf({ submittedElapsed, polledElapsed, beganElapsed }: Job): {
  state: PollState;
  atElapsed: number;
} {
  const atElapsed = polledElapsed ?? submittedElapsed;
  const waiting = polledElapsed === undefined ? 'nothing' : 'waiting';
  const state: PollState = {
    ageMs: atElapsed - submittedElapsed,
    seen: beganElapsed === undefined ? waiting : 'executing',
    executedMs: beganElapsed === undefined ? 0 : atElapsed - beganElapsed,
  };
  return { state, atElapsed };
}

/** Returns how long a job that was just found completed waited and executed, in ms. Estimated if the service reports no possible times. Undefined for a resumed job. `now`: monotonic ms. */
export function timesTaken(
  job: Job,
  { delayTimeMs, executionTimeMs }: JobTimes,
  now: number,
): { delayMs: number; executionMs: number } | undefined {
  const tookMs = now - job.submittedElapsed;
  const ranMs = (job.polledElapsed ?? job.submittedElapsed) - job.submittedElapsed;
  if (delayTimeMs !== undefined && executionTimeMs !== undefined && delayTimeMs + executionTimeMs <= tookMs) {
    // Execution includes the time after the worker was done if the job was still seen running then.
    return { delayMs: delayTimeMs, executionMs: Math.max(executionTimeMs, ranMs - delayTimeMs) };
  }
  if (job.isResumed) return undefined;
  const delayMs = (job.beganElapsed ?? job.submittedElapsed) - job.submittedElapsed;
  // The end is between the latest poll and this one; their middle is used.
  return { delayMs, executionMs: (ranMs + tookMs) / 2 - delayMs };
}

export function factsOf(job: Job, clock: Clock): JobFacts {
  // Nobody observed the job between two runs.
  const executingElapsed = job.isResumed ? undefined : job.executingElapsed;
  return {
    jobId: job.jobId,
    polls: job.polls,
    ...(executingElapsed !== undefined && { executedMs: clock.elapsed() - executingElapsed }),
  };
}

/** Returns the facts to record about an ended job. Call as soon as the answer arrives, because `completedAt` is now. */
export function factsOfEnd(job: Job, reply: JobTimes & { status: string }, clock: Clock): JobFacts {
  const { status, delayTimeMs, executionTimeMs, cost } = reply;
  return {
    ...factsOf(job, clock),
    // An earlier run saw the end of a held job.
    completedAt: job.held?.completedAt ?? clock.now(),
    status,
    ...(delayTimeMs !== undefined && { delayTimeMs }),
    ...(executionTimeMs !== undefined && { executionTimeMs }),
    ...(cost !== undefined && { cost }),
  };
}

export type JobFacts = Pick<
  Settlement,
  'completedAt' | 'status' | 'delayTimeMs' | 'executionTimeMs' | 'cost' | 'polls'
> & {
  jobId?: string;
  /** Time for which this run, which submitted the job, saw it executing. */
  executedMs?: number;
};
