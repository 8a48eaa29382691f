/** The step from a job at the service to its end: poll, wait, poll again. */
import { sceneNameOf } from '../core/prompt.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import { backoffMs, fullJitterMs, orRetryAfterMs } from '../core/backoff.ts';
import {
  ageMs,
  factsOf,
  factsOfEnd,
  markKnown,
  overdueFailure,
  overdueSinceSubmission,
  see,
  timesTaken,
  type Job,
} from './job.ts';
import { isOnlyWay, missing, type MissingContext } from './missing.ts';
import type { Deadline } from './deadline.ts';
import type { PollScheduler } from './poll-scheduler.ts';
import type { CancelReply, Checkpoint, RenderService, StatusReply } from './ports.ts';
import type { RequestThrottle } from './request-throttle.ts';
import { save, type SaveContext } from './save.ts';
import { settleWithoutPicture, whileInProgress } from './settle.ts';
import type { SharedIds } from './shared-ids.ts';

export type FollowContext = SaveContext &
  MissingContext & {
    ports: {
      service: Pick<RenderService, 'status' | 'cancel'>;
      checkpoint: Pick<Checkpoint, 'recordStatus' | 'setInProgress'>;
    };
    throttles: Record<'status' | 'cancel', RequestThrottle>;
    pollScheduler: PollScheduler;
    deadline: Deadline;
    sharedIds: SharedIds;
  };

/** Without `waitMs` it is polled again when such jobs are likely to be done. */
export type PollResult = 'settled' | { waitMs?: number };

/** Polls a job until it is settled, or the run leaves and it stays in the checkpoint. */
export async function follow(
  run: FollowContext,
  job: Job,
  first: PollResult | Promise<PollResult> = {},
): Promise<'settled' | 'left'> {
  let next = await first;
  while (next !== 'settled') {
    await run.pollScheduler.wait(job, next.waitMs);
    if (run.stop.leaving.aborted) break;
    next = await poll(run, job);
  }
  run.pollScheduler.forget(job);
  return next === 'settled' ? 'settled' : 'left';
}

/** Requests the job's status once, acts on the answer, and returns how long to wait before the next poll. */
export async function poll(run: FollowContext, job: Job): Promise<PollResult> {
  if (run.sharedIds.has(job.attempt)) return distrust(run, job);
  const reply = await ask(run, job);
  if (reply === undefined) return { waitMs: 0 };
  learn(run, job, reply);
  const next = await act(run, job, reply);
  if (next === 'settled') run.jobs.forget(job);
  return next;
}

/** Undefined where the run is left. */
export async function ask(run: FollowContext, job: Job): Promise<StatusReply | undefined> {
  job.polls += 1;
  const queuedAt = run.ports.clock.elapsed();
  return run.throttles.status.pass(run.stop.leaving, async () => {
    run.stats.asking(queuedAt);
    const heldUp = (): void => run.stats.move(job.attempt, 'memory');
    const reply = await run.ports.service.status(job.attempt, run.abandoned, heldUp);
    run.stats.move(job.attempt, 'inFlight');
    return reply;
  });
}

export function learn(run: FollowContext, job: Job, reply: StatusReply): void {
  if (reply.kind === 'failure') return;
  run.reachability.answered('status');
  if (reply.kind === 'missing') return;
  run.liveness.addStatus(job.attempt.endpoint);
  run.jobs.forget(job);
  run.stats.move(job.attempt, 'inFlight');
  markKnown(job, reply);
  const now = run.ports.clock.elapsed();
  if (reply.kind === 'running') see(job, reply, now);
  const times = reply.kind === 'completed' ? timesTaken(job, reply, now) : undefined;
  if (times !== undefined) run.pollScheduler.learn(times);
}

async function act(run: FollowContext, job: Job, reply: StatusReply): Promise<PollResult> {
  switch (reply.kind) {
    case 'running':
      return stillRunning(run, job, reply);
    case 'completed':
      return collect(run, job, reply);
    case 'ended':
      await settleWithoutPicture(
        run,
        job.attempt,
        'failed',
        reply.failure,
        factsOfEnd(job, reply, run.ports.clock),
      );
      return 'settled';
    case 'missing': {
      const verdict = await missing(run, job, reply);
      return verdict === 'settled' ? 'settled' : retryLater(run, job, verdict);
    }
    case 'failure':
      return unreadable(run, job, reply.failure);
  }
}

async function stillRunning(
  run: FollowContext,
  job: Job,
  reply: StatusReply & { kind: 'running' },
): Promise<PollResult> {
  const { checkpoint, clock, emit } = run.ports;
  if (reply.isExecuting) job.executingElapsed ??= clock.elapsed();
  if (reply.status !== job.status) {
    job.status = reply.status;
    await checkpoint.recordStatus(job.attempt, {
      status: reply.status,
      isExecuting: reply.isExecuting,
      at: clock.now(),
    });
    emit({ type: 'job-status', scene: job.attempt.sceneId, jobId: job.attempt.jobId, status: reply.status });
  }
  const overdue = overdueFailure(job, run.settings.timeouts, run.ports.clock);
  return overdue === undefined ? {} : giveUp(run, job, overdue);
}

type Completed = StatusReply & { kind: 'completed' };

/** The pictures of a job that is done; where they do not pass, its attempt has failed. */
export async function collect(run: FollowContext, job: Job, reply: Completed): Promise<PollResult> {
  try {
    return await collectHeld(run, job, reply);
  } finally {
    reply.hold?.release();
  }
}

