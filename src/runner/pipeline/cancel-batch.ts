/** Asks the service to cancel every job in flight, and saves the results of jobs that are already done. */
import type { Submitted } from '../core/attempt.ts';
import type { Ending } from '../core/ending.ts';
import { failureRules, type Failure } from '../core/failure.ts';
import { patienceOf } from '../core/halting.ts';
import { quarantine, suspectCrashes } from '../core/retry-policy.ts';
import { requestStatus, collect, learnFrom, repeatUntilUseful, whyElsewhere } from './follow.ts';
import { factsOf, factsOfEnd, resumedJob, type Job, type PollResult } from './poll-scheduler.ts';
import { handleMissing } from './missing.ts';
import type { CancelReply, Ports, StatusReply } from './ports.ts';
import { finishWriting, settleUnanswered, settleIntended, takeUpIntended } from './recover.ts';
import { writeRunReport } from './report-batch.ts';
import { createRun, type Run } from './run-parts.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { endWithoutPicture, settleWithoutPicture } from './settle.ts';
import type { Stop } from './stop.ts';
import { submit } from './submit-attempt.ts';

export interface CancelResult {
  ending: Ending;
  found: number;
  /** Jobs that are still in flight, with the reason. */
  left: JobLeft[];
  /** Submissions of crashed runs that may have been sent. Their job ids are unknown, so they cannot be cancelled. */
  unanswered: number;
  /** Folder of the result files. Undefined if they were not changed. */
  report: string | undefined;
}

export interface JobLeft {
  scene: string;
  jobId: string;
  why: string;
}

/** Halt rules that never apply, because nothing is submitted here. */
const neverHalt = { consecutive: Infinity, percent: 100, minimum: Infinity, unreachable: Infinity };

/** Runs until each job has been cancelled and polled, or `stop` is requested. Throws only for a bug. */
export async function cancelBatch(ports: Ports, config: PipelineConfig, stop: Stop): Promise<CancelResult> {
  const run = createRun(ports, { ...config, halt: { ...config.halt, ...neverHalt } }, stop);
  const reasons = new Map<number, string>();
  const outcome = { found: 0, unanswered: 0, finished: 0 };
  try {
    outcome.finished = await finishWriting(ports.checkpoint, ports.images, stop);
    outcome.unanswered = await settleIntended(run);
    await run.budget.load(ports.checkpoint);
    outcome.unanswered += await findIntended(run);
    const inFlight = await ports.checkpoint.openAttempts();
    outcome.found = inFlight.length;
    await cancelAll(run, inFlight, reasons);
    await ports.file?.assertSound();
  } catch (thrown) {
    run.stop.forThrown(thrown);
  }
  const left = await leftOf(run, reasons);
  const isIdle = outcome.found + outcome.unanswered + outcome.finished === 0 && stop.ending === undefined;
  const kept = isIdle ? await ports.report.keep() : undefined;
  const report = kept ?? (await writeRunReport(run, endingOf(stop, left)));
  run.end();
  if (stop.bug !== undefined) throw stop.bug;
  const cut = report === undefined ? stop.ending : undefined;
  const { found, unanswered } = outcome;
  return { found, unanswered, ending: cut ?? endingOf(stop, left), left, report };
}

/** Sends again what crashed runs may have sent, for its job id. Returns how many stay unknown. */
async function findIntended(run: Run): Promise<number> {
  const { length } = await run.ports.checkpoint.recover();
  let found = 0;
  for (const { attempt, lost } of await takeUpIntended(run)) {
    const sent = await submit(run, attempt, lost, patienceOf(run.ports.clock));
    if (sent === 'left') await settleUnanswered(run, attempt);
    else if (sent !== undefined) found += 1;
  }
  return length - found;
}

/** Cancels jobs concurrently, and then one by one those that were in progress during crashes. */
async function cancelAll(run: Run, attempts: Submitted[], reasons: Map<number, string>): Promise<void> {
  const isSuspect = ({ crashes }: Submitted): boolean => crashes >= suspectCrashes;
  const one = async (attempt: Submitted): Promise<void> => {
    try {
      const why = await cancelOne(run, resumedJob(run.ports.clock, attempt));
      if (why !== undefined) reasons.set(attempt.key, why);
    } catch (thrown) {
      run.stop.forThrown(thrown);
    }
  };
  await Promise.all(attempts.filter((attempt) => !isSuspect(attempt)).map(one));
  for (const attempt of attempts.filter(isSuspect)) await one(attempt);
}

