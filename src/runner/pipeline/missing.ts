/** Handles what is missing: a job that the service does not know, and a finished job whose result does not come. */
import { formatDuration } from '../../lib/text/format.ts';
import { type Failure, failureRules } from '../core/failure.ts';
import { refusalIn } from '../core/halting.ts';
import { sceneNameOf } from '../core/naming.ts';
import { retryWaitMs } from '../core/request-rate.ts';
import { ageMs, factsOf, type Job, type JobFacts, type PollResult } from './poll-scheduler.ts';
import type { StatusReply } from './ports.ts';
import type { SaveRules } from './save-result.ts';
import { endWithoutPicture, settleWithoutPicture } from './settle.ts';
import type { Run } from './run-parts.ts';

/** Time for which an endpoint without a sign of life is waited for before one job is given up to test it. */
const uncertainMs = 60_000;

type Missing = StatusReply & { kind: 'missing' };

/** Settles a job that is gone, or returns why to ask again. Ends the run if all results are late, this one included. */
export async function handleMissing(run: Run, job: Job, reply: Missing): Promise<'settled' | Failure> {
  const isHostDown = areAllLate(run.jobs) && !hasOtherResultCome(run, job);
  const verdict = await judgeMissing(run, job, reply);
  // A new job would be paid for while its result could not be downloaded either.
  if (verdict === 'settled' && isHostDown) run.stop.halt(deletedText(job), 'leave');
  return verdict;
}

/** Interprets a 404: too early, job gone, or endpoint gone. A job that the service says it deleted expires at once. Otherwise a repeated 404 expires it, once the endpoint has shown that it lives. */
async function judgeMissing(run: Run, job: Job, reply: Missing): Promise<'settled' | Failure> {
  const { endpoint } = job.attempt;
  const { text, isDeleted } = reply;
  if (isDeleted === true) return expire(run, job, reply);
  if (ageMs(job, run.ports.clock) < run.config.freshness) return { kind: 'not-known-yet', text };
  const now = run.ports.clock.elapsed();
  const since = job.missingElapsed;
  job.missingElapsed ??= now;
  job.missing += 1;
  const wasKnown = job.waitingInARow > 0;
  job.waitingInARow = 0;
  // A single 404 may be an accident and would cost a paid job. So may two, if the job was known between them.
  if (since === undefined || (wasKnown && job.missing < 3)) return { kind: 'endpoint-doubtful', text };
  if (run.liveness.hasSignSince(endpoint, since)) return expire(run, job, reply);
  const health = await run.liveness.ask(endpoint);
  if (health?.kind === 'answers') return expire(run, job, reply);
  const refusal = health && refusalIn(health);
  if (refusal !== undefined && !run.access.hasWorked(endpoint)) return refusal;
  run.jobs.markUncertain(job);
  run.stats.move(job.attempt, 'outage');
  if (now - since < uncertainMs || run.jobs.count > run.jobs.uncertain.size)
    return { kind: 'endpoint-doubtful', text };
  // The run is ending, so no submission can show it. The next run does.
  if (run.stop.ending !== undefined) run.stop.request('leave', run.stop.ending);
  else if (!run.jobs.isGivingUpOne) return giveUpOne(run, job, reply);
  return { kind: 'endpoint-doubtful', text };
}

/** Gives up one job at most: replies arrive together, so no second one while the first is pending. */
async function giveUpOne(run: Run, job: Job, reply: Missing): Promise<'settled' | Failure> {
  run.jobs.isGivingUpOne = true;
  try {
    if (!(await hasNothingToSubmit(run))) return { kind: 'endpoint-doubtful', text: reply.text };
    run.jobs.uncertain.delete(job);
    return await expire(run, job, reply);
  } finally {
    run.jobs.isGivingUpOne = false;
  }
}

async function expire(run: Run, job: Job, { text, cost }: Missing): Promise<'settled'> {
  // The status may state a price although the result is gone.
  const facts = { ...factsOf(job, run.ports.clock), ...(cost && { cost }) };
  // The job was over before it was deleted and had no result to lose.
  if (job.emptyAnswers > 0) {
    const why = `the job COMPLETED without output; the run waited for it until the service deleted the job (${text})`;
    const empty: Failure = { kind: 'no-output', text: why };
    await settleWithoutPicture(run, job.attempt, 'failed', empty, facts);
    return 'settled';
  }
  const failure: Failure = { kind: 'expired', text };
  await settleWithoutPicture(run, job.attempt, 'expired', failure, facts);
  if (isTooYoung(run, job)) run.halts.countFailed(failure);
  return 'settled';
}

