/** The step from a job at the service to its end: poll, wait, poll again. */
import { failureRules, type Failure } from '../core/failure.ts';
import { patienceOf, refusalIn } from '../core/halting.ts';
import { valuesIn } from '../core/seeds-until.ts';
import {
  ageMs,
  factsOf,
  factsOfEnd,
  markKnown,
  recordRunning,
  timesTaken,
  type Job,
  type PollResult,
} from './poll-scheduler.ts';
import {
  handleLate,
  handleMissing,
  hasNothingToSubmit,
  isResultLost,
  readKeptAgain,
  retryLater,
  saveRules,
} from './missing.ts';
import type { CancelReply, StatusReply, Clock } from './ports.ts';
import { save } from './save-result.ts';
import { endWithoutPicture, settleWithoutPicture } from './settle.ts';
import type { Run } from './run-parts.ts';
import { formatDuration } from '../../lib/text/format.ts';
import type { PipelineConfig } from './pipeline-config.ts';

/** Polls a job until it is settled, or until the run leaves and the job stays in the checkpoint. */
export async function follow(
  run: Run,
  job: Job,
  first: PollResult | Promise<PollResult> = {},
): Promise<'settled' | 'left'> {
  let next = await first;
  while (typeof next !== 'string') {
    await run.pollScheduler.wait(job, next.waitMs);
    if (run.stop.leaving.aborted) break;
    next = await poll(run, job);
  }
  run.pollScheduler.forget(job);
  return next === 'settled' ? 'settled' : 'left';
}

/** Requests the job's status once, acts on the answer, and returns how long to wait before the next poll. */
export async function poll(run: Run, job: Job): Promise<PollResult> {
  if (run.sharedIds.has(job)) return settleShared(run, job);
  if (job.held?.kind === 'default-timeout' && run.config.policy?.executionTimeout === undefined) {
    await run.holds.hold(job, { ...job.held, kind: 'default-timeout' }, factsOf(job, run.ports.clock), false);
    return 'held';
  }
  const reply = await requestStatus(run, job);
  if (reply === undefined) return { waitMs: 0 };
  learnFrom(run, job, reply);
  const next = await handleReply(run, job, reply);
  if (typeof next === 'string') run.jobs.end(job);
  return next;
}

/** Reads the kept answer of the job, or requests its status. Undefined if the run is left. */
export async function requestStatus(run: Run, job: Job): Promise<StatusReply | undefined> {
  const kept = isKept(job) && job.isKeptDue ? await run.ports.answers.read(job.attempt) : undefined;
  job.isReadFromKept = kept !== undefined;
  if (isKept(job) && job.isKeptDue && kept === undefined) await reportUnread(run, job);
  job.isKeptDue = false;
  job.polls += 1;
  const onMemoryWait = (): void => run.stats.move(job.attempt, 'memory');
  if (kept !== undefined) return run.ports.service.status(job, run.abandoned, onMemoryWait, kept);
  const { endpoint } = job;
  const signal = run.stop.leaving;
  return run.access.pass({ operation: 'status', endpoint, subject: job.attempt, signal }, () => {
    const pausedElapsed = run.limiters.status.isPaused ? run.ports.clock.elapsed() : undefined;
    return run.limiters.status.pass(signal, async () => {
      run.stats.countStatusRequest(pausedElapsed);
      const reply = await run.ports.service.status(job, run.abandoned, onMemoryWait);
      run.stats.move(job.attempt, 'inFlight');
      return reply;
    });
  });
}

/** Warns that a kept answer cannot be read. The paid result is lost if the service has also deleted it. */
async function reportUnread(run: Run, { attempt }: Job): Promise<void> {
  if ((await run.ports.answers.elsewhere(attempt)) !== undefined) return;
  const text = `the kept answer of scene ${attempt.sceneId} is damaged or missing; the service is asked for the result again`;
  run.ports.emit({ type: 'warning', text });
}

function isKept({ held }: Job): boolean {
  return held?.answer !== undefined;
}

export function learnFrom(run: Run, job: Job, reply: StatusReply): void {
  // A kept answer proves nothing about the service.
  if (reply.kind === 'failure' || job.isReadFromKept) return;
  run.reachability.answered('status');
  if (reply.kind === 'missing') return;
  run.liveness.addStatus(job.endpoint);
  run.jobs.forget(job);
  run.stats.move(job.attempt, 'inFlight');
  markKnown(job, reply);
  const now = run.ports.clock.elapsed();
  if (reply.kind === 'running') recordRunning(job, reply, now);
  const isNew = reply.kind === 'completed' && job.lateElapsed === undefined;
  const times = isNew ? timesTaken(job, reply, now) : undefined;
  if (times !== undefined) run.pollScheduler.learn(times);
}