async function collectHeld(run: FollowContext, job: Job, reply: Completed): Promise<PollResult> {
  if (run.sharedIds.has(job.attempt)) return distrust(run, job);
  const age = ageMs(job, run.ports.clock);
  run.stats.collected(job, reply);
  const { checkpoint, clock } = run.ports;
  const result = await whileInProgress(checkpoint, job.attempt, () =>
    save(run, job.attempt, reply.pictures, factsOfEnd(job, reply, clock), reply.hold),
  );
  if (result === 'saved') run.halts.countSaved();
  // How long a resumed job waited for this run is unknown.
  if (result === 'saved' && !job.isResumed) run.deadline.observe(age);
  return result === 'left' ? { waitMs: 0 } : 'settled';
}

/** It may be anybody's: no picture is saved for it, and its submission is declared. */
async function distrust(run: FollowContext, job: Job): Promise<'settled'> {
  const text = `the service gave its job id, ${job.attempt.jobId}, to another submission too: its picture may belong to either scene`;
  await settleWithoutPicture(
    run,
    job.attempt,
    'expired',
    { kind: 'unanswered', text },
    factsOf(job, run.ports.clock),
  );
  run.jobs.forget(job);
  return 'settled';
}

/** Stops the job at the service, so that it does not go on costing, and takes what it has brought in the meantime. */
async function giveUp(run: FollowContext, job: Job, overdue: Failure): Promise<PollResult> {
  const { service } = run.ports;
  const cancelled = await run.throttles.cancel.pass(run.stop.leaving, () =>
    service.cancel(job.attempt, run.abandoned),
  );
  const last = cancelled && (await ask(run, job));
  if (cancelled === undefined || last === undefined) return { waitMs: 0 };
  if (last.kind === 'completed') return collect(run, job, last);
  const facts =
    last.kind === 'ended' ? factsOfEnd(job, last, run.ports.clock) : factsOf(job, run.ports.clock);
  const failure = last.kind === 'ended' ? overdue : afterCancel(overdue, cancelled);
  await settleWithoutPicture(run, job.attempt, 'failed', failure, facts);
  return 'settled';
}

/** Says so where the job was not cancelled. */
function afterCancel(overdue: Failure, cancelled: CancelReply): Failure {
  if (cancelled.kind === 'cancelled') return overdue;
  const why = cancelled.kind === 'failure' ? cancelled.failure.text : cancelled.text;
  return { ...overdue, text: `${overdue.text}; it was not cancelled and may run on and bill: ${why}` };
}

/** So many in a row are no accident on the way. */
const enoughUnreadable = 5;

/**
 * A job whose status can never be read has its deadline too. It is given up where the status of another job was read
 * meanwhile; where nothing else in flight or waiting could show it, one job for the whole run, whose scene then shows it. Either
 * way the endpoint has to answer now: an outage gives up nothing, and ends the run where it lasts.
 */
async function unreadable(run: FollowContext, job: Job, failure: Failure): Promise<PollResult> {
  if (failureRules[failure.kind].next === 'stop') return retryLater(run, job, failure);
  job.unreadable += 1;
  if (job.unreadable >= enoughUnreadable) job.unreadableElapsed ??= run.ports.clock.elapsed();
  const since = job.unreadableElapsed;
  const isAlive = since !== undefined && (await answers(run, job));
  const isOwn = isAlive && run.liveness.wasStatusReadSince(job.attempt.endpoint, since);
  const isLast = isAlive && !isOwn && (await isLastUnsettled(run)) && !run.jobs.hasGivenUpLast;
  const overdue =
    overdueFailure(job, run.settings.timeouts, run.ports.clock) ??
    overdueSinceSubmission(job, run.settings.timeouts, run.ports.clock);
  if (overdue !== undefined && (isOwn || isLast)) {
    run.jobs.hasGivenUpLast ||= isLast;
    return giveUp(run, job, { ...overdue, text: `${overdue.text}; the latest: ${failure.text}` });
  }
  // One submission of another scene shows whether the service answers.
  if (overdue !== undefined && isAlive) run.jobs.markUncertain(job);
  // To be asked to wait is an answer, until all that was waited for is overdue.
  if (failure.kind === 'overloaded' && overdue === undefined) run.reachability.answered('status');
  else if (!isOwn && !isLast) run.halts.countSilence('status', failure.text);
  return retryLater(run, job, failure);
}

async function answers(run: FollowContext, job: Job): Promise<boolean> {
  run.jobs.unreadable.add(job);
  const health = await run.liveness.ask(job.attempt.endpoint);
  return health !== undefined && health.kind !== 'failure';
}

async function isLastUnsettled(run: FollowContext): Promise<boolean> {
  return run.jobs.count === run.jobs.unreadable.size && (await isOnlyWay(run));
}

export function retryLater(run: FollowContext, job: Job, failure: Failure): { waitMs: number } {
  if (failureRules[failure.kind].next === 'stop') {
    run.stop.forFailure(failure);
    return { waitMs: 0 };
  }
  job.failedPolls += 1;
  const { random, emit } = run.ports;
  const { retry } = run.settings;
  const wait = failure.kind === 'overloaded' ? fullJitterMs : backoffMs;
  const dueMs = orRetryAfterMs(failure.retryAfterMs, wait(job.failedPolls, retry, random()));
  // Its result may be lying there and be deleted meanwhile: the service is asked at least as often as that.
  const waitMs = Math.min(retry.maxWaitMs, dueMs);
  run.stats.pollFailed(failure, waitMs);
  emit({
    type: 'request-troubled',
    ...sceneNameOf(job.attempt),
    kind: failure.kind,
    text: failure.text,
    waitMs,
  });
  return { waitMs };
}