/** True if the result cannot have been deleted yet. If it is gone nevertheless, the service loses jobs, which counts for `halt`. */
function isTooYoung(run: Run, job: Job): boolean {
  const wallAgeMs = run.ports.clock.now() - job.submittedAt;
  return Math.max(ageMs(job, run.ports.clock), wallAgeMs) < run.config.keepsMs;
}

/**
 * True if no further submission is possible or due. If every job in flight is uncertain too, one of them is given up and
 * submitted again, to test the service for the others.
 */
export async function hasNothingToSubmit(run: Run): Promise<boolean> {
  if (run.budget.allowedSubmissions(run.jobs.count) === 0) return true;
  return (await run.ports.checkpoint.nextDue()) === undefined;
}

/** Number of consecutive replies `gone` or `refused` after which they are believed. */
const maxGoneReplies = 4;

/** Returns the rules for the files of a finished job. `isLost`: its result will not be asked for again. */
export function saveRules(job: Job, isLost: boolean): SaveRules {
  return {
    isDoubted: (bad) => !isLost && isDoubted(job, bad),
    isLast: ({ isGone }) => isLost || (isGone === true && job.refused + 1 >= maxGoneReplies),
  };
}

/**
 * Notes the content of a refused file. True if it has to be downloaded again. The same bytes twice were made by the worker, unless they are text,
 * such as the page of a proxy.
 */
function isDoubted(job: Job, { digest, isText }: Failure): boolean {
  const isOther = job.refusedDigest !== digest;
  job.refusedDigest = digest;
  return isOther || isText === true;
}

/** Handles a finished job whose result did not come: asks for it again later, or settles the job if the result is lost. */
export async function handleLate(
  run: Run,
  job: Job,
  failure: Failure,
  facts: JobFacts,
  seen?: SeenFiles,
): Promise<PollResult> {
  const lost = await judgeLate(run, job, failure, facts, seen);
  return lost === undefined
    ? downloadLater(run, job, failure)
    : endWithoutPicture(run, job, lost, facts, seen?.hasAddresses ?? true);
}

/** Facts about a result whose files were asked for. */
interface SeenFiles {
  /** True if the output names files by address. */
  hasAddresses: boolean;
  /** When the files were first asked for, monotonic ms. */
  began: number;
  isLost: boolean;
}

/**
 * Returns the failure of a finished, paid job whose result, or a file of it, could not be obtained. Undefined while it should
 * be asked for again, with its job, which may have a newer address: until its host says several times that it is gone,
 * or it is lost. `seen` is undefined if the result itself could not be read.
 */
async function judgeLate(
  run: Run,
  job: Job,
  failure: Failure,
  facts: JobFacts,
  seen: SeenFiles | undefined,
): Promise<Failure | undefined> {
  const began = seen?.began ?? run.ports.clock.elapsed();
  if (job.lateElapsed === undefined) await recordLate(run, job, failure, facts);
  job.lateElapsed ??= began;
  // A file that came once, and is not what it should be, says nothing against its host.
  if (failure.digest === undefined || failure.isText === true || job.lateTries > 0) run.jobs.markLate(job);
  run.stats.move(job.attempt, 'downloads');
  const isGoneOrRefused = failure.isGone === true || failureRules[failure.kind].next === 'hold';
  job.refused = isGoneOrRefused ? job.refused + 1 : 0;
  const isRefused = job.refused >= maxGoneReplies;
  const isLost = seen?.isLost ?? (await isResultLost(run, job));
  if (!isRefused && !isLost) return undefined;
  run.jobs.hasGivenUpAsTest ||= !isRefused && !hasOtherResultCome(run, job);
  return isRefused ? failure : lostFailure(run, job, failure);
}

/**
 * Returns when to read a kept answer again although the service has forgotten its job: its files may outlast the job at
 * their addresses. Undefined if they are not waited for.
 */
export function readKeptAgain(run: Run, job: Job, text: string): { waitMs: number } | undefined {
  const isAwaited = job.lateElapsed !== undefined && job.refused < maxGoneReplies && isStillKept(run, job);
  if (!isAwaited) return undefined;
  job.isKeptDue = true;
  return downloadLater(run, job, { kind: 'download-failed', text });
}