async function handleReply(run: Run, job: Job, reply: StatusReply): Promise<PollResult> {
  switch (reply.kind) {
    case 'running':
      return stillRunning(run, job, reply);
    case 'completed':
      return collect(run, job, reply);
    case 'ended':
      return endWithoutPicture(run, job, reply.failure, factsOfEnd(job, reply, run.ports.clock));
    case 'missing': {
      const why = await whyElsewhere(run, job);
      if (why !== undefined) return leaveToOther(run, job, why);
      const again = isKept(job) ? readKeptAgain(run, job, reply.text) : undefined;
      if (again !== undefined) return again;
      const verdict = await handleMissing(run, job, reply);
      return verdict === 'settled' ? 'settled' : retryLater(run, job, verdict);
    }
    case 'failure':
      return reply.isForeign === true ? handleForeign(run, job, reply) : handleUnreadable(run, job, reply);
  }
}

/** Returns the place of the answer if the service has forgotten the job and another machine has kept the answer. */
export async function whyElsewhere(run: Run, job: Job): Promise<string | undefined> {
  const host = isKept(job) ? await run.ports.answers.elsewhere(job.attempt) : undefined;
  return host && `waits for a setting, and its answer is kept on ${host}: start a run there to save it`;
}

function leaveToOther(run: Run, job: Job, why: string): 'held' {
  run.holds.leaveElsewhere(`the result of scene ${job.attempt.sceneId} ${why}`);
  return 'held';
}

async function stillRunning(
  run: Run,
  job: Job,
  reply: StatusReply & { kind: 'running' },
): Promise<PollResult> {
  const { checkpoint, clock, emit } = run.ports;
  if (reply.isExecuting) {
    job.executingElapsed ??= clock.elapsed();
    job.executingAt ??= clock.now();
  }
  if (reply.status !== job.status) {
    job.status = reply.status;
    await checkpoint.recordStatus(job.attempt, {
      status: reply.status,
      isExecuting: reply.isExecuting,
      at: clock.now(),
    });
    emit({ type: 'job-status', scene: job.attempt.sceneId, jobId: job.jobId, status: reply.status });
  }
  const overdue = overdueFailure(job, run.config.timeouts, run.ports.clock);
  if (overdue === undefined) return {};
  // A timeout that is set too short is no reason to cancel a paid job.
  if (!(await run.holds.isHeld(job, overdue))) return giveUp(run, job, overdue);
  await run.holds.hold(job, overdue, factsOf(job, clock), false);
  return 'held';
}

type Timeouts = PipelineConfig['timeouts'];

/** Returns why the job has exceeded its deadline, or undefined if it has not. */
function overdueFailure(
  job: Job,
  { queue: queueMs, execution: executionMs }: Timeouts,
  clock: Clock,
): Failure | undefined {
  const now = clock.elapsed();
  const status = job.status === '' ? 'no status' : `its status is still "${job.status}"`;
  const text = (ms: number, since: string, key: string): Failure =>
    overdueJob(`${status} ${formatDuration(ms)} after ${since} (\`${key}\`)`);
  if (job.executingElapsed === undefined && now - job.followedElapsed > queueMs) {
    return text(queueMs, job.isResumed ? 'it was resumed' : 'its submission', 'timeouts.queue');
  }
  if (job.executingElapsed !== undefined && now - job.executingElapsed > executionMs) {
    return { ...text(executionMs, 'it began', 'timeouts.execution'), isExecution: true };
  }
  return undefined;
}

function overdueJob(text: string): Failure {
  return { kind: 'job-overdue', text };
}

type Completed = StatusReply & { kind: 'completed' };

/** Saves the pictures of a finished job. If they fail a check, the attempt has failed. */
export async function collect(run: Run, job: Job, reply: Completed): Promise<PollResult> {
  try {
    const next = await collectPictures(run, job, reply);
    // Its files come again once the setting has changed.
    if (next === 'held') await run.ports.downloads.remove(job);
    return next;
  } finally {
    reply.share?.release();
  }
}