/** Returns why the job was left in flight, or undefined if it is settled. */
async function cancelOne(run: Run, job: Job): Promise<string | undefined> {
  const cancelled = await repeatUntilUseful(run, job, () => askToCancel(run, job));
  if (cancelled === undefined) return notAsked;
  const deadly = quarantine(job.attempt.crashes);
  if (deadly !== undefined) return settle(run, job, deadly);
  let reply = await repeatUntilUseful(run, job, () => poll(run, job));
  while (isWithoutOutput(reply)) {
    const waitMs = run.jobs.startAwaiting(job);
    if (waitMs === undefined) break;
    await run.ports.clock.sleep(waitMs, run.stop.leaving);
    reply = await repeatUntilUseful(run, job, () => poll(run, job));
  }
  return reply === undefined ? notAsked : handleReply(run, job, cancelled, reply);
}

/** True if the job is done and paid for, but its output may appear a moment later. */
function isWithoutOutput(reply: StatusReply | undefined): boolean {
  return reply?.kind === 'ended' && reply.failure.kind === 'no-output';
}

function askToCancel(run: Run, job: Job): Promise<CancelReply | undefined> {
  const { endpoint } = job;
  const signal = run.stop.leaving;
  return run.access.pass({ operation: 'cancel', endpoint, subject: job.attempt, signal }, () =>
    run.limiters.cancel.pass(signal, () => run.ports.service.cancel(job, run.abandoned)),
  );
}

async function poll(run: Run, job: Job): Promise<StatusReply | undefined> {
  const reply = await requestStatus(run, job);
  if (reply !== undefined) learnFrom(run, job, reply);
  return reply;
}

async function handleReply(
  run: Run,
  job: Job,
  cancelled: CancelReply,
  reply: StatusReply,
): Promise<string | undefined> {
  switch (reply.kind) {
    case 'completed':
      return whyHeld(await collect(run, job, reply));
    case 'ended': {
      const facts = factsOfEnd(job, reply, run.ports.clock);
      // The job was already done, and a paid result is not given up.
      if (failureRules[reply.failure.kind].next === 'hold')
        return whyHeld(await endWithoutPicture(run, job, reply.failure, facts));
      // A job that ended without our request has failed by itself.
      const isOurs = cancelled.kind === 'cancelled' && !isWithoutOutput(reply);
      const text = `cancelled by you; the service: ${reply.failure.text}`;
      const failure: Failure = isOurs ? { kind: 'cancelled', text } : reply.failure;
      return settle(run, job, failure, reply);
    }
    case 'missing': {
      const elsewhere = await whyElsewhere(run, job);
      if (elsewhere !== undefined) return `its result ${elsewhere}`;
      const verdict = await handleMissing(run, job, reply);
      return verdict === 'settled' ? undefined : `the service does not know it: ${verdict.text}`;
    }
    case 'running':
      return whyRunning(cancelled, reply.status);
    case 'failure':
      return `its ${reply.done === undefined ? 'status is unknown' : 'result did not come'}: ${reply.failure.text}`;
  }
}

async function settle(
  run: Run,
  job: Job,
  failure: Failure,
  reply?: StatusReply & { kind: 'ended' },
): Promise<undefined> {
  const facts = reply === undefined ? factsOf(job, run.ports.clock) : factsOfEnd(job, reply, run.ports.clock);
  await settleWithoutPicture(run, job.attempt, 'failed', failure, facts);
}

function whyHeld(result: PollResult): string | undefined {
  if (typeof result !== 'string') return 'it is done, and its result was not downloaded yet';
  return result === 'held'
    ? 'it is done, and its result waits for a setting: `nightrender status` says which'
    : undefined;
}

function whyRunning(cancelled: CancelReply, status: string): string {
  switch (cancelled.kind) {
    case 'cancelled':
      return `the service accepted the cancellation and still reports ${status}`;
    case 'unsupported':
      return cancelled.text;
    case 'failure':
      return `it could not be cancelled: ${cancelled.failure.text}`;
  }
}

const notAsked = 'no status was requested before the end';

async function leftOf(run: Run, reasons: Map<number, string>): Promise<JobLeft[]> {
  const open = await run.ports.checkpoint.openAttempts();
  return open.map(({ key, sceneId, job }) => ({
    scene: sceneId,
    jobId: job.jobId,
    why: reasons.get(key) ?? notAsked,
  }));
}

function endingOf(stop: Stop, left: JobLeft[]): Ending {
  if (stop.ending?.kind === 'output-unwritable') return stop.ending;
  if (left.length === 0) return { kind: 'complete', text: 'Nothing is in flight' };
  if (stop.ending !== undefined && stop.leaving.aborted) return stop.ending;
  const text = `${left.length.toLocaleString('en')} ${left.length === 1 ? 'job is' : 'jobs are'} still in flight`;
  return { kind: 'incomplete', text };
}