function downloadLater(run: Run, job: Job, failure: Failure): { waitMs: number } {
  // The service may have newer addresses than a kept answer.
  if (job.isReadFromKept) return { waitMs: 0 };
  countLateTry(run, job, failure);
  return retryLater(run, job, failure);
}

/** Counts another try. Halts the run if all jobs in flight are late, and this one has been for `halt.unreachable`. */
function countLateTry({ jobs, config, ports, stop }: Run, job: Job, failure: Failure): void {
  const waitingMs = ports.clock.elapsed() - (job.lateElapsed ?? ports.clock.elapsed());
  if (areAllLate(jobs) && waitingMs >= config.halt.unreachable)
    stop.halt(
      `the results of all jobs in flight could not be downloaded for ${formatDuration(waitingMs)} (\`halt.unreachable\`); the next run tries again while the service keeps them; the latest: ${failure.text}`,
      'leave',
    );
  // Each status request succeeds and resets `failedPolls`, so the wait follows the late tries.
  job.failedPolls = job.lateTries;
  job.lateTries += 1;
}

/** Records that the result waits for its host, so that `status`, `explain` and the next run know. */
async function recordLate(run: Run, job: Job, { text }: Failure, facts: JobFacts): Promise<void> {
  const { checkpoint, clock } = run.ports;
  const at = clock.now();
  const status = facts.status ?? job.status;
  const held = { ...job.held, kind: 'download-failed', text, completedAt: facts.completedAt ?? at } as const;
  await checkpoint.recordStatus(job.attempt, { status, isExecuting: false, at, held });
  job.held = held;
}

/**
 * True while the service may still keep a late result. Another one may cost as much as a night of pictures. A result that
 * may have been deleted before this run is awaited for `halt.unreachable` at most.
 */
function isStillKept({ config, ports: { clock } }: Run, job: Job): boolean {
  const { lateElapsed = clock.elapsed(), isResumed, polledElapsed, held } = job;
  const resultAgeMs = held === undefined ? ageMs(job, clock) : clock.now() - held.completedAt;
  const isOld = isResumed && polledElapsed === undefined && resultAgeMs >= config.keepsMs;
  const patienceMs = isOld ? Math.min(config.keepsMs, config.halt.unreachable) : config.keepsMs;
  return clock.elapsed() - lateElapsed < patienceMs;
}

/**
 * True if the result counts as lost: the service no longer keeps it, and the host works, because another result came
 * meanwhile. If no other job could show that, one result of an earlier run is given up, and the new attempt shows it.
 */
export async function isResultLost(run: Run, job: Job): Promise<boolean> {
  if (isStillKept(run, job)) return false;
  if (hasOtherResultCome(run, job)) return true;
  return (
    job.isResumed && !run.jobs.hasGivenUpAsTest && areAllLate(run.jobs) && (await hasNothingToSubmit(run))
  );
}

function areAllLate(jobs: Run['jobs']): boolean {
  return jobs.late.size > 0 && jobs.late.size === jobs.count;
}

function deletedText({ attempt }: Job): string {
  return `the result of scene ${attempt.sceneId} could not be downloaded before the service deleted it, and no other result came meanwhile; start again once its host answers`;
}

function hasOtherResultCome({ liveness }: Run, { endpoint, lateElapsed = Infinity }: Job): boolean {
  return liveness.wasReadSince('result', endpoint, lateElapsed);
}

function lostFailure({ ports: { clock } }: Run, { lateElapsed = 0 }: Job, { kind, text }: Failure): Failure {
  const waited = formatDuration(clock.elapsed() - lateElapsed);
  if (failureRules[kind].next !== 'try-again')
    return { kind, text: `${text}; it was tried for ${waited}, and the service may no longer keep it` };
  const late = `the job is done, and its result could not be read for ${waited}`;
  return { kind: 'job-overdue', text: `${late}; the latest: ${text}` };
}

/** Returns when to ask again for a job whose status or result did not come. Ends the run if the failure's rule is `stop`. */
export function retryLater(run: Run, job: Job, failure: Failure): { waitMs: number } {
  if (failureRules[failure.kind].next === 'stop') {
    run.stop.forFailure(failure);
    return { waitMs: 0 };
  }
  job.failedPolls += 1;
  const { random, emit } = run.ports;
  const { retry } = run.config;
  // The result may be available and be deleted meanwhile, so the wait is limited.
  const waitMs = Math.min(retry.longestWait, retryWaitMs(failure, job.failedPolls, retry, random()));
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
