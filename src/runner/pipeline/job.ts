/** A job in flight and what this run has seen of it; ages and instants by the monotonic clock. */
import { formatDuration } from '../../lib/text/format.ts';
import type { Submitted, SubmittedJob } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import type { PollState } from '../core/polling.ts';
import type { JobTimes, Settlement } from '../core/settlement.ts';
import type { Clock, StatusReply } from './ports.ts';
import type { PipelineConfig } from './pipeline-config.ts';

export interface Job extends SubmittedJob {
  attempt: Submitted;
  submittedElapsed: number;
  /** Since when this run follows it: its deadlines count from there, whatever clocks did between the runs. */
  followedElapsed: number;
  /** Whether it was submitted before this run, so that its completion was not watched. */
  isResumed: boolean;
  status: string;
  executingElapsed: number | undefined;
  /** When it was last seen to run. */
  polledElapsed: number | undefined;
  /** When it began, as far as is known; undefined where it waits, be it again. */
  beganElapsed: number | undefined;
  /** Since when the service says that it does not know it. */
  missingElapsed: number | undefined;
  /** How often it has said so, and how often in a row it has answered since that the job waits. */
  missing: number;
  waitingInARow: number;
  /** Status requests in a row that brought no readable status, and since when that is no accident any more. */
  unreadable: number;
  unreadableElapsed: number | undefined;
  /** Status requests in a row that were answered with another job's status. */
  foreign: number;
  /** Since when it is done and its result is not given out, and how often the service said that there is none. */
  withheldElapsed: number | undefined;
  withheld: number;
  polls: number;
  failedPolls: number;
  /** How often it was COMPLETED without an output. */
  emptyAnswers: number;
  /** Whether its latest reply was read from an answer that an earlier run kept. */
  isReadFromKept: boolean;
}

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

/** Its age is by the wall clock, the only one that spans runs. */
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
  withheldElapsed: undefined,
  withheld: 0,
  polls: 0,
  failedPolls: 0,
  emptyAnswers: 0,
  isReadFromKept: false,
};

export function ageMs(job: Job, clock: Clock): number {
  return clock.elapsed() - job.submittedElapsed;
}

/** A single answer of a stale replica does not undo what several 404s said; so many in a row do. */
const enoughWaiting = 3;

/** The service knows the job. */
export function markKnown(job: Job, reply: StatusReply): void {
  const isWaiting = reply.kind === 'running' && !reply.isExecuting;
  job.waitingInARow = isWaiting ? job.waitingInARow + 1 : 0;
  Object.assign(job, { ...alwaysReadable, failedPolls: 0 });
  if (!isWaiting || job.waitingInARow >= enoughWaiting) Object.assign(job, neverMissing);
}

/** The service says that it runs; `now` by the monotonic clock, as below. */
export function see(job: Job, reply: StatusReply & { kind: 'running' }, now: number): void {
  const earliest = job.polledElapsed ?? job.submittedElapsed;
  if (!reply.isExecuting) job.beganElapsed = undefined;
  // It began since it was last seen to wait, whatever the service's own count says.
  else
    job.beganElapsed ??= Math.min(now, Math.max(earliest, job.submittedElapsed + (reply.delayTimeMs ?? 0)));
  job.polledElapsed = now;
}

/** What the latest poll showed, and when that was. */
export function pollStateOf({ submittedElapsed, polledElapsed, beganElapsed }: Job): {
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

/** How long a job that has just been found completed waited and executed; undefined where that is unknown. */
export function timesTaken(
  job: Job,
  { delayTimeMs, executionTimeMs }: JobTimes,
  now: number,
): { delayMs: number; executionMs: number } | undefined {
  const tookMs = now - job.submittedElapsed;
  const ranMs = (job.polledElapsed ?? job.submittedElapsed) - job.submittedElapsed;
  if (delayTimeMs !== undefined && executionTimeMs !== undefined && delayTimeMs + executionTimeMs <= tookMs) {
    // What comes after the worker is done is part of it: it was still seen to run then.
    return { delayMs: delayTimeMs, executionMs: Math.max(executionTimeMs, ranMs - delayTimeMs) };
  }
  if (job.isResumed) return undefined;
  const delayMs = (job.beganElapsed ?? job.submittedElapsed) - job.submittedElapsed;
  // Somewhere between the latest poll and this one.
  return { delayMs, executionMs: (ranMs + tookMs) / 2 - delayMs };
}

type Timeouts = PipelineConfig['timeouts'];

/** Why it has had long enough, or undefined where it has not. */
export function overdueFailure(
  job: Job,
  { queue: queueMs, execution: executionMs }: Timeouts,
  clock: Clock,
): Failure | undefined {
  const now = clock.elapsed();
  const status = job.status === '' ? 'no status' : `its status is still "${job.status}"`;
  const text = (ms: number, since: string, key: string): Failure =>
    overdue(`${status} ${formatDuration(ms)} after ${since} (\`${key}\`)`);
  if (job.executingElapsed === undefined && now - job.followedElapsed > queueMs) {
    return text(queueMs, job.isResumed ? 'it was resumed' : 'its submission', 'timeouts.queue');
  }
  if (job.executingElapsed !== undefined && now - job.executingElapsed > executionMs) {
    return { ...text(executionMs, 'it began', 'timeouts.execution'), isExecution: true };
  }
  return undefined;
}

/** As above, over all runs; only for a job whose status cannot be read: between two runs the wall clock may have jumped. */
export function overdueSinceSubmission(
  job: Job,
  { queue: queueMs, execution: executionMs }: Timeouts,
  clock: Clock,
): Failure | undefined {
  const ms = queueMs + executionMs;
  if (ageMs(job, clock) <= ms) return undefined;
  const text = `no status ${formatDuration(ms)} after its submission (\`timeouts.queue\` and \`timeouts.execution\`)`;
  return overdue(text);
}

/** Why the result of a job that is done was asked for long enough, or undefined if it was not. */
export function withheldFailure(
  { withheldElapsed }: Job,
  { unreachable: unreachableMs }: PipelineConfig['halt'],
  clock: Clock,
): Failure | undefined {
  const now = clock.elapsed();
  if (now - (withheldElapsed ?? now) <= unreachableMs) return undefined;
  return overdue(
    `the job is done, and its result was not given out for ${formatDuration(unreachableMs)} (\`halt.unreachable\`)`,
  );
}

const overdue = (text: string): Failure => ({ kind: 'job-overdue', text });

export function factsOf(job: Job, clock: Clock): JobFacts {
  // Nobody saw what a job did between two runs.
  const executingElapsed = job.isResumed ? undefined : job.executingElapsed;
  return {
    jobId: job.jobId,
    polls: job.polls,
    ...(executingElapsed !== undefined && { executedMs: clock.elapsed() - executingElapsed }),
  };
}

/** To be taken when the answer has just come. */
export function factsOfEnd(job: Job, reply: JobTimes & { status: string }, clock: Clock): JobFacts {
  const { status, delayTimeMs, executionTimeMs } = reply;
  return {
    ...factsOf(job, clock),
    // One that was held was seen to be over by an earlier run.
    completedAt: job.held?.completedAt ?? clock.now(),
    status,
    ...(delayTimeMs !== undefined && { delayTimeMs }),
    ...(executionTimeMs !== undefined && { executionTimeMs }),
  };
}

/** What is known of the job besides how it ended. */
export type JobFacts = Pick<
  Settlement,
  'completedAt' | 'status' | 'delayTimeMs' | 'executionTimeMs' | 'polls'
> & {
  jobId?: string;
  /** How long this run, which submitted it, saw it executing. */
  executedMs?: number;
};