async function collectPictures(run: Run, job: Job, reply: Completed): Promise<PollResult> {
  if (run.sharedIds.has(job)) return settleShared(run, job);
  run.jobs.outputCame();
  const began = run.ports.clock.elapsed();
  const age = ageMs(job, run.ports.clock);
  if (job.lateElapsed === undefined) run.stats.collected(job, reply);
  else run.stats.move(job.attempt, 'downloads');
  const { clock } = run.ports;
  const facts = factsOfEnd(job, reply, clock);
  const hasAddresses = reply.pictures.some((picture) => 'url' in picture);
  const undecided = undecidedFailure(run, reply);
  const isWrong = run.holds.isValuePlaceWrong(undecided !== undefined, job);
  if (isWrong && undecided !== undefined && (await run.holds.isHeld(job, undecided)))
    return endWithoutPicture(run, job, undecided, facts, hasAddresses);
  const isLost = job.lateElapsed !== undefined && (await isResultLost(run, job));
  const result = await save(run, job.attempt, reply.pictures, facts, saveRules(job, isLost), reply.share);
  if (result === 'left') return { waitMs: 0 };
  if (result !== 'saved' && result.kind === 'download-failed') {
    if (result.digest !== undefined) await run.ports.downloads.remove(job);
    return handleLate(run, job, result, facts, { hasAddresses, began, isLost });
  }
  run.liveness.addResult(job.endpoint);
  run.jobs.resultCame();
  if (result !== 'saved') return endWithoutPicture(run, job, result, facts, hasAddresses);
  run.halts.countSaved();
  await run.holds.countSaved(undecided !== undefined);
  // The time that a resumed job waited for this run is unknown.
  if (!job.isResumed) run.deadline.observe(age);
  return 'settled';
}

/** Returns a failure if values for `scenes.until` are missing: every further seed would be paid for. */
function undecidedFailure({ config }: Run, { pictures }: Completed): Failure | undefined {
  const decidingValues = config.scenes?.until === undefined ? [] : config.output.values;
  const hasAny = pictures.some(({ output }) => Object.keys(valuesIn(output, decidingValues)).length > 0);
  if (decidingValues.length === 0 || hasAny) return undefined;
  const text = 'outputs in a row have none of the `output.values` that `scenes.until` needs';
  return { kind: 'value-not-found', text };
}

