/** The step from a job at the service to its end: look, wait, look again. */
import type { SubmittedAttempt } from '../core/attempt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import { nextPollMs } from '../core/polling.ts';
import { growingWaitMs } from '../core/waiting.ts';
import type { JobTimes, StatusReply } from './ports.ts';
import type { Run } from './run.ts';
import { save } from './save.ts';
import { settleWithoutPicture, type JobFacts } from './settle.ts';

/** A job in flight and what this run has seen of it; times by the monotonic clock. */
export interface Job {
  attempt: SubmittedAttempt;
  submittedElapsed: number;
  /** Whether it was submitted before this run, so that its completion was not watched. */
  isResumed: boolean;
  status: string;
  executingElapsed: number | undefined;
  polls: number;
  troubles: number;
}

export type Look = 'settled' | { waitMs: number };

export function freshJob(run: Run, attempt: SubmittedAttempt): Job {
  return { ...blankJob(attempt), submittedElapsed: run.ports.clock.elapsed(), isResumed: false };
}

/** Its age is told by the wall clock, the only one that spans runs. */
export function resumedJob(run: Run, attempt: SubmittedAttempt): Job {
  const agedMs = Math.max(0, run.ports.clock.now() - attempt.submittedAt);
  return { ...blankJob(attempt), submittedElapsed: run.ports.clock.elapsed() - agedMs, isResumed: true };
}

function blankJob(
  attempt: SubmittedAttempt,
): Pick<Job, 'attempt' | 'status' | 'executingElapsed' | 'polls' | 'troubles'> {
  return { attempt, status: '', executingElapsed: undefined, polls: 0, troubles: 0 };
}

/** Follows a job from `waitMs` from now until it is settled or the run leaves; it then stays in the checkpoint. */
export async function follow(run: Run, job: Job, waitMs: number): Promise<void> {
  for (let next: Look = { waitMs }; next !== 'settled'; next = await look(run, job)) {
    await run.ports.clock.sleep(next.waitMs, run.stop.leaving);
    if (run.stop.leaving.aborted) return;
  }
}

/** Asks for the job once, acts on the answer, and says how long to wait before the next look. */
export async function look(run: Run, job: Job): Promise<Look> {
  job.polls += 1;
  const reply = await run.ports.service.status(job.attempt.endpoint, job.attempt.jobId, run.abandoned);
  switch (reply.kind) {
    case 'running':
      return stillRunning(run, job, reply);
    case 'completed':
      await collect(run, job, reply);
      return 'settled';
    case 'ended':
      await settleWithoutPicture(run, job.attempt, 'failed', reply.failure, factsOfEnd(run, job, reply));
      return 'settled';
    case 'missing':
      return missing(run, job, reply.text);
    case 'failure':
      return troubled(run, job, reply.failure);
  }
}

/** Ms to wait before the first or next look at a job that has not ended. */
export function nextLookMs(run: Run, job: Job): number {
  return nextPollMs(ageMs(run, job), run.observed, run.settings.polling);
}

async function stillRunning(run: Run, job: Job, reply: StatusReply & { kind: 'running' }): Promise<Look> {
  const { checkpoint, clock, tell } = run.ports;
  job.troubles = 0;
  if (reply.isExecuting) job.executingElapsed ??= clock.elapsed();
  if (reply.status !== job.status) {
    job.status = reply.status;
    await checkpoint.recordStatus(job.attempt, {
      status: reply.status,
      isExecuting: reply.isExecuting,
      at: clock.now(),
    });
    tell({ type: 'job-status', scene: job.attempt.sceneId, jobId: job.attempt.jobId, status: reply.status });
  }
  const overdue = overdueFailure(run, job);
  if (overdue === undefined) return { waitMs: nextLookMs(run, job) };
  await settleWithoutPicture(run, job.attempt, 'failed', overdue, factsOf(job));
  return 'settled';
}

async function collect(run: Run, job: Job, reply: StatusReply & { kind: 'completed' }): Promise<void> {
  const age = ageMs(run, job);
  const result = await save(run, job.attempt, reply.pictures, factsOfEnd(run, job, reply));
  if (result === 'saved') run.countSaved(job.isResumed ? undefined : age);
}

async function missing(run: Run, job: Job, text: string): Promise<Look> {
  if (ageMs(run, job) < run.settings.timeouts.freshnessMs) {
    return troubled(run, job, { kind: 'not-known-yet', text });
  }
  await settleWithoutPicture(run, job.attempt, 'expired', { kind: 'expired', text }, factsOf(job));
  return 'settled';
}

function troubled(run: Run, job: Job, failure: Failure): Look {
  if (failureRules[failure.kind].next === 'stop') {
    run.stopFor(failure);
    return { waitMs: 0 };
  }
  job.troubles += 1;
  const { random, tell } = run.ports;
  const waitMs = Math.max(
    failure.retryAfterMs ?? 0,
    growingWaitMs(job.troubles, run.settings.retry, random()),
  );
  tell({
    type: 'request-troubled',
    scene: job.attempt.sceneId,
    kind: failure.kind,
    text: failure.text,
    waitMs,
  });
  return { waitMs };
}

function overdueFailure(run: Run, job: Job): Failure | undefined {
  const { queueMs, executionMs } = run.settings.timeouts;
  if (job.executingElapsed === undefined && ageMs(run, job) > queueMs) {
    return { kind: 'job-overdue', text: `still ${job.status} ${inMinutes(queueMs)} after its submission` };
  }
  if (job.executingElapsed !== undefined && run.ports.clock.elapsed() - job.executingElapsed > executionMs) {
    return { kind: 'job-overdue', text: `still ${job.status} ${inMinutes(executionMs)} after it began` };
  }
  return undefined;
}

function inMinutes(ms: number): string {
  return `${Math.round(ms / 6_000) / 10} min`;
}

function ageMs(run: Run, job: Job): number {
  return run.ports.clock.elapsed() - job.submittedElapsed;
}

function factsOf(job: Job): JobFacts {
  return { jobId: job.attempt.jobId, isResumed: job.isResumed, polls: job.polls };
}

/** To be taken when the answer has just come. */
function factsOfEnd(run: Run, job: Job, reply: JobTimes & { status: string }): JobFacts {
  const { status, delayTimeMs, executionTimeMs } = reply;
  return {
    ...factsOf(job),
    completedAt: run.ports.clock.now(),
    status,
    ...(delayTimeMs !== undefined && { delayTimeMs }),
    ...(executionTimeMs !== undefined && { executionTimeMs }),
  };
}
