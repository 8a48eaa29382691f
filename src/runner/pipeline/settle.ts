/** Settles an attempt: records its outcome, counts it, and emits the event. */
import { formatDuration } from '../../lib/text/format.ts';
import { type Attempt, type SavedSettlement, type Submitted, versionOfJobs } from '../core/attempt.ts';
import { type Failure, failureRules, FatalFailure } from '../core/failure.ts';
import { isTimeout } from '../core/halting.ts';
import { sceneNameOf } from '../core/naming.ts';
import type { SavedPicture } from '../core/picture.ts';
import { type AfterFailure, sceneAfter } from '../core/retry-policy.ts';
import type { JobEnd } from '../core/spending.ts';
import type { Job, JobFacts, PollResult } from './poll-scheduler.ts';
import type { Checkpoint } from './ports.ts';
import type { Run } from './run-parts.ts';

type StateWithoutPicture = 'unanswered' | 'refused' | 'failed' | 'expired';

/**
 * Settles an attempt without a picture, emits the event, and counts it for `halt`. A failure that stops the run is neither
 * emitted nor counted, because the run's ending reports it.
 */
export async function settleWithoutPicture(
  run: Run,
  attempt: Attempt,
  state: StateWithoutPicture,
  failure: Failure,
  facts: JobFacts = {},
): Promise<void> {
  const scene = await recordWithoutPicture(run, attempt, state, failure, facts);
  if (failureRules[failure.kind].next === 'stop') return;
  const cost = run.budget.cost();
  run.ports.emit({
    type: 'attempt-failed',
    ...sceneNameOf(attempt),
    attempt: attempt.number,
    ...(facts.jobId !== undefined && { jobId: facts.jobId }),
    kind: failure.kind,
    text: failure.text,
    next: scene.state === 'waiting' ? 'waiting' : 'failed',
    ...(scene.state === 'waiting' && { dueAt: scene.dueAt }),
    ...executionTime(facts),
    ...(cost !== undefined && { cost }),
  });
  if (scene.state === 'waiting' && scene.isAtBound === true) run.stop.halt(unansweredText(attempt, failure));
  // Lost or unanswered attempts do not indicate a bad input or worker. `countSilence` and `expire` count them.
  if (state === 'failed' || state === 'refused') run.halts.countFailed(failure);
}

/** Returns the reason to halt: at the limit of submissions, a further one may be billed for nothing. */
function unansweredText({ sceneId, number }: Attempt, { text }: Failure): string {
  return `scene ${sceneId} was submitted ${number} times and the service answers no submission (\`retry.submissions\`); the latest: ${text}`;
}

/** Settles the attempt in the checkpoint, removes what is kept of its answer, counts it, and returns the new state of its scene. */
export async function recordWithoutPicture(
  run: Run,
  attempt: Attempt,
  state: StateWithoutPicture,
  failure: Failure,
  facts: JobFacts = {},
): Promise<AfterFailure> {
  const { checkpoint, clock, random } = run.ports;
  const now = clock.now();
  const isOutage = run.reachability.isOutage();
  const scene = sceneAfter(failure, attempt.before, run.config.retry, { now, random: random(), isOutage });
  run.stats.move(attempt, 'disk');
  await checkpoint.settle(attempt, { ...factsToRecord(facts), state, at: now, failure, scene });
  await run.ports.answers.remove(attempt);
  if (attempt.job !== undefined) await run.ports.downloads.remove(attempt.job);
  run.holds.countLost(failure.kind);
  if (state === 'refused') run.budget.countRefused();
  else run.budget.countEnd(endOf(facts, state === 'failed' ? failure.kind : 'unknown'));
  return scene;
}

/** Settles a finished job without a picture as failed, holds it if a setting is at fault, or returns when to poll it again. */
export async function endWithoutPicture(
  run: Run,
  job: Job,
  found: Failure,
  facts: JobFacts,
  hasAddresses = false,
): Promise<PollResult> {
  const failure = found.kind === 'job-timed-out' ? asDefaultTimeout(run, job, found, facts) : found;
  // The service does not state its timeout. The job is sent again, and one job at a time shows whether it was changed.
  if (job.held !== undefined && isTimeout(job.held.kind) && failure.kind === 'job-timed-out') {
    const text = `${failure.text}; it is sent again, because the timeout may have been changed`;
    await settleWithoutPicture(run, job.attempt, 'failed', { kind: 'given-up', text }, facts);
    run.holds.isProbing = true;
    return 'settled';
  }
  // Asks the service, which may still have the result, with more recent URLs.
  if (job.isReadFromKept && failureRules[failure.kind].next !== 'hold') return { waitMs: 0 };
  const waitMs = failure.kind === 'no-output' ? run.jobs.startAwaiting(job) : undefined;
  if (waitMs !== undefined) return { waitMs };
  if (await run.holds.isHeld(job, failure)) {
    await run.holds.hold(job, failure, facts, hasAddresses);
    return 'held';
  }
  await settleWithoutPicture(run, job.attempt, 'failed', failure, facts);
  return 'settled';
}