/** Settles a job that shares its id with another. Its result may belong to either scene, so none is saved. */
async function settleShared(run: Run, job: Job): Promise<'settled'> {
  const text = `the service gave its job id, ${job.jobId}, to another submission too: its result may belong to either scene`;
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

/** Cancels an overdue job, so that it costs nothing more, and saves a result that arrived meanwhile. */
async function giveUp(run: Run, job: Job, overdue: Failure): Promise<PollResult> {
  const { service } = run.ports;
  const cancelled = await repeatUntilUseful(run, job, () =>
    run.limiters.cancel.pass(run.stop.leaving, () => service.cancel(job, run.abandoned)),
  );
  const last = cancelled && (await requestStatus(run, job));
  if (cancelled === undefined || last === undefined) return { waitMs: 0 };
  if (last.kind === 'completed') return collect(run, job, last);
  // The refusal has stopped the run.
  if (last.kind === 'failure' && refusalIn(last) !== undefined) return retryLater(run, job, last.failure);
  if (last.kind === 'failure' && last.done !== undefined) return handleUnreadable(run, job, last);
  const facts =
    last.kind === 'ended' ? factsOfEnd(job, last, run.ports.clock) : factsOf(job, run.ports.clock);
  // The job was done in time, and its result waits for a setting.
  if (last.kind === 'ended' && failureRules[last.failure.kind].next === 'hold')
    return endWithoutPicture(run, job, last.failure, facts);
  const failure = last.kind === 'ended' ? overdue : afterCancel(overdue, cancelled);
  await settleWithoutPicture(run, job.attempt, 'failed', failure, facts);
  return 'settled';
}

function afterCancel(overdue: Failure, cancelled: CancelReply): Failure {
  if (cancelled.kind === 'cancelled') return overdue;
  const why = cancelled.kind === 'failure' ? cancelled.failure.text : cancelled.text;
  return { ...overdue, text: `${overdue.text}; it was not cancelled and may run and be billed: ${why}` };
}

type Unreadable = StatusReply & { kind: 'failure' };

/** Answers about another job that halt the run. The first may be an accident. */
const maxForeign = 2;

async function handleForeign(run: Run, job: Job, reply: Unreadable): Promise<PollResult> {
  job.foreign += 1;
  if (job.foreign < maxForeign) return handleUnreadable(run, job, reply);
  run.stop.halt(`${reply.failure.text}, twice in a row: its result may be another scene's`, 'leave');
  return { waitMs: 0 };
}

/** Number of consecutive unreadable answers that are no longer an accident. */
const enoughUnreadable = 5;

/**
 * Handles an unreadable status. A job whose status is never readable also has a deadline. It is given up if
 * another job's status was readable meanwhile. If no other job in flight or waiting scene could show that, one
 * job per run is given up, and its new attempt shows it. In both cases the endpoint must answer now: an outage
 * gives up no job, and ends the run if it lasts.
 */
async function handleUnreadable(run: Run, job: Job, { failure, done }: Unreadable): Promise<PollResult> {
  if (failureRules[failure.kind].next === 'stop') return retryLater(run, job, failure);
  if (done !== undefined) return handleLate(run, job, failure, factsOfEnd(job, done, run.ports.clock));
  job.unreadable += 1;
  if (job.unreadable >= enoughUnreadable) job.unreadableElapsed ??= run.ports.clock.elapsed();
  const since = job.unreadableElapsed;
  const isAlive = since !== undefined && (await isEndpointAlive(run, job));
  const isOwn = isAlive && run.liveness.wasReadSince('status', job.endpoint, since);
  const isLast = isAlive && !isOwn && (await isLastUnsettled(run)) && !run.jobs.hasGivenUpAsTest;
  const overdue = overdueUnread(run, job);
  if (overdue !== undefined && (isOwn || isLast)) {
    run.jobs.hasGivenUpAsTest ||= isLast;
    return giveUp(run, job, { ...overdue, text: `${overdue.text}; the latest: ${failure.text}` });
  }
  // A submission of another scene shows whether the service answers.
  if (overdue !== undefined && isAlive) run.jobs.markUncertain(job);
  // A request to wait is an answer, until even the longest wait is overdue.
  if (failure.kind === 'overloaded' && overdue === undefined) run.reachability.answered('status');
  else if (!isOwn && !isLast) run.halts.countSilence('status', failure.text);
  return retryLater(run, job, failure);
}

function overdueUnread({ config, ports }: Run, job: Job): Failure | undefined {
  return (
    overdueFailure(job, config.timeouts, ports.clock) ??
    overdueSinceSubmission(job, config.timeouts, ports.clock)
  );
}

/** Like `overdueFailure`, from submission. Only if the status is unreadable, as the wall clock may jump. */
function overdueSinceSubmission(
  job: Job,
  { queue: queueMs, execution: executionMs }: Timeouts,
  clock: Clock,
): Failure | undefined {
  const ms = queueMs + executionMs;
  if (ageMs(job, clock) <= ms) return undefined;
  const text = `no status ${formatDuration(ms)} after its submission (\`timeouts.queue\` and \`timeouts.execution\`)`;
  return overdueJob(text);
}

/** Marks the job as unreadable. Returns true if its endpoint answers a health request. */
async function isEndpointAlive(run: Run, job: Job): Promise<boolean> {
  run.jobs.unreadable.add(job);
  const health = await run.liveness.ask(job.endpoint);
  return health !== undefined && health.kind !== 'failure';
}

async function isLastUnsettled(run: Run): Promise<boolean> {
  return run.jobs.count === run.jobs.unreadable.size && (await hasNothingToSubmit(run));
}

/**
 * Repeats the request until it has a useful reply, was tried often enough, or must not be repeated. Undefined
 * if the run is left.
 */
export async function repeatUntilUseful<Reply extends CancelReply | StatusReply>(
  run: Run,
  job: Job,
  request: () => Promise<Reply | undefined>,
): Promise<Reply | undefined> {
  const { clock } = run.ports;
  for (const isEnough = patienceOf(clock); ;) {
    const reply = await request();
    if (reply?.kind !== 'failure' || isEnough(reply.failure)) return reply;
    if (failureRules[reply.failure.kind].next === 'stop') return reply;
    const { waitMs } = retryLater(run, job, reply.failure);
    await clock.sleep(waitMs, run.stop.leaving);
    if (run.stop.leaving.aborted) return undefined;
  }
}
