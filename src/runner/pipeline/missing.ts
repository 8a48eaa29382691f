/** Interprets a 404 for a job: too early, job gone, or endpoint gone. */
import type { Failure } from '../core/failure.ts';
import { refusalIn } from '../core/halting.ts';
import { ageMs, factsOf, type Job } from './poll-scheduler.ts';
import type { StatusReply } from './ports.ts';
import { settleWithoutPicture } from './settle.ts';
import type { Run } from './run-parts.ts';

/** Time for which an endpoint without a sign of life is waited for before one job is given up to test it. */
const uncertainMs = 60_000;

type Missing = StatusReply & { kind: 'missing' };

/** Settles the job as `expired` at the second 404 of a known endpoint, else returns why to ask again. */
export async function handleMissing(run: Run, job: Job, reply: Missing): Promise<'settled' | Failure> {
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
  // Nothing more is submitted that could settle it, so the next run does.
  if (run.stop.ending !== undefined) run.stop.request('leave', run.stop.ending);
  else if (!run.jobs.isGivingUpOne) return giveUpOne(run, job, reply);
  return { kind: 'endpoint-doubtful', text };
}

/** Gives up one job at most: replies arrive together, so no second one while the first is pending. */
async function giveUpOne(run: Run, job: Job, reply: Missing): Promise<'settled' | Failure> {
  run.jobs.isGivingUpOne = true;
  try {
    if (!(await isOnlyWay(run))) return { kind: 'endpoint-doubtful', text: reply.text };
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

/** True if the result cannot have been deleted yet. A service that loses jobs gets no more. */
function isTooYoung(run: Run, job: Job): boolean {
  const wallAgeMs = run.ports.clock.now() - job.submittedAt;
  return Math.max(ageMs(job, run.ports.clock), wallAgeMs) < run.config.keepsMs;
}

/**
 * True if every job in flight is uncertain and no waiting scene could settle that. One is then given up
 * and submitted again, and shows it for the others.
 */
export async function isOnlyWay(run: Run): Promise<boolean> {
  if (run.budget.allowedSubmissions(run.jobs.count) === 0) return true;
  return (await run.ports.checkpoint.nextDue()) === undefined;
}
