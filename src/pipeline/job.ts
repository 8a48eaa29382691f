/** A job in flight and what this run has seen of it; ages and instants by the monotonic clock. */
import { showDuration } from '../core/duration.ts';
import type { SubmittedAttempt } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import type { JobTimes } from './ports.ts';
import type { Run } from './run.ts';
import type { JobFacts } from './settle.ts';

export interface Job {
  attempt: SubmittedAttempt;
  submittedElapsed: number;
  /** Since when this run follows it: its deadlines count from there, whatever clocks did between the runs. */
  followedElapsed: number;
  /** Whether it was submitted before this run, so that its completion was not watched. */
  isResumed: boolean;
  status: string;
  executingElapsed: number | undefined;
  /** Since when the service says that it does not know it. */
  missingElapsed: number | undefined;
  polls: number;
  troubles: number;
}

export function freshJob(run: Run, attempt: SubmittedAttempt): Job {
  const now = run.ports.clock.elapsed();
  return { ...unseen, attempt, submittedElapsed: now, followedElapsed: now, isResumed: false };
}

/** Its age is told by the wall clock, the only one that spans runs. */
export function resumedJob(run: Run, attempt: SubmittedAttempt): Job {
  const { clock } = run.ports;
  const now = clock.elapsed();
  const agedMs = Math.max(0, clock.now() - attempt.submittedAt);
  return { ...unseen, attempt, submittedElapsed: now - agedMs, followedElapsed: now, isResumed: true };
}

const unseen = {
  status: '',
  executingElapsed: undefined,
  missingElapsed: undefined,
  polls: 0,
  troubles: 0,
};

export function ageMs(run: Run, job: Job): number {
  return run.ports.clock.elapsed() - job.submittedElapsed;
}

/** Why it has had long enough, or undefined where it has not. */
export function overdueFailure(run: Run, job: Job): Failure | undefined {
  const { queueMs, executionMs } = run.settings.timeouts;
  const now = run.ports.clock.elapsed();
  const status = job.status === '' ? 'no status' : `its status is still "${job.status}"`;
  const text = (ms: number, since: string, key: string): Failure => ({
    kind: 'job-overdue',
    text: `${status} ${showDuration(ms)} after ${since} (\`${key}\`)`,
  });
  if (job.executingElapsed === undefined && now - job.followedElapsed > queueMs) {
    return text(queueMs, job.isResumed ? 'it was resumed' : 'its submission', 'timeouts.queue');
  }
  if (job.executingElapsed !== undefined && now - job.executingElapsed > executionMs) {
    return text(executionMs, 'it began', 'timeouts.execution');
  }
  return undefined;
}

export function factsOf(run: Run, job: Job): JobFacts {
  const { executingElapsed } = job;
  return {
    jobId: job.attempt.jobId,
    polls: job.polls,
    ...(executingElapsed !== undefined && { executedMs: run.ports.clock.elapsed() - executingElapsed }),
  };
}

/** To be taken when the answer has just come. */
export function factsOfEnd(run: Run, job: Job, reply: JobTimes & { status: string }): JobFacts {
  const { status, delayTimeMs, executionTimeMs } = reply;
  return {
    ...factsOf(run, job),
    completedAt: run.ports.clock.now(),
    status,
    ...(delayTimeMs !== undefined && { delayTimeMs }),
    ...(executionTimeMs !== undefined && { executionTimeMs }),
  };
}