/** Execution time after which job services end a job by default, in ms. */
const defaultTimeoutMs = 600_000;

/**
 * Returns `default-timeout`, which holds the job until `endpoint.policy.executionTimeout` is set, if the job ended within
 * 10 % of the default. Another attempt would take as long and be billed as well.
 */
function asDefaultTimeout({ config, ports }: Run, job: Job, failure: Failure, facts: JobFacts): Failure {
  // Without times, a job that was seen executing long enough ago is assumed to have executed for that long.
  const { executingAt = Infinity } = job;
  const assumedMs = Math.min(Math.max(0, ports.clock.now() - executingAt), defaultTimeoutMs);
  const ranMs = facts.executionTimeMs ?? facts.executedMs ?? assumedMs;
  const isNear = Math.abs(ranMs - defaultTimeoutMs) <= defaultTimeoutMs / 10;
  const isSet = config.policy?.executionTimeout !== undefined;
  if (isSet || !isNear || versionOfJobs(job.endpoint) === undefined) return failure;
  const text = `${failure.text}, after ${formatDuration(ranMs)}; set \`endpoint.policy.executionTimeout\`, such as 30m, and it is sent again`;
  return { kind: 'default-timeout', text };
}

export function savedSettlement(pictures: SavedPicture[], facts: JobFacts, at: number): SavedSettlement {
  return { ...factsToRecord(facts), state: 'saved', at, pictures, scene: { state: 'saved' } };
}

export async function settleSaved(
  run: Run,
  attempt: Submitted,
  settlement: SavedSettlement,
  facts: JobFacts,
): Promise<void> {
  const { checkpoint, emit } = run.ports;
  const { pictures } = settlement;
  await checkpoint.settle(attempt, settlement);
  await run.ports.answers.remove(attempt);
  await run.ports.downloads.remove(attempt.job);
  const unstated = run.budget.countEnd(endOf(facts, pictures));
  if (unstated !== undefined) emit({ type: 'warning', text: unstatedText(attempt, unstated) });
  run.stats.saved(pictures);
  const seed = pictures[0]?.seed;
  const cost = run.budget.cost();
  emit({
    type: 'scene-saved',
    ...sceneNameOf(attempt),
    attempt: attempt.number,
    jobId: attempt.job.jobId,
    files: pictures.map((picture) => picture.file),
    ...(seed !== undefined && { seed }),
    ...executionTime(facts),
    ...(cost !== undefined && { cost }),
  });
}

function unstatedText({ sceneId }: Attempt, at: string): string {
  return `the answer about scene ${sceneId} has no price, a number of at least 0, at \`${at}\` (\`pricing.at\`); the cost of such jobs is estimated`;
}

function executionTime({ executionTimeMs }: JobFacts): { executionTimeMs?: number } {
  return executionTimeMs === undefined ? {} : { executionTimeMs };
}

function factsToRecord({
  jobId: _id,
  executedMs: _ms,
  ...facts
}: JobFacts): Omit<JobFacts, 'jobId' | 'executedMs'> {
  return facts;
}

function endOf({ executionTimeMs, executedMs, cost }: JobFacts, made: JobEnd['made']): JobEnd {
  return { reportedMs: executionTimeMs, seenMs: executedMs, made, cost };
}

/** Runs `work` with the attempt's crash marker set, so a crash meanwhile counts against its scene. */
export async function whileInProgress<T>(
  checkpoint: Pick<Checkpoint, 'setInProgress'>,
  attempt: Attempt,
  work: () => Promise<T>,
): Promise<T> {
  await checkpoint.setInProgress(attempt, true);
  const result = await work().catch(async (thrown: unknown) => {
    // A `FatalFailure`, such as a full disk, ends the run in order and is not a crash.
    if (thrown instanceof FatalFailure) await checkpoint.setInProgress(attempt, false);
    throw thrown;
  });
  await checkpoint.setInProgress(attempt, false);
  return result;
}
